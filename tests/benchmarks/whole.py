"""Whole releases as users run them: a process each, with all that a spec turns on, in turns.

    python -m tests.benchmarks.whole --rows 1000000       of a size, as multiples of the floor
    python -m tests.benchmarks.whole --rows 1000000 --bare   neither attacked nor evaluated
    python -m tests.benchmarks.whole --adult              of UCI Adult, from the shell to the end

From the CPU of each release of made-up people that of the same spec on 500 rows is taken off; the
rest is a multiple of the floor: reading, sorting and writing the same table by one thread on one
core. Floors are measured between the releases. Each figure is the median of the repetitions, with
the least and the most. What compiles runs once before it counts: at each size up to a million
rows. Nothing is asserted.
"""

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import median

import yaml

from sfumato.flows.runs.records import read_runs
from tests.benchmarks.processes import (
    COMMAND,
    ROOT,
    Taken,
    describe_machine,
    environment,
    release,
    run,
    with_spread,
)
from tests.benchmarks.recipes import RECIPES, document_of

SMALL = 500
_COMPILED = 10**6  # rows from which on nothing else is compiled
_QUICK = (30_000,)
_LONG = ("factors", "cover", "exact-qi", "ambiguity", "ke, finest")
_BARE = (
    "import sfumato.flows.runs.releasing as releasing; "
    "releasing.can_be_attacked = lambda _: False; "
) + COMMAND
ADULT = {
    "ke, 1,427 of 32,561 rows": ROOT / "deployments" / "releases" / "adult-capital-loss.yaml",
    "anatomy, 30,162 rows": ROOT / "deployments" / "examples" / "adult-occupation-anatomy.yaml",
    "full-domain, 30,162 rows": ROOT / "deployments" / "examples" / "adult-occupation.yaml",
}


@dataclass
class Measured:
    """The figures of one recipe on one size, one for each repetition.

    Attributes:
        whole: of the processes.
        small: CPU seconds of the same on 500 rows.
        floors: CPU seconds of the floor.
        stages: wall seconds by stage.
        groups: that were published.
    """

    whole: list[Taken] = field(default_factory=list)
    small: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    stages: list[dict[str, float]] = field(default_factory=list)
    groups: int = 0

    @property
    def differences(self) -> list[float]:
        """CPU seconds beyond those of 500 rows."""
        return [whole.cpu - small for whole, small in zip(self.whole, self.small, strict=True)]

    @property
    def multiples(self) -> list[float]:
        """The same, as multiples of the floors."""
        return [d / floor for d, floor in zip(self.differences, self.floors, strict=True)]

    @property
    def attacks(self) -> list[float]:
        """The percentage of the time of the process that attacks took."""
        return [
            100 * stages.get("attack", 0.0) / taken.wall
            for stages, taken in zip(self.stages, self.whole, strict=True)
        ]


def main(arguments: Sequence[str] = ()) -> None:
    """Print the machine and the commit, and a table in Markdown; write it as CSV if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10**4, 10**5, 10**6])
    parser.add_argument("--recipes", nargs="*", default=list(RECIPES), choices=list(RECIPES))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one small table, most recipes, once")
    parser.add_argument("--bare", action="store_true", help="neither attacked nor evaluated")
    parser.add_argument("--adult", action="store_true", help="UCI Adult by the shipped specs")
    parser.add_argument("--prefect", action="store_true", help="with --adult: with a server, too")
    parser.add_argument("--csv", type=Path, default=None)
    chosen = parser.parse_args(arguments)
    print(describe_machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if chosen.adult:
            ways = [(), ("--prefect",)] if chosen.prefect else [()]
            _print_rows(_rows_of_adult(Path(folder), chosen.repetitions, ways), chosen.csv)
            return
        sizes = _QUICK if chosen.quick else sorted(chosen.rows)
        recipes = [name for name in chosen.recipes if not (chosen.quick and name in _LONG)]
        bench = Bench(Path(folder), 1 if chosen.quick else chosen.repetitions, chosen.bare)
        _print_rows(bench.rows(recipes, sizes), chosen.csv)


def _print_rows(rows: Iterator[dict[str, object]], file: Path | None) -> None:
    """Print rows as they come, and write them all."""
    printed: list[dict[str, object]] = []
    for row in rows:
        if not printed:
            print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|")
        printed.append(row)
        print("| " + " | ".join(map(str, row.values())) + " |", flush=True)
    if file is not None and printed:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, printed[0])
            writer.writeheader()
            writer.writerows(printed)


def _rows_of_adult(
    folder: Path, repetitions: int, ways: Sequence[Sequence[str]]
) -> Iterator[dict[str, object]]:
    """The figures of the shipped specs, released in turns."""
    environ = environment(folder)
    taken: dict[str, list[Taken]] = {}
    for number in range(repetitions + 1):
        for title, spec in ADULT.items():
            for way in ways:
                place = folder / f"{spec.stem}-{number}"
                works = environ | {"SFUMATO_WORK": str(place / "work")}
                figures = run([*release(place / "out", spec), *way], works)
                shutil.rmtree(place)
                if number:
                    taken.setdefault(" ".join([title, *way]), []).append(figures)
    for title, all_taken in taken.items():
        yield {
            "release": title,
            "CPU s": with_spread([each.cpu for each in all_taken]),
            "wall s": with_spread([each.wall for each in all_taken]),
            "peak MB": round(median(each.peak for each in all_taken)),
        }


@dataclass
class Bench:
    """Releases of made-up people below a folder."""

    folder: Path
    repetitions: int
    bare: bool
    compiled: set[str] = field(default_factory=set)

    def rows(self, recipes: Sequence[str], sizes: Sequence[int]) -> Iterator[dict[str, object]]:
        """The figures of each size and recipe; of each size once its repetitions are done."""
        differences: dict[str, dict[int, float]] = {name: {} for name in recipes}
        self.write_people(SMALL)
        for size in sizes:
            self.write_people(size)
            for name, measured in self._measure(recipes, size).items():
                differences[name][size] = median(measured.differences)
                yield {"recipe": name, "rows": f"{size:,}", **_figures(measured)} | {
                    "exponent": _exponent(differences[name])
                }

    def _measure(self, recipes: Sequence[str], size: int) -> dict[str, Measured]:
        """Release in turns: each recipe uncounted at first, then once for each repetition."""
        measured = {name: Measured() for name in recipes if size <= RECIPES[name].most}
        for repetition in range(self.repetitions + 1):
            for name, figures in measured.items():
                if not repetition:
                    if size <= _COMPILED or name not in self.compiled:
                        self.release(name, size, Measured())
                        self.compiled.add(name)
                    continue
                small = self.release(name, SMALL, Measured())
                figures.floors.append(self._floor(size))
                figures.small.append(small.cpu)
                figures.whole.append(self.release(name, size, figures))
        return measured

    def release(self, name: str, size: int, measured: Measured) -> Taken:
        """Release in a place of its own, which is deleted, and note what is published."""
        place = self.folder / "release"
        place.mkdir()
        document = document_of(RECIPES[name], self._source(size), size, place, bare=self.bare)
        spec = place / "whole.yaml"
        spec.write_text(yaml.safe_dump(document), encoding="utf-8")
        environ = environment(place)
        taken = run(release(place / "out", spec, _BARE if self.bare else COMMAND), environ)
        [record] = read_runs(environ)
        measured.stages.append({stage.name: stage.seconds or 0.0 for stage in record.stages})
        measured.groups = _count_groups(place / "out" / "whole" / "0001")
        shutil.rmtree(place)
        return taken

    def _floor(self, size: int) -> float:
        return float(self._of_recipes("floor", str(self._source(size))))

    def write_people(self, size: int) -> None:
        """Write the source of so many rows."""
        self._of_recipes("write", str(self._source(size)), str(size))

    def _of_recipes(self, *arguments: str) -> str:
        """Run the module of recipes apart: what it holds would count as memory of a release."""
        command = [sys.executable, "-m", "tests.benchmarks.recipes", *arguments]
        return subprocess.check_output(command, text=True, cwd=ROOT)

    def _source(self, size: int) -> Path:
        return self.folder / f"{size}.csv"


def _figures(measured: Measured) -> dict[str, object]:
    stages = {name for stages in measured.stages for name in stages}
    seconds = {name: median(stages.get(name, 0.0) for stages in measured.stages) for name in stages}
    slowest = sorted(seconds.items(), key=lambda item: -item[1])
    return {
        "groups": f"{measured.groups:,}",
        "CPU s": with_spread([taken.cpu for taken in measured.whole]),
        "of 500 rows": with_spread(measured.small),
        "difference": with_spread(measured.differences),
        "floor": with_spread(measured.floors, 2),
        "× floor": with_spread(measured.multiples),
        "wall s": with_spread([taken.wall for taken in measured.whole]),
        "attacks %": with_spread(measured.attacks, 0),
        "peak MB": f"{median(taken.peak for taken in measured.whole):,.0f}",
        "stages, wall s": ", ".join(f"{name} {value:.1f}" for name, value in slowest),
    }


def _exponent(differences: dict[int, float]) -> str:
    """The power of the rows that the seconds grew by since the size before."""
    for (size, seconds), (larger, more) in reversed(list(pairwise(differences.items()))):
        if seconds > 0 and more > 0:
            return f"{log(more / seconds) / log(larger / size):.2f}"
    return ""


def _count_groups(version: Path) -> int:
    """The number of groups in which the promise with the most of them is measured."""
    manifest = json.loads((version / "datapackage.json").read_text(encoding="utf-8"))
    return max(figure["groups"] for figure in manifest["sfumato"]["observed"])


if __name__ == "__main__":
    main(sys.argv[1:])
