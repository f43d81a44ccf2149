"""Differences between two versions of a line, in totals that the versions publish themselves.

Do not add anything that is computed from rows: nobody has judged what it reveals about people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from sfumato.expectations.shared.errors import InputError, SfumatoError
from sfumato.tasks.forms.lineage import LineageTotals, totals_of
from sfumato.tasks.lines.previous import digest_of
from sfumato.tasks.lines.shown import ShownVersion
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.terms.opened import MANIFEST, Release, open_release
from sfumato.tasks.terms.parts import PARTS

_WIDTHS = frozenset({"lower_quartile", "mean", "median", "upper_quartile", "of_known"})
"""What is measured of a workload; its other keys say which it is."""


class _Observation(BaseModel):
    """A manifest's statement about one promise."""

    promise: dict[str, Any]
    groups: int
    observed: dict[str, int | float | str | None]


_OBSERVATIONS = TypeAdapter(list[_Observation])
_Numbers = tuple[dict[str, Any], dict[str, Any]]
"""The subject of numbers, and the numbers."""


def difference(release: Release, other: Release) -> dict[str, Any]:
    """Return the changes from one version of a line to another; a version follows its predecessor.

    Returns:
        `line`; `before` and `now`: the versions with their digests; `follows`: whether one names
        the other as the one that it continues; `rows`, `promises` and `accuracy`, each number as it
        was and is, None if it is not stated; `related_rows`: the same of the rows of a second
        table, by its name, empty without one; and for a composed version that follows the other
        `groups`: how many go on, are new, are shown no more, and have been left by somebody.

    Raises:
        InputError: where they are not two versions of one line.
    """
    before, now = _in_order(release, other)
    follows = now.declared.predecessor == digest_of(before)
    return {
        "line": now.declared.name,
        "before": _version(before),
        "now": _version(now),
        "follows": follows,
        "rows": _rows(before, now),
        "related_rows": _related_rows(before, now),
        "groups": _groups(before, now) if follows else None,
        "promises": _promises(before, now),
        "accuracy": _accuracy(before, now),
    }


def _in_order(release: Release, other: Release) -> tuple[Release, Release]:
    if release.declared.name != other.declared.name:
        names = f"{release.declared.name} and {other.declared.name}"
        raise InputError(
            f"{other.directory}: belongs to another line ({names}). Give two versions of one line"
        )
    if digest_of(release) == digest_of(other):
        raise InputError(
            f"{other.directory}: is the same version as {release.directory}. Give two "
            "different versions"
        )
    return (
        (other, release) if release.declared.predecessor == digest_of(other) else (release, other)
    )


def _version(release: Release) -> dict[str, str]:
    return {"version": release.directory.resolve().name, "digest": digest_of(release)}


def _pairs(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each number as it was and is, by its name."""
    names = dict.fromkeys((*before, *now))
    return {name: {"before": before.get(name), "now": now.get(name)} for name in names}


def _rows(before: Release, now: Release) -> dict[str, dict[str, Any]]:
    """Return the row counts that either version states."""
    counts = (before.declared.rows, now.declared.rows)
    names = dict.fromkeys(name for row_counts in counts for name in row_counts.model_dump())
    was, is_ = ({name: getattr(row_counts, name) for name in names} for row_counts in counts)
    return _pairs(was, is_)


def _related_rows(before: Release, now: Release) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the counts of the rows of a second table that either version states, by its name."""
    by_table: dict[str, list[dict[str, Any]]] = {}
    for side, release in enumerate((before, now)):
        if (counts := release.declared.related_rows) is not None:
            table = by_table.setdefault(release.declared.form.related_table, [{}, {}])
            table[side] = counts.model_dump()
    return {name: _pairs(*sides) for name, sides in by_table.items()}


def _groups(before: Release, now: Release) -> dict[str, int | None]:
    was, is_ = (_lineage(release) for release in (before, now))
    tells = not now.declared.form.declares
    return {
        "continued": is_.continued,
        "new": is_.new,
        "ended": was.continued + was.new - is_.continued,
        "left_by_somebody": is_.left if tells else None,
    }


def _lineage(release: Release) -> LineageTotals:
    """Return how many groups of a version go on, are new, and were left, over all its parts."""
    places = [release.directory / PARTS / part.name for part in release.declared.made_of]
    parts = map(open_release, places) if places else (release,)
    totals = [totals_of(ShownVersion.read(part).lineage) for part in parts]
    return LineageTotals(*(sum(counts) for counts in zip(*map(astuple, totals), strict=True)))


def _promises(before: Release, now: Release) -> list[dict[str, Any]]:
    """Return every promise of either version, with the observations of it in each."""
    sides = [_observations_of(release) for release in (before, now)]
    observations = [
        (promise, [_numbers_about(side, promise) for side in sides])
        for promise in _subjects_of(sides)
    ]
    return [
        {
            "promise": promise,
            "groups": {"before": was.get("groups"), "now": is_.get("groups")},
            "observed": _pairs(was.get("observed", {}), is_.get("observed", {})),
        }
        for promise, (was, is_) in observations
    ]


def _observations_of(release: Release) -> list[_Numbers]:
    """Return the manifest's statements about each promise.

    Raises:
        InputError: where it says nothing that is understood.
    """
    try:
        observations = _OBSERVATIONS.validate_python(release.manifest["sfumato"].get("observed"))
    except ValidationError:
        raise InputError(
            f"{release.directory}: {MANIFEST} does not contain the observations that a "
            "comparison needs. Release the line with current software, then compare "
            "those versions"
        ) from None
    return [
        (observation.promise, observation.model_dump(exclude={"promise"}))
        for observation in observations
    ]


def _accuracy(before: Release, now: Release) -> list[dict[str, Any]]:
    """Return the widths of bounds by workload, if the public record contains them."""
    sides = [_accuracy_of(release) for release in (before, now)]
    measurements = [
        (workload, [_numbers_about(side, workload) for side in sides])
        for workload in _subjects_of(sides)
    ]
    return [{**workload, "widths": _pairs(was, is_)} for workload, (was, is_) in measurements]


def _accuracy_of(release: Release) -> list[_Numbers]:
    """Return the measured workloads of a release, each with the widths of its bounds."""
    try:
        record = read_record(release.directory.resolve().parent)
    except SfumatoError:  # a file beside a release need not be a record
        return []
    versions = [v for v in record.versions.values() if v.digest == digest_of(release)]
    return [
        (
            {name: value for name, value in measured.items() if name not in _WIDTHS},
            {name: value for name, value in measured.items() if name in _WIDTHS},
        )
        for version in versions
        for measured in version.accuracy or []
    ]


def _subjects_of(sides: Sequence[Sequence[_Numbers]]) -> list[dict[str, Any]]:
    """Return the subjects of the numbers on either side, without repetition, in order."""
    subjects: list[dict[str, Any]] = []
    for subject, _ in (entry for side in sides for entry in side):
        if subject not in subjects:
            subjects.append(subject)
    return subjects


def _numbers_about(side: Sequence[_Numbers], subject: dict[str, Any]) -> dict[str, Any]:
    return next((numbers for other, numbers in side if other == subject), {})
