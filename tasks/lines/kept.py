"""Copies of the last version of a composed line that was withdrawn, to compare the next one with.

    <work>/<line>/withdrawn/<version>    manifest and tables, as they were published (0600)

Later versions are also compared with withdrawn ones. For versions before the last, private maps are
enough; the next version is compared with the last table by table, and the public files of a
withdrawn one are gone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.lines.line import Line
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.backup import WITHDRAWN, pack, unpack_files
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.state import LineState
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_bytes
from sfumato.tasks.terms.opened import MANIFEST, Release, open_release
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.tombstone import has_replaced, is_tombstone


def keep_release(line: Line, number: str, state: LineState) -> bool:
    """Keep the tables of a version that is withdrawn, if the next one is compared with them.

    Returns:
        True if they are kept now, or were before.
    """
    release = line.public / number
    needed = number == max(state.versions) and state.versions[number].composed
    if not needed or has_replaced(release) or not (release / MANIFEST).is_file():
        return needed and _place(line, number).is_file()
    patterns = (MANIFEST, "data/*.parquet", f"{PARTS}/*/{MANIFEST}", f"{PARTS}/*/data/*.parquet")
    paths = sorted(path for names in patterns for path in release.glob(names))
    files = {path.relative_to(release).as_posix(): read_bytes(path) for path in paths}
    private_directory(line.private / WITHDRAWN)
    write_atomically(_place(line, number), pack(number, files))
    return True


@contextmanager
def release_before(line: Line, number: str) -> Iterator[Release]:
    """Open the version that the next one continues: in its place, or as it was kept.

    Raises:
        PromiseError: where it is in neither.
    """
    release = line.public / number
    if not is_tombstone(release):
        if not release.is_dir():
            raise PromiseError(
                f"version {number}, which this one continues, is not in {line.public}. "
                "Restore its directory, or publish to the directory that contains it"
            )
        yield open_release(release)
        return
    with scratch_directory() as scratch:
        for path, content in _kept_files(line, number).items():
            place = scratch / path
            private_directory(place.parent)
            place.write_bytes(content)
        yield open_release(scratch)


def _kept_files(line: Line, number: str) -> dict[str, bytes]:
    place = _place(line, number)
    try:
        return unpack_files(place, read_bytes(place), number)
    except (OSError, InputError):
        raise PromiseError(
            f"version {number}, which this one continues, was withdrawn, and the "
            "private copy for this comparison is missing. Restore a backup that was "
            "made after the withdrawal: sfumato line restore SPEC FILE"
        ) from None


def prune_kept(private: Path, state: LineState) -> None:
    """Delete the kept tables of versions that are no longer the last."""
    last = max(state.versions, default=None)
    for path in (private / WITHDRAWN).glob("[0-9]*"):
        if path.name != last:
            path.unlink()


def _place(line: Line, number: str) -> Path:
    return line.private / WITHDRAWN / number
