"""One input after the other, each in a forked child with limits, and what must hold of it."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.forked import Ran, in_child
from tests.fuzz.kinds import CORPUS, KINDS, SPECS, Case

CPU_SECONDS, MEGABYTES = 5.0, 512
_PROGRESS = re.compile(
    r"\w+: (finished|failed) after \d+\.\d s|not verified.*|(unit|remember|household): .*"
    r"|note: no releases\.json beside it: .*"  # as of any release that is copied alone
    r"|warning: (all rows are in one group|half of the answers).*"
    r"|warning: columns\.\w+: several rows have the same value, .*"
    r"|(ingest|anonymize|validate|attack|evaluate): [\d,]+ [a-z0-9, ]+"
    r"|warning: beyond attacks\..*|intervals: calibrated for .*"
    r"|(rows|groups|promise|loss|accuracy|page) {2,}.*"  # totals of a version
    r"|sfumato: query \d+, line \d+: .*"  # beside the last line, which says how many
)
_CANARY = re.compile(r"CANARY\w*")


def releases(folder: Path) -> Path:
    """A release of every seed spec, to damage and to ask."""
    for name in SPECS:
        place = folder / name
        shutil.copytree(CORPUS, place)

        def make(name: str = name) -> int:
            from sfumato.flows.cli.main import run

            return run(["release", f"{name}.yaml"])

        ran = in_child(make, place)
        if ran.code != 0:
            raise RuntimeError(f"{name}: {ran.err}")
        shutil.copytree(place / "public" / "fuzzed" / "0001", folder / "made" / name)
    return folder / "made"


def write_input(kind: str, seed: int, number: int, folder: Path, made: Path) -> Case:
    """The input of a number, written into a folder."""
    return KINDS[kind](folder, Random(f"{seed} {kind} {number}"), made)


def faults(kind: str, seed: int, number: int, folder: Path, made: Path) -> tuple[Ran, list[str]]:
    """Run one input; everything that is not as it must be."""
    folder.mkdir(parents=True)

    def run() -> int:
        from sfumato.flows.cli.main import run as command

        case = write_input(kind, seed, number, folder, made)
        (folder / ".case").write_text("\n".join([case.file, *case.arguments]), errors="replace")
        code = command(list(case.arguments))
        if code == 0 and case.arguments[0] == "release":
            manifests = Path().glob("**/[0-9][0-9][0-9][0-9]/datapackage.json")
            version = min(manifests, key=lambda path: len(path.parts))  # parts lie below it
            return 80 + command(["check", str(version.parent.absolute())])
        return code

    ran = in_child(run, folder)
    return ran, list(_faults(ran, folder))


def _faults(ran: Ran, folder: Path) -> Iterator[str]:
    code = 0 if ran.code == 80 else ran.code
    if code not in (0, 2, 3):
        yield f"exit code {code}"
    if ran.seconds > CPU_SECONDS:
        yield f"{ran.seconds:.1f} CPU seconds"
    if ran.megabytes > MEGABYTES:
        yield f"{ran.megabytes:.0f} MB"
    lines = [line for line in ran.err.splitlines() if not _PROGRESS.fullmatch(line)]
    lines = [line for line in lines if not (code == 0 and line.startswith("note: "))]
    error_lines = [line for line in lines if line.startswith("sfumato: ")]
    if len(lines) != (0 if code == 0 else 1) or lines != error_lines:
        yield f"{len(lines)} lines on stderr"
    case = folder / ".case"
    if case.exists():
        file = folder / case.read_text(errors="replace").splitlines()[0]
        first = file.read_bytes().splitlines()[:1] if file.is_file() else []
        content = b"".join(first).decode(errors="replace")  # names of columns may be said
        if any(canary not in content for canary in _CANARY.findall(ran.err)):
            yield "a cell on stderr"
