"""ARX beside us: full-domain generalization from a file to groups, in a process of each.

`ARX` is the class path of its library: `libarx-3.9.2.jar`, or several jars with `:` between them.
`arx/Anonymize.java` is compiled for it, and run. Both read the same table and hierarchies (CSV),
and minimise discernibility over the whole lattice: each row counts the rows of its group, and a
suppressed row counts all rows. Each process does the task several times; its first run also pays
for what is loaded or compiled when it is first used.

    python -m tests.benchmarks.arx_peer <task>.json    # our side: JSON as Anonymize prints it
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from sfumato.tasks.forms.form_parameters import GeneralizedParameters
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.hierarchies import hierarchies, with_ancestors
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.hierarchy_rules import HierarchyFile
from tests.adult import NUMBERS
from tests.benchmarks.peers import FULL_DOMAIN, TIMES, promises_of
from tests.benchmarks.processes import ROOT, peak_megabytes

SOURCE = Path(__file__).parent / "arx" / "Anonymize.java"
STAGES = ("load", "anonymize", "output")
STAGE_HEADS = (
    *("table", "rows", "task", "software"),
    *("read", "search", "output", "sum", "levels judged", "groups at"),
)


STAGES_PREFACE = """## ARX and Sfumato, from a file to groups

Both read the same CSV files of a table and of its hierarchies, and look through the whole lattice
for the levels of least discernibility. **Both chose the same levels, with the same groups and the
same discernibility, in {agreed} of {tasks} tasks.** ARX's later runs take {later} the CPU time of
Sfumato's, and its first runs {first}. Figures are CPU milliseconds. Each process does a task four
times; *later runs* is the mean of three. The start of Java or Python is not counted.

- Both number the values when they read. `output` makes the generalized rows in memory.
- ARX's first run also compiles code, and prepares number formats of all languages when it reads;
  Sfumato's loads what it needs for the first time.
- The clock of ARX's process advances in steps of 10 ms.
- `levels judged` is how many combinations of levels are grouped. ARX also skips those above a
  combination that loses more than the best found, even before rows are suppressed. So it judges
  few where low levels are the best, as in the largest tables.
- `groups at` is the level of each quasi-identifier, in the order of the table's columns; 0 is the
  value itself.
"""


@dataclass(frozen=True)
class ArxPeer:
    """ARX, by the class path in the variable `ARX`.

    Attributes:
        name: of the software.
        package: empty: it is no distribution of Python.
        most: the largest number of rows for which it is run, None for any.
    """

    name: str = "ARX"
    package: str = ""
    most: int | None = None

    def run(self, task: Path, patience: int) -> dict[str, Any] | str:
        """Return what a JVM prints of the task, or why there is nothing.

        Times of work are those of `anonymize` and `output`, in seconds: the mean of the runs after
        the first, which is told apart.
        """
        jars = jars_of(os.environ.get("ARX", ""))
        if not jars:
            return "has no library here (ARX)"
        content = json.loads(task.read_text(encoding="utf-8"))
        files = write_hierarchies(content, task.parent)
        arguments = [content["file"], content["sensitive"], content["k"], content.get("l", 0)]
        arguments += [content["percent"] / 100, TIMES + 1]
        arguments += [f"{name}={place}" for name, place in files.items()]
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = os.pathsep.join([os.environ["ARX"], folder])
                _last_line(["javac", "-d", folder, "-cp", path, str(SOURCE)], patience)
                java = ["java", "-cp", path, "Anonymize", *map(str, arguments)]
                record = json.loads(_last_line(java, patience))
        except NotRunError as error:
            return str(error)
        return summarize(record) | {"version": _version(jars)}


class NotRunError(Exception):
    """A program that did not do its task, with the reason."""


def jars_of(path: str) -> list[Path]:
    """The jars of a class path that exist; `*` stands for all in a folder."""
    parts = (Path(part) for part in path.split(os.pathsep) if part)
    return sorted(jar for part in parts for jar in part.parent.glob(part.name))


def _version(jars: Sequence[Path]) -> str:
    """The version in the name of ARX's jar, if there is one."""
    names = (re.search(r"arx-(\d.*)\.jar$", jar.name) for jar in jars)
    return next((name[1] for name in names if name), "without a version")


def _last_line(command: Sequence[str], patience: int) -> str:
    """The last line that a command prints, empty if there is none.

    Raises:
        NotRunError: if it is missing, fails, or takes longer than `patience` seconds.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, cwd=ROOT)
    except FileNotFoundError:
        raise NotRunError(f"did not run here (there is no {command[0]})") from None
    except subprocess.TimeoutExpired:
        raise NotRunError(f"was not done after {patience} s") from None
    if done.returncode:
        first = (done.stderr.strip().splitlines() or ["nothing said"])[0]
        raise NotRunError(f"did not run here ({first})")
    return (done.stdout.splitlines() or [""])[-1]


def write_hierarchies(task: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Write the hierarchy of each quasi-identifier as CSV: a row for each value, without a header.

    The file of a column is numbered as the column is among the quasi-identifiers.
    """
    files = {}
    for number, name in enumerate(task["qi"]):
        files[name] = folder / f"hierarchy-{number}.csv"
        with files[name].open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(zip(*task["hierarchies"][name], strict=True))
    return files


def summarize(record: Mapping[str, Any]) -> dict[str, Any]:
    """The seconds of the work, and the milliseconds of each stage, first and warm.

    Raises:
        ValueError: if the outcome is not that is not the optimum.
    """
    if not record["optimal"]:
        raise ValueError("the optimum was not reached, and times cannot be compared")
    first, *warm = record["runs"]
    stages = {
        stage: {kind: mean(run[stage][kind] for run in warm) for kind in ("cpu", "wall")}
        for stage in STAGES
    }
    taken = {kind: _work(stages, kind) for kind in ("cpu", "wall")}
    once = {kind: _work(first, kind) for kind in ("cpu", "wall")}
    return {**record, **taken, "first": once, "stages": {"first run": first, "later runs": stages}}


def _work(run: Mapping[str, Mapping[str, float]], kind: str) -> float:
    return (run["anonymize"][kind] + run["output"][kind]) / 1e3


def own_run(task: Path, patience: int) -> dict[str, Any]:
    """Our times of the same task, from the same files, in a process of its own.

    Raises:
        NotRunError: if it takes longer than `patience` seconds.
    """
    command = [sys.executable, "-m", "tests.benchmarks.arx_peer", str(task)]
    return summarize(json.loads(_last_line(command, patience)))


@dataclass(frozen=True)
class Stages:
    """The table about ARX and us from a file to groups, a few lines for each task.

    Attributes:
        lines: of the table.
        agreed: for each task whether levels, loss and the sizes of all groups are equal.
        ratios: by the kind of run, ARX's CPU time over ours for each task.
    """

    lines: list[str] = field(default_factory=list)
    agreed: list[bool] = field(default_factory=list)
    ratios: dict[str, list[float]] = field(default_factory=dict)

    def compare(self, where: str, task: Path, theirs: Mapping[str, Any], patience: int) -> None:
        """Do a task that ARX did, and add both; `where` are the cells before."""
        ours = own_run(task, patience)
        self.agreed.append(agree(ours, theirs))
        sums: dict[str, list[float]] = {}
        for name, record in (("Sfumato", ours), (f"ARX {theirs['version']}", theirs)):
            levels = ", ".join(str(record["levels"][column]) for column in ours["levels"])
            for run, stages in record["stages"].items():
                taken = [stages[stage]["cpu"] for stage in STAGES]
                sums.setdefault(run, []).append(sum(taken))
                cells = [f"{part:,.0f}" for part in (*taken, sum(taken))]
                cells += [f"{record['checked']:,}", levels]
                self.lines.append(f"{where} {name}, {run} | {' | '.join(cells)} |")
        for run, (own, other) in sums.items():
            self.ratios.setdefault(run, []).append(other / own)

    def page_lines(self) -> list[str]:
        """The section of the page, empty if ARX was not run."""
        if not self.lines:
            return []
        later, first = (
            f"{min(ratios):.1f} to {max(ratios):.1f} times (median {median(ratios):.1f})"
            for ratios in (self.ratios["later runs"], self.ratios["first run"])
        )
        agreed, tasks = sum(self.agreed), len(self.agreed)
        words = STAGES_PREFACE.format(agreed=agreed, tasks=tasks, later=later, first=first)
        head = [f"| {' | '.join(STAGE_HEADS)} |", "|---" * len(STAGE_HEADS) + "|"]
        return [words, *head, *self.lines, ""]


def agree(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Return whether levels, loss and the sizes of all groups are equal."""
    same = all(ours[fact] == theirs[fact] for fact in ("levels", "loss"))
    return same and sorted(ours["sizes"]) == sorted(theirs["sizes"])


def main(arguments: Sequence[str]) -> None:
    """Do a task as often as ARX does it, and print what each stage took as JSON."""
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    files = write_hierarchies(task, Path(arguments[0]).parent)
    runs, outcome = [], {}
    for _ in range(TIMES + 1):
        stages, outcome = run_once(task, files)
        runs.append(stages)
    print(json.dumps({"runs": runs, "peak": peak_megabytes(), "optimal": True, **outcome}))


def run_once(
    task: Mapping[str, Any], files: Mapping[str, Path]
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Do a task, and return the milliseconds of each stage, and the groups and their loss."""
    marks = [_now()]
    table = read(task, files)
    marks.append(_now())
    promises = promises_of(table, task.get("l", 0))
    cut = PARTITIONS["full-domain"](table, [], promises, FULL_DOMAIN, seeded_keys(0))
    marks.append(_now())
    form = GeneralizedParameters(method="generalized")
    FORMS["generalized"].publish(table, cut, form, seeded_keys(0))
    marks.append(_now())
    spans = zip(STAGES, marks, marks[1:], strict=False)
    stages = {
        stage: {kind: 1e3 * (after[kind] - before[kind]) for kind in ("cpu", "wall")}
        for stage, before, after in spans
    }
    return stages, {
        "loss": cut.facts["cost"],
        "checked": cut.facts["nodes_judged"],
        "levels": cut.facts["levels"],
        "sizes": [int(size) for size in np.bincount(cut.group[cut.group >= 0])],
    }


def _now() -> dict[str, float]:
    return {"cpu": time.process_time(), "wall": time.perf_counter()}


def read(task: Mapping[str, Any], files: Mapping[str, Path]) -> Microdata:
    """Read the table and the hierarchies of a task, as a release does."""
    specs = {
        name: ColumnSpec(
            role="quasi-identifier",
            type="integer" if name in NUMBERS else "string",
            hierarchy=HierarchyFile(file=place.name, public=True),
        )
        for name, place in files.items()
    }
    specs[task["sensitive"]] = ColumnSpec(role="sensitive", type="string")
    base = Path(task["file"]).parent
    table = ingest(Source(uri=task["file"]), specs, "drop-row", base, {}).microdata
    trees = hierarchies(specs, table, base)
    return table.keep(
        with_ancestors(column, trees[column.name]) if column.name in trees else column
        for column in table.columns
    )


if __name__ == "__main__":
    main(sys.argv[1:])
