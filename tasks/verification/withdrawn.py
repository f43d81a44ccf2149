"""Releases that are no more: what stands in their place, or what the record beside them says."""

from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.authorship.withdrawal import author_of_withdrawal
from sfumato.tasks.declaration.lines.tombstone import (
    is_marked_beside,
    read_tombstone,
    require_not_withdrawn,
)
from sfumato.tasks.declaration.opened import Release


def refuse_tombstone(directory: Path, environ: Mapping[str, str]) -> None:
    """Refuse the place of a withdrawn version.

    Raises:
        PromiseError: with the day, the reason, and who signed that.
    """
    found = read_tombstone(directory)
    if found is not None:
        require_not_withdrawn(directory, author_of_withdrawal(directory, found, environ))


def require_unmarked(release: Release) -> None:
    """Refuse a release that the record beside it calls withdrawn.

    Its directory may be about to be replaced, or software that left it there withdrew it.

    Raises:
        PromiseError: in one line.
    """
    if is_marked_beside(release.directory, release.manifest["sfumato"].get("digest")):
        raise PromiseError(f"{release.directory}: was withdrawn, says the record beside it")
