"""Tombstones: staged beside their version, then exchanged with it in one step.

    <line>/.withdrawal-0002      the tombstone before, and the version after they changed places
    <line>/.withdrawn-0002       the version, if the exchange took two renames

These names and the public record show what a killed process left: a version that the record does
not call withdrawn keeps its place, any other is replaced by the staged tombstone.
"""

import ctypes
import errno
import os
import shutil
from pathlib import Path

from sfumato.tasks.lines.left_over import REPLACED, STAGED_WITHDRAWAL
from sfumato.tasks.lines.versions import Record
from sfumato.tasks.private.durable import sync_directory, sync_tree, write_atomically
from sfumato.tasks.report.line_pages import tombstone_page
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.terms.tombstone import WITHDRAWAL, WITHDRAWAL_SIGNATURE, Tombstone, has_replaced
from sfumato.tasks.verification.signing import signature_of_withdrawal
from sfumato.tasks.verification.signing_keys import Signer

# errors of a system, or a file system, that cannot exchange two names in one step
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
_PAGE = "index.html"


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # constants of Linux for `renameat2`


def exchange(new: Path, place: Path, aside: Path) -> None:
    """Put `new` in its place; its former content is afterwards at `new`, or at `aside`.

    If no single step can do it there are two renames: a process that is killed between them leaves
    nothing in the place, and `new` where it was.

    Args:
        new: the directory to put there.
        place: the place of another directory.
        aside: a free name beside it.
    """
    if not _exchange_at_once(new, place):
        rename(place, aside)
        sync_directory(place.parent)
        rename(new, place)
    sync_directory(place.parent)


def rename(old: Path, new: Path) -> None:
    """Give a directory another name."""
    os.rename(old, new)  # noqa: PTH104 - said as what it is


def _exchange_at_once(new: Path, place: Path) -> bool:
    """Exchange two directories in one step (Linux, `renameat2`); return whether it worked."""
    try:
        step = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    names = os.fsencode(new), os.fsencode(place)
    if step(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code))


def stage_tombstone(public: Path, tombstone: Tombstone, title: str, signer: Signer | None) -> None:
    """Write a tombstone beside its version, whole and durable.

    Args:
        public: the line's directory.
        tombstone: its content.
        title: the title of its line.
        signer: signs it, None if it is not signed.
    """
    staged = public / f"{STAGED_WITHDRAWAL}{tombstone.version}"
    _delete(staged)
    staged.mkdir(mode=0o700)
    (staged / _PAGE).write_text(tombstone_page(tombstone, title), encoding="utf-8", newline="\n")
    if signer is not None:
        content = signature_of_withdrawal(tombstone, signer)
        (staged / WITHDRAWAL_SIGNATURE).write_bytes(content)
    content = canonical_json(tombstone.model_dump(mode="json"))
    write_atomically(staged / WITHDRAWAL, content)  # last: a directory that has it is whole
    for path in staged.iterdir():
        path.chmod(0o444)
    staged.chmod(0o755)
    sync_tree(staged)


def put_in_place(public: Path, number: str) -> None:
    """Exchange the staged tombstone and its version, and delete the version.

    A second call continues where the first was stopped.
    """
    staged, aside, place = _names(public, number)
    if has_replaced(staged) and not has_replaced(place):
        if place.exists():
            exchange(staged, place, aside)
        else:
            rename(staged, place)
            sync_directory(public)
    _delete_left(staged, aside)


def complete_withdrawals(public: Path, record: Record) -> None:
    """Finish or forget the withdrawals that a killed process began."""
    begun = [*public.glob(f"{STAGED_WITHDRAWAL}*"), *public.glob(f"{REPLACED}*")]
    for number in sorted({path.name.rpartition("-")[2] for path in begun}):
        version = record.versions.get(number)
        if version is not None and version.status == "withdrawn":
            put_in_place(public, number)
        else:
            _delete_left(public / f"{STAGED_WITHDRAWAL}{number}")


def _names(public: Path, number: str) -> tuple[Path, Path, Path]:
    return public / f"{STAGED_WITHDRAWAL}{number}", public / f"{REPLACED}{number}", public / number


def _delete_left(*directories: Path) -> None:
    """Delete directories that are no longer in their place."""
    for directory in directories:
        _delete(directory)


def _delete(directory: Path) -> None:
    """Delete a directory; its mode keeps others from reading it when half deleted."""
    if directory.exists():
        directory.chmod(0o700)
        shutil.rmtree(directory)
