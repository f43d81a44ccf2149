"""What changed between two versions of a line, in totals that the versions publish themselves.

Keep out whatever would have to be computed from rows: what it tells of people, nobody has judged.
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

_WIDTHS = frozenset({"lower_quartile", "mean", "median", "upper_quartile"})


class _Observation(BaseModel):
    """What a manifest says of a promise."""

    promise: dict[str, Any]
    groups: int
    observed: dict[str, int | float | str | None]


_OBSERVATIONS = TypeAdapter(list[_Observation])
_Told = tuple[dict[str, Any], dict[str, Any]]
"""What numbers are about, and the numbers."""


def difference(one: Release, other: Release) -> dict[str, Any]:
    """What changed from one version of a line to another; a version follows its predecessor.

    Returns:
        `line`; `before` and `now`: the versions with their digests; `follows`: whether one names
        the other as the one that it continues; `rows`, `promises` and `accuracy`, each number as it
        was and is, None where it is not told; and of a composed version that follows the other
        `groups`: how many go on, are new, are shown no more, and have been left by somebody.

    Raises:
        InputError: where they are not two versions of one line.
    """
    before, now = _ordered(one, other)
    follows = now.declared.predecessor == digest_of(before)
    return {
        "line": now.declared.name,
        "before": _version(before),
        "now": _version(now),
        "follows": follows,
        "rows": _rows(before, now),
        "groups": _groups(before, now) if follows else None,
        "promises": _promises(before, now),
        "accuracy": _accuracy(before, now),
    }


def _ordered(one: Release, other: Release) -> tuple[Release, Release]:
    if one.declared.name != other.declared.name:
        names = f"{one.declared.name} and {other.declared.name}"
        raise InputError(f"{other.directory}: is of another line ({names})")
    if digest_of(one) == digest_of(other):
        raise InputError(f"{other.directory}: is the same version as {one.directory}")
    return (other, one) if one.declared.predecessor == digest_of(other) else (one, other)


def _version(release: Release) -> dict[str, str]:
    return {"version": release.directory.resolve().name, "digest": digest_of(release)}


def _pairs(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each number as it was and is, by its name."""
    names = dict.fromkeys((*before, *now))
    return {name: {"before": before.get(name), "now": now.get(name)} for name in names}


def _rows(before: Release, now: Release) -> dict[str, dict[str, Any]]:
    """The counts that either version tells."""
    counts = (before.declared.rows, now.declared.rows)
    names = dict.fromkeys(name for one in counts for name in one.model_dump())
    was, is_ = ({name: getattr(one, name) for name in names} for one in counts)
    return _pairs(was, is_)


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
    """How many groups of a version go on, are new, and were left, in all its parts."""
    places = [release.directory / PARTS / part.name for part in release.declared.made_of]
    parts = map(open_release, places) if places else (release,)
    found = [totals_of(ShownVersion.of(one).lineage) for one in parts]
    return LineageTotals(*(sum(counts) for counts in zip(*map(astuple, found), strict=True)))


def _promises(before: Release, now: Release) -> list[dict[str, Any]]:
    """Every promise of either version, with what was observed where it was promised."""
    sides = [_observed(release) for release in (before, now)]
    found = [(promise, [_at(side, promise) for side in sides]) for promise in _either(sides)]
    return [
        {
            "promise": promise,
            "groups": {"before": was.get("groups"), "now": is_.get("groups")},
            "observed": _pairs(was.get("observed", {}), is_.get("observed", {})),
        }
        for promise, (was, is_) in found
    ]


def _observed(release: Release) -> list[_Told]:
    """What the manifest says of each promise.

    Raises:
        InputError: where it says nothing that is understood.
    """
    try:
        found = _OBSERVATIONS.validate_python(release.manifest["sfumato"].get("observed"))
    except ValidationError:
        raise InputError(
            f"{release.directory}: {MANIFEST} does not say what was observed"
        ) from None
    return [(one.promise, one.model_dump(exclude={"promise"})) for one in found]


def _accuracy(before: Release, now: Release) -> list[dict[str, Any]]:
    """The widths of bounds, workload by workload, where the public record has them."""
    sides = [_measured(release) for release in (before, now)]
    found = [(asked, [_at(side, asked) for side in sides]) for asked in _either(sides)]
    return [{**asked, "widths": _pairs(was, is_)} for asked, (was, is_) in found]


def _measured(release: Release) -> list[_Told]:
    """What was asked, and how wide the bounds were."""
    try:
        record = read_record(release.directory.resolve().parent)
    except SfumatoError:  # what stands beside a release need not be a record
        return []
    known = [v for v in record.versions.values() if v.digest == digest_of(release)]
    return [
        (
            {name: value for name, value in one.items() if name not in _WIDTHS},
            {name: value for name, value in one.items() if name in _WIDTHS},
        )
        for version in known
        for one in version.accuracy or []
    ]


def _either(sides: Sequence[Sequence[_Told]]) -> list[dict[str, Any]]:
    """What stands on either side, once, in order."""
    found: list[dict[str, Any]] = []
    for asked, _ in (one for side in sides for one in side):
        if asked not in found:
            found.append(asked)
    return found


def _at(side: Sequence[_Told], asked: dict[str, Any]) -> dict[str, Any]:
    return next((found for known, found in side if known == asked), {})
