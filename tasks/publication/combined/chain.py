"""The versions of a composed line in their order, each found by the digest that the next names."""

from collections.abc import Sequence
from pathlib import Path

from sfumato.expectations.errors import InputError
from sfumato.tasks.declaration.opened import Release, open_release


def chain_to(release: Release, directories: Sequence[Path]) -> tuple[Release, ...]:
    """Put earlier versions of a release in order, and the release behind them.

    Nothing is believed of them yet but what they say of themselves.

    Raises:
        InputError: where one of them is no composed version, or stands there twice, or they are
            not all of the versions between the first of them and the release.
    """
    by_digest: dict[str, Release] = {}
    for one in (release, *map(open_release, directories)):
        _require_composed(one)
        if (digest := digest_of(one)) in by_digest:
            raise InputError(f"{one.directory}: the version with digest {digest} is given twice")
        by_digest[digest] = one
    found = [by_digest.pop(digest_of(release))]
    while by_digest:
        wanted = found[-1].declared.predecessor
        if wanted is None or wanted not in by_digest:
            raise InputError(_missing(wanted, found[-1], next(iter(by_digest.values()))))
        found.append(by_digest.pop(wanted))
    return tuple(reversed(found))


def digest_of(release: Release) -> str:
    """The digest that a release's manifest states."""
    return str(release.manifest["sfumato"].get("digest"))


def _require_composed(release: Release) -> None:
    if not release.declared.composed:
        raise InputError(
            f"{release.directory}: versions of this release were not made to be combined (versions "
            f"is {release.declared.versions}), so that nothing can be held against others"
        )


def _missing(wanted: str | None, after: Release, other: Release) -> str:
    """Why the directories are no chain."""
    if wanted is None:
        return (
            f"{other.directory}: is no version before {after.directory}, with which the line begins"
        )
    return (
        f"{after.directory}: continues the version with digest {wanted}, which is missing; "
        f"{other.directory} is another one ({digest_of(other)})"
    )
