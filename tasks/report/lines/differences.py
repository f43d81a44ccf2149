"""How a version differs from the one before it, in words: of their manifests alone, no value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfumato.tasks.report.lines.described import DescribedVersion
from sfumato.tasks.report.lines.entries import VersionEntry
from sfumato.tasks.report.plots.axes import thousands


@dataclass(frozen=True)
class ChangedVersion:
    """A version, the one before it, and what is different, each in a sentence's part."""

    number: str
    before: str
    changes: tuple[str, ...]


def changed_versions(versions: Sequence[VersionEntry]) -> list[ChangedVersion]:
    """Each version beside the one before it, where both can be read; the latest first.

    Args:
        versions: the latest first.
    """
    return [
        ChangedVersion(after.number, before.number, tuple(differences(old, new)))
        for after, before in pairwise(versions)
        if (new := after.described) is not None and (old := before.described) is not None
    ]


def differences(before: DescribedVersion, after: DescribedVersion) -> Iterator[str]:
    """What is different, none where nothing of these is."""
    yield from _counted("rows", before.rows, after.rows)
    if before.groups is not None and after.groups is not None:
        yield from _counted("groups", before.groups, after.groups)
    for promise in (one for one in after.promises if one not in before.promises):
        yield f"promises {promise}, which the one before did not"
    for promise in (one for one in before.promises if one not in after.promises):
        yield f"no longer promises {promise}"
    yield from _columns(before, after)
    yield from _software(before.software, after.software)


def _counted(noun: str, before: int, after: int) -> Iterator[str]:
    if after != before:
        change = f"{thousands(abs(after - before))} {'more' if after > before else 'fewer'}"
        yield f"{thousands(after)} {noun}, {change} than {thousands(before)}"


def _columns(before: DescribedVersion, after: DescribedVersion) -> Iterator[str]:
    for name in (one for one in after.columns if one not in before.columns):
        yield f"has column {name!r}, which is new"
    for name in (one for one in before.columns if one not in after.columns):
        yield f"has no column {name!r} any more"
    for name in (one for one in after.columns if one in before.columns):
        old, new = before.columns[name], after.columns[name]
        keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        if keys:
            yield f"column {name!r} has another {', '.join(keys)}"


def _software(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield f"made with {name} {new or 'no more'}, before {old or 'without it'}"
