"""The private work directory, which nobody else may read: the memory of lines, and their runs.

    <work>/<line>/key            the line's secret, from the operating system
    <work>/<line>/state.json     the published versions, and the source of each
    <work>/<line>/units/         the people of each version, as keyed hashes
    <work>/<line>/left-out/      the rows that a version does not represent
    <work>/<line>/codings.json   values that codings computed once from rows
    <work>/<line>/handed-over/   pseudonyms of people, for joining sources
    <work>/<line>/runs/<id>/     one run's stages, deleted when it ends
    <work>/.scratch/<id>/        files that a command writes only to compare them
    <work>/.drafts/<id>/         drafts and comparisons, which stay for some hours
    <work>/<line>/reports/       accuracy reports
    <work>/<line>/profile.html   the profile of the source by `sfumato init`
    <work>/<line>/absent-leaves.csv  values that the hierarchies lack, where a run was refused

Every directory has mode 0700, or is shared with one group (see `durable`). The next command deletes
what killed runs left (see `scratch`).
"""

import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.private.durable import (
    hold_lock,
    is_open,
    is_ours,
    may_be_changed,
    share_directory,
    sync_directory,
)


def work_directory(environ: Mapping[str, str]) -> Path:
    """Return `$SFUMATO_WORK`, or `sfumato` in the user's state directory (XDG)."""
    if directory := environ.get("SFUMATO_WORK"):
        return Path(directory).absolute()
    state = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state).absolute() / "sfumato"


def private_work_directory(environ: Mapping[str, str]) -> Path:
    """Return the work directory for commands that only read there; it is not made.

    Raises:
        InputError: where it exists, and others can enter it.
    """
    work = work_directory(environ)
    if work.exists():
        _require_private(work)
    return work


def line_directory(work: Path, name: str) -> Path:
    """Return the private directory of a release line; make it if it is missing."""
    return private_directory(private_directory(work) / name)


def private_directory(path: Path) -> Path:
    """Return a directory that only its owner, or the group that shares it, can enter.

    It is made if it is missing. An existing directory that is open to others is not closed: it may
    be open on purpose, and its content may have been read.

    Raises:
        InputError: where it is another user's, open to others, a link that another user may have
            made, or cannot be made.
    """
    try:
        _make(path)
        _require_private(path)
    except OSError as error:
        raise InputError(
            with_remedies(f"{path}: cannot be used as a private directory", error)
        ) from None
    return path


def _require_private(path: Path) -> None:
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(
            f"{path}: cannot be used as a private directory, because it is a file. Name "
            "another path"
        )
    if path.is_symlink() and may_be_changed(path.parent.stat()):
        raise InputError(
            f"{path}: is a link in a directory that other users can change, so they could "
            "redirect it. Use a real directory"
        )
    mode = stat.S_IMODE(status.st_mode)
    if not is_ours(status):
        raise InputError(
            f"{path}: belongs to another user. Set SFUMATO_WORK to a directory of your own"
        )
    if is_open(status):
        raise InputError(
            f"{path}: is open to other users (mode {mode:04o}). Run `chmod 700` on it, or "
            "use another directory"
        )


def _make(path: Path) -> None:
    """Make a directory and its missing parents, all of them private and durable."""
    for missing in reversed([place for place in (path, *path.parents) if not place.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
        share_directory(missing)
        sync_directory(missing.parent)


def is_private(path: Path) -> bool:
    """Decide whether a path is a directory, not a link, that only its sharers can enter."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_ours(status) and not is_open(status)


def require_apart(public: Path, work: Path) -> None:
    """Refuse to publish where private files are, or to keep private files below published ones.

    Raises:
        SpecError: where one of the two directories is the other or inside it.
    """
    public_path, private_path = public.resolve(), work.resolve()
    if public_path.is_relative_to(private_path) or private_path.is_relative_to(public_path):
        raise SpecError(
            f"publish.uri: {public} and the private work directory {work} must be "
            "separate, neither inside the other. Change publish.uri or SFUMATO_WORK"
        )


@contextmanager
def state_lock(line: Path) -> Iterator[None]:
    """Hold the lock under which a line's private state is changed."""
    with hold_lock(line / ".publishing"):
        yield
