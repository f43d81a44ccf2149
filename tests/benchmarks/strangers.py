"""From a stranger's file to a published release: three public tables, nastily written.

    STATSMODELS=.venv-statsmodels/bin/python python -m tests.benchmarks.strangers

The tables are those of statsmodels: `fair` (6,366 women and affairs), `anes96` (944 voters) and
`modechoice` (210 travellers with four rows each). Each is written with semicolons, decimal commas
and Windows-1252, with a column that no ASCII spells. Then `sfumato init`, the edits that a steward
makes in the draft, and `sfumato release`, which evaluates it: what is told is how many lines are
edited, and the processor time of each command, with all its processes.
"""

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.tasks.lines.versions import RECORD

CONFIRM = ("roles: proposed", "roles: confirmed")
MOST_EDITS, MOST_SECONDS = 2, 120
ORIGIN = "from importlib.util import find_spec; print(find_spec('statsmodels').origin)"


@dataclass(frozen=True)
class StrangersTable:
    """A table of statsmodels.

    Attributes:
        name: of it, and of its folder.
        delimiter: of the file as it is shipped.
        renamed: a column, and how it is called here.
        edits: lines of the draft by how they begin, and how they begin afterwards.
    """

    name: str
    delimiter: str
    renamed: tuple[str, str]
    edits: Sequence[tuple[str, str]] = (CONFIRM,)


TABLES = (
    StrangersTable("fair", ",", ("occupation_husb", "occupation_époux")),
    StrangersTable("anes96", " ", ("reldist", "reldist_né")),
    StrangersTable("modechoice", ";", ("hinc", "hinc_€")),
)


@dataclass(frozen=True)
class Journey:
    """The time and the steps that a release of a table took."""

    table: str
    rows: int
    edits: int
    first: float
    released: float

    @property
    def seconds(self) -> float:
        """The processor time of both commands."""
        return self.first + self.released


def main() -> None:
    """Print a line for each table, or why there is none."""
    python = os.environ.get("STATSMODELS")
    if python is None or not Path(python).exists():
        print("strangers: statsmodels has no environment here (STATSMODELS)")
        return
    shipped = Path(_output([python, "-c", ORIGIN])).parent / "datasets"
    print("| table | rows | edits | init, CPU | release, CPU |\n|---|---|---|---|---|")
    for table in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            went = go(table, shipped, Path(folder))
        print(
            f"| `{went.table}` | {went.rows:,} | {went.edits} | {went.first:.0f} s "
            f"| {went.released:.0f} s |"
        )
        if went.edits > MOST_EDITS or went.seconds > MOST_SECONDS:
            raise SystemExit(f"{went.table}: more than {MOST_EDITS} edits, or {MOST_SECONDS} s")


def go(table: StrangersTable, shipped: Path, folder: Path) -> Journey:
    """Write a table, draft its spec, edit that, and release it."""
    rows = write_nastily(table, shipped, folder)
    private = {"SFUMATO_WORK": str(folder / "work"), "PREFECT_HOME": str(folder / "prefect")}
    first = _run(["init", f"{table.name}.csv"], folder, private)
    edit(folder / f"{table.name}.yaml", table.edits)
    released = _run(["release", f"{table.name}.yaml"], folder, private)
    if not (folder / "releases" / table.name / RECORD).is_file():
        raise SystemExit(f"{table.name}: nothing was published")
    return Journey(table.name, rows, len(table.edits), first, released)


def write_nastily(table: StrangersTable, shipped: Path, folder: Path) -> int:
    """Write a table with semicolons, decimal commas and Windows-1252; tell how many rows it has."""
    with (shipped / table.name / f"{table.name}.csv").open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines, delimiter=table.delimiter)
    old, new = table.renamed
    renamed = [new if name == old else name for name in header]
    written = [[value.replace(".", ",") for value in row] for row in rows]
    place = folder / f"{table.name}.csv"
    with place.open("w", encoding="windows-1252", newline="") as file:
        csv.writer(file, delimiter=";").writerows([renamed, *written])
    return len(rows)


def edit(draft: Path, edits: Sequence[tuple[str, str]]) -> None:
    """Change lines of a draft, each of which has to be there once."""
    text = draft.read_text(encoding="utf-8")
    for old, new in edits:
        if text.count(f"\n{old}") != 1:
            raise SystemExit(f"{draft.name}: {old!r} is not there once")
        text = text.replace(f"\n{old}", f"\n{new}")
    draft.write_text(text, encoding="utf-8")


def _run(arguments: Sequence[str], folder: Path, private: Mapping[str, str]) -> float:
    """Run the command to its end; tell the processor time of all its processes."""
    command = [str(Path(sys.executable).with_name("sfumato")), *arguments]
    with (folder / "said").open("w") as output:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **private}, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {(folder / 'said').read_text()}")
    return used.ru_utime + used.ru_stime


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
