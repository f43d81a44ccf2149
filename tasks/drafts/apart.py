"""A line as it stands, copied: what is done to the copy leaves no trace in the line."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from sfumato.tasks.lines.line import Line
from sfumato.tasks.private.people.keys import PEOPLE
from sfumato.tasks.private.state import STATE
from sfumato.tasks.private.workdir import private_directory, state_lock

_NOT_STATE = shutil.ignore_patterns("runs", "reports", "handed-over", "review", ".*")


@contextmanager
def line_apart(line: Line, place: Path) -> Iterator[Line]:
    """A line whose private state is a copy in a private directory, for as long as it is needed.

    What draws keys, where a line has none yet, draws them there. The other lines that have a
    version are copied, too: who is in both is refused here as it is by a release.

    Args:
        line: whose state is copied.
        place: the directory in which the copy is.
    """
    work = private_directory(place / "work")
    copied = private_directory(work / line.name)
    with state_lock(line.private):
        others = sorted(path.parent.name for path in line.work.glob(f"*/{STATE}"))
        for name in dict.fromkeys((PEOPLE, line.name, *filter(None, [line.groups]), *others)):
            if (line.work / name).is_dir():
                shutil.copytree(
                    line.work / name, work / name, ignore=_NOT_STATE, dirs_exist_ok=True
                )
    try:
        yield replace(line, private=copied)
    finally:
        shutil.rmtree(work)
        _leave_no_directory(line.private)


def _leave_no_directory(private: Path) -> None:
    """Remove the private directory of a line that was never released."""
    if {path.name for path in private.iterdir()} <= {".publishing"}:
        with suppress(OSError):
            (private / ".publishing").unlink(missing_ok=True)
            private.rmdir()
