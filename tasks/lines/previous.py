"""A composed version compared with all before it, using only their files.

Each version must show of a group what all others show; what the files cannot show is reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sfumato.expectations.machine.fault import require_machine
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
    """Put earlier versions of a release in order, followed by the release.

    Nothing is verified yet: the order follows from what the versions say of themselves.

    Raises:
        InputError: where one of them is no composed version, or is given twice, or they are
            not all of the versions between the first of them and the release.
    """
    by_digest: dict[str, Release] = {}
    for version in (release, *map(open_release, directories)):
        _require_composed(version)
        if (digest := digest_of(version)) in by_digest:
            raise InputError(
                f"{version.directory}: the version with digest {digest} is given "
                "twice. Give each version once"
            )
        by_digest[digest] = version
    chain = [by_digest.pop(digest_of(release))]
    while by_digest:
        digest_before = chain[-1].declared.predecessor
        if digest_before is None or digest_before not in by_digest:
            raise InputError(_missing(digest_before, chain[-1], next(iter(by_digest.values()))))
        chain.append(by_digest.pop(digest_before))
    return tuple(reversed(chain))


def digest_of(release: Release) -> str:
    """Return the digest that a release's manifest states."""
    return str(release.manifest["sfumato"].get("digest"))


def _require_composed(release: Release) -> None:
    if not release.declared.is_composed:
        raise InputError(
            f"{release.directory}: versions of this release cannot be compared, "
            "because they were not made to be combined (its spec has `versions: "
            f"{release.declared.versions}`, not `versions: composed`)"
        )


def _missing(digest: str | None, after: Release, other: Release) -> str:
    """Return the message of directories that are no chain."""
    if digest is None:
        return (
            f"{other.directory}: is not an earlier version of {after.directory}, which "
            "is the first version of the line. Leave it out"
        )
    return (
        f"{after.directory}: continues the version with digest {digest}, which is "
        f"missing. {other.directory} is another version ({digest_of(other)}). Give the "
        "missing version"
    )


@dataclass(frozen=True)
class Step:
    """The movement from one version to the next; both are named by their directories."""

    before: Path
    now: Path
    moved: Movement


@dataclass(frozen=True)
class Succession:
    """Findings about a version and those before it, none of which contradict each other.

    Attributes:
        steps: the movement from each version to the next, in their order.
        together: the promises that are judged over all groups together, each with the verdict over
            the groups of all given versions.
        whole: whether the first of the given versions is the first of the line.
    """

    steps: tuple[Step, ...]
    together: tuple[JointVerdict, ...]
    whole: bool


def hold_against(release: Release, directories: Sequence[Path], verify: Verify) -> Succession:
    """Compare a verified release with earlier versions of it.

    Args:
        release: the version.
        directories: the directories of earlier versions, in any order.
        verify: opens and verifies each of these.

    Raises:
        InputError: where they are not all versions from some version on up to this one.
        PromiseError: where one of them cannot be verified, or contradicts the one before it, or
            all of them together break a promise.
    """
    chain = chain_to(release, directories)
    before = [verify(version.directory) for version in chain[:-1]]
    try:
        return _compare((*before, release))
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - what cannot be verified is not kept
        require_machine(error)
        directory = release.directory
        raise PromiseError(
            f"{directory}: cannot be compared ({type(error).__name__}). Its files may be damaged"
        ) from None


def _compare(chain: Sequence[Release]) -> Succession:
    places = [version.directory for version in chain]
    if any(version.declared.made_of for version in chain):
        return _succession(chain, moved_in_parts(chain))
    versions = [*map(_read_assessed, chain[:-1]), ShownVersion.read(chain[-1])]
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
        Step(before.directory, now.directory, movement)
        for (before, now), movement in zip(pairwise(chain), moved, strict=True)
    ]
    return Succession(tuple(steps), together, chain[0].declared.predecessor is None)


def _read_assessed(release: Release) -> ShownVersion:
    """Read a version, each group of which keeps every promise by itself."""
    version = ShownVersion.read(release)
    require(assess(version.declared, version.tables).findings)
    return version
