"""Tombstones: staged beside their version, then in its place, so that one is there or the other.

    <line>/.withdrawal-0002      the tombstone before, and the version after they changed places
    <line>/.withdrawn-0002       the version, where that took two renames

What a killed process left is told by these names and the public record: a version that the record
does not call withdrawn keeps its place, any other is replaced by what was staged.
"""

import shutil
from pathlib import Path

from sfumato.tasks.authorship.secret import Signer
from sfumato.tasks.authorship.withdrawal import signature_of_withdrawal
from sfumato.tasks.declaration.canonical import canonical_json
from sfumato.tasks.declaration.lines.tombstone import (
    WITHDRAWAL,
    WITHDRAWAL_SIGNATURE,
    Tombstone,
    has_replaced,
)
from sfumato.tasks.private.durable import sync_directory, sync_tree, write_atomically
from sfumato.tasks.publication.life.exchange import exchange, rename
from sfumato.tasks.publication.life.left_over import REPLACED, STAGED_WITHDRAWAL
from sfumato.tasks.publication.versions import Record
from sfumato.tasks.report.lines.tombstone_page import tombstone_page

_PAGE = "index.html"


def stage_tombstone(public: Path, tombstone: Tombstone, title: str, signer: Signer | None) -> None:
    """Write a tombstone beside its version, whole and durable.

    Args:
        public: the line's directory.
        tombstone: what it says.
        title: what its line is called.
        signer: signs it, where the publisher signs.
    """
    staged = public / f"{STAGED_WITHDRAWAL}{tombstone.version}"
    _delete(staged)
    staged.mkdir(mode=0o700)
    (staged / _PAGE).write_text(tombstone_page(tombstone, title), encoding="utf-8")
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
    """Let the staged tombstone and its version change places, and delete the version.

    Done again it goes on where it was stopped.
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
    """Delete what no longer stands in its place."""
    for directory in directories:
        _delete(directory)


def _delete(directory: Path) -> None:
    """Delete a directory; nobody else reads what is half deleted."""
    if directory.exists():
        directory.chmod(0o700)
        shutil.rmtree(directory)
