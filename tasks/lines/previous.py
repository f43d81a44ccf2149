"""A composed version compared with all before it, from their files alone.

What one version shows of a group, all others must show; what the files cannot show is said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import InputError, PromiseError, SfumatoError
from sfumato.tasks.lines.all_versions import JointVerdict, joint_verdicts, moved_between, refusal_at
from sfumato.tasks.lines.movement import Movement
from sfumato.tasks.lines.parts_previous import moved_in_parts
from sfumato.tasks.lines.shown import ShownVersion
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import Release, open_release

Verify = Callable[[Path], Release]
"""Opens a release that something vouches for; raises where it cannot be verified."""


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


@dataclass(frozen=True)
class Step:
    """What moved from one version to the next; both are named by their directories."""

    before: Path
    now: Path
    moved: Movement


@dataclass(frozen=True)
class Succession:
    """What was found of a version and those before it, where nothing contradicts anything.

    Attributes:
        steps: in the order of versions.
        together: promises on all groups together, over those of all given versions.
        whole: whether the given versions are all that there were.
    """

    steps: tuple[Step, ...]
    together: tuple[JointVerdict, ...]
    whole: bool


def hold_against(release: Release, directories: Sequence[Path], verify: Verify) -> Succession:
    """Hold a verified release against earlier versions of it.

    Args:
        release: the version.
        directories: of earlier versions, in any order.
        verify: how each of these is opened.

    Raises:
        InputError: where they are not the versions before this one, up to some first.
        PromiseError: where one of them cannot be verified, or contradicts the one before it, or
            all of them together break a promise.
    """
    chain = chain_to(release, directories)
    before = [verify(one.directory) for one in chain[:-1]]
    try:
        return _compared((*before, release))
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - what cannot be verified is not kept
        directory = release.directory
        raise PromiseError(f"{directory}: cannot be compared ({type(error).__name__})") from None


def _compared(chain: Sequence[Release]) -> Succession:
    places = [one.directory for one in chain]
    if any(one.declared.made_of for one in chain):
        return _succession(chain, moved_in_parts(chain))
    versions = [*map(_kept, chain[:-1]), ShownVersion.of(chain[-1])]
    moved = moved_between(places, versions)
    together = tuple(joint_verdicts(versions))
    for promise, verdict in together:
        if not verdict.holds:
            raise refusal_at(places[-1], f"all versions together break {promise.title}")
    return _succession(chain, moved, together)


def _succession(
    chain: Sequence[Release], moved: Sequence[Movement], together: tuple[JointVerdict, ...] = ()
) -> Succession:
    steps = [
        Step(before.directory, now.directory, of)
        for (before, now), of in zip(pairwise(chain), moved, strict=True)
    ]
    return Succession(tuple(steps), together, chain[0].declared.predecessor is None)


def _kept(release: Release) -> ShownVersion:
    """The tables of a version, each group of which keeps every promise by itself."""
    version = ShownVersion.of(release)
    require(assess(version.declared, version.tables).findings)
    return version
