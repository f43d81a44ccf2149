"""Costs of releases of people in parts as people grow, and by these the costs of a billion.

    python -m tests.benchmarks.costs                       a million and ten million people
    python -m tests.benchmarks.costs 1000000 10000000 --predict 100000000 1000000000

People have a row each, with an identifier. A release in parts is made of each number of them, and
what grows with people is told for each person: CPU, the largest memory of any process (without
files that are mapped into it), files for a while, what stays private, what is published. Parts and
strata stay as large. Two sizes give a line for each, and the line's values for larger numbers are
printed as predictions; sizes that were measured and predicted show both.
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.benchmarks.parts import CHUNK, SPEC, chunk, command, watch_command
from tests.benchmarks.processes import describe_machine

MEGABYTE = 2**20
ROWS_OF_PART = 1_000_000
_ROWS_OF_STRATUM = 250_000
SPEC_OF_PEOPLE: Mapping[str, Any] = {
    **{name: value for name, value in SPEC.items() if name != "unit"},
    "remember": "units",
    "columns": {
        "person": {"role": "identifier", "type": "integer", "unit": True},
        **SPEC["columns"],
    },
}


@dataclass(frozen=True)
class Cost:
    """The figures of one release of some people.

    Attributes:
        people: their number.
        figures: each by its name; bytes are whole numbers.
    """

    people: int
    figures: Mapping[str, float]


def main(arguments: Sequence[str] = ()) -> None:
    """Print a line for each figure: measured, for each person, and predicted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("people", type=int, nargs="*", default=[10**6, 10**7])
    parser.add_argument("--predict", type=int, nargs="*", default=[10**8, 10**9])
    parser.add_argument("--engine", default="local")
    chosen = parser.parse_args(arguments)
    print(describe_machine(), flush=True)
    costs: list[Cost] = []
    for people in sorted(chosen.people):
        with tempfile.TemporaryDirectory() as folder:
            costs.append(measure(people, Path(folder), chosen.engine))
        print(f"{people:,} people: {costs[-1].figures['CPU s']:.0f} CPU s", flush=True)
    print("\n".join(table_of(costs, chosen.predict)))


def measure(people: int, folder: Path, engine: str) -> Cost:
    """Release some people into a folder."""
    write_source(folder / "source", people)
    spec = {**SPEC_OF_PEOPLE, "engine": engine, "parts": {"rows": ROWS_OF_PART}}
    (folder / "visits.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    made = watch_command(command("release", folder / "visits.yaml"), folder)
    version = Path(made.said.splitlines()[-1])
    private, public = bytes_by_kind(folder / "work"), bytes_by_ending(version)
    checked = watch_command(command("check", version), folder)
    shutil.rmtree(folder / "source")
    write_source(folder / "source", people, first=people)
    second = watch_command(command("release", folder / "visits.yaml"), folder)
    shutil.rmtree(folder / "source")
    return Cost(
        people,
        {
            "CPU s": made.cpu,
            "CPU s of check": checked.cpu,
            "CPU s of a second release, of other people": second.cpu,
            "memory of the largest process": made.own,
            "memory of a second release": second.own,
            "files for a while": made.scratch,
            **{f"private: {kind}": size for kind, size in sorted(private.items())},
            **{f"published: {kind}": size for kind, size in sorted(public.items())},
            "parts": len(list((version / "parts").iterdir())),
        },
    )


def write_source(folder: Path, people: int, first: int = 0) -> None:
    """Write people in files of a million, numbered from `first` in no order, in equal strata."""
    folder.mkdir()
    strata = -(-people // _ROWS_OF_STRATUM)
    step = 7_368_787  # a prime above the numbers of people that it must not divide
    for number, start in enumerate(range(0, people, CHUNK)):
        some = np.arange(start, min(start + CHUNK, people))
        persons = pa.array(first + some * step % people)
        regions = np.random.default_rng(number).integers(0, strata, len(some))
        rows = chunk(number, len(some)).set_column(0, "region", pa.array(regions))
        rows = rows.add_column(0, "person", persons)
        pq.write_table(rows, folder / f"{number:04d}.parquet", compression="zstd")


def bytes_by_kind(work: Path) -> Counter[str]:
    """The bytes that stay in a work directory, by the folder or file of a line that has them."""
    kinds = Counter[str]()
    for path in work.rglob("*"):
        if path.is_file():
            inside = path.relative_to(work).parts
            kinds[inside[1] if len(inside) > 2 else "other"] += path.stat().st_size
    return kinds


def bytes_by_ending(version: Path) -> Counter[str]:
    """The bytes of a published version, by the ending of its files' names."""
    endings = Counter[str]()
    for path in version.rglob("*"):
        if path.is_file():
            endings[path.suffix.lstrip(".") or "other"] += path.stat().st_size
    return endings


def table_of(costs: Sequence[Cost], predicted: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    first, last = costs[0], costs[-1]
    heads = [f"{cost.people:,}" for cost in costs]
    heads += ["for each more person", *(f"{people:,} (predicted)" for people in predicted)]
    yield "| of a release | " + " | ".join(heads) + " |"
    yield "|---" * (len(heads) + 1) + "|"
    names = [name for name in last.figures if name in first.figures]
    for name in names:
        slope, start = line_through(first, last, name)
        measured = [cost.figures.get(name, 0.0) for cost in costs]
        others = [max(start + slope * people, 0.0) for people in predicted]
        of_person = f"{slope * 1e6:.2f} µs" if name.startswith("CPU") else f"{slope:.2f} B"
        of_person = "" if name == "parts" else of_person
        cells = [in_words(name, value) for value in measured]
        cells += [of_person, *(in_words(name, value) for value in others)]
        yield f"| {name} | " + " | ".join(cells) + " |"


def line_through(first: Cost, last: Cost, name: str) -> tuple[float, float]:
    """The slope and the start of the line through a figure at two numbers of people."""
    if first.people == last.people:
        return first.figures[name] / first.people, 0.0
    slope = (last.figures[name] - first.figures[name]) / (last.people - first.people)
    return slope, first.figures[name] - slope * first.people


def in_words(name: str, value: float) -> str:
    """A figure with its unit."""
    if name == "parts":
        return f"{value:.0f}"
    if name.startswith("CPU"):
        return f"{value:,.0f} s" if value < 3600 else f"{value / 3600:.1f} h"
    return f"{value / MEGABYTE:,.1f} MB" if value < 2**30 else f"{value / 2**30:,.1f} GB"


if __name__ == "__main__":
    main(sys.argv[1:])
