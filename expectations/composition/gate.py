"""The gate: it decides from counts whether versions together keep what each of them promised.

An attacker who knows that values mostly stay the same would learn a value from groups that overlap.
If the values that are possible before and after are disjoint, the attacker learns only that the
value changed.

The gate judges a line of versions of the same people one version after the other, each with the
state that the versions before it left:

    atoms = None
    for version in line:
        verdict = gate(atoms, version, promises)
        if isinstance(verdict, Refused):
            raise PromiseError(f"versions: composed is broken: {verdict}")
        atoms = verdict.atoms

where a version is

    Shown(
        person=np.array([0, 1, 2, 3]),  # ids over all versions and lines, see `Shown`
        group=np.array([0, 0, 0, 0]),  # published group of each
        groups=seen,  # Groups of the published tables, one entry per published group
        live=np.array([True, True, True, False]),  # the fourth has a vacant value
        slot=None,  # or the slot of each, where groups may be mixed anew and only sets hold
    )

Three theorems say what versions reveal: A (see `atoms`), S and C (see `slots`). People and groups
to which Theorem A applies make *pieces* and *rests* of former atoms. Groups that it does not
explain, with all groups and atoms that people connect with them, are *mixtures*, to which S or C
must apply.

The state is immutable: a verdict that is not published is forgotten with its atoms. What each
version must keep by itself, k-anonymity above all, is judged with the release.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.expectations.composition.atoms import MOST_CUTS, Pairs, pairs_of, parts_of
from sfumato.expectations.composition.slots import (
    Mixtures,
    are_alike,
    are_sets,
    have_slots,
    mixtures_of,
    with_slots,
)
from sfumato.expectations.composition.sparse import (
    columns_of,
    covers_of,
    entries_of,
    join_groups,
    same_rows,
    take_groups,
)
from sfumato.expectations.composition.state import (
    Atoms,
    Refused,
    Shown,
    as_counts,
    no_atoms,
    number,
    why_unreadable,
    with_room,
)
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.exact import largest
from sfumato.expectations.shared.numbers import plain
from sfumato.expectations.shared.sorting import distinct

if TYPE_CHECKING:
    from sfumato.expectations.composition.renewal import Renewal

Route = Literal["A", "S", "C"]
"""The theorem by which versions keep their promises together."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts that reveal something about people after a version.

    Attributes:
        now: the atoms of the people whom this version shows, and the groups of those who were
            mixed.
        atom: the atom of each of `now` (int64, one per group), -1 for those groups.
        new: the atoms that no earlier version revealed (int64).
        rests: the new atoms that this version does not show (int64).
        atoms: the state after this version.
    """

    now: Groups
    atom: np.ndarray
    new: np.ndarray
    rests: np.ndarray
    atoms: Atoms


def words(promise: PrivacyModel) -> str:
    """Return a promise with its numbers, `distinct l-diversity (l = 3)`."""
    numbers = ", ".join(f"{name} = {plain(n)}" for name, n in promise.required().items())
    return f"{promise.title} ({numbers})"


def breaches(evidence: Evidence, promises: Sequence[PrivacyModel]) -> Iterator[tuple[str, int]]:
    """Yield each broken promise in words, and how many groups of people break it."""
    for promise in promises:
        # some promises are about all atoms at once, others about each
        if promise.judged_jointly and not promise.check(evidence.atoms.groups).holds:
            yield f"all versions together break {words(promise)}", len(evidence.atoms)
        if (over_versions := promise.over_versions) is None:
            continue
        failing = over_versions.failing(evidence.now)
        atoms = np.zeros(len(evidence.atoms), dtype=bool)
        atoms[evidence.atom[failing & (evidence.atom >= 0)]] = True
        _mark_earlier(atoms, over_versions, evidence)
        batches = int(atoms[evidence.new].sum())
        others = int(atoms.sum()) - batches + int((failing & (evidence.atom < 0)).sum())
        if batches:
            who = f"{number(batches, 'group')} of people who came or left together"
            yield f"{who} {_break(batches)} {words(promise)}", batches
        if others:
            yield f"{number(others, 'group')} {_break(others)} {words(promise)}", others


def _mark_earlier(failing: np.ndarray, promise: PrivacyModel, evidence: Evidence) -> None:
    """Mark the new atoms that break a promise among everything that an earlier version showed."""
    atoms = evidence.atoms
    if not promise.compares_with_all:
        if len(evidence.rests):
            failing[evidence.rests] |= promise.failing(take_groups(atoms.groups, evidence.rests))
        return
    for version, in_version in enumerate(atoms.showing[:-1]):
        rows = evidence.new[in_version[evidence.new]]
        if len(rows):
            failing[rows] |= promise.failing(_among_all(atoms, rows, version))[: len(rows)]


def _among_all(atoms: Atoms, rows: np.ndarray, version: int) -> Groups:
    """Return some atoms that a version showed, and the rest of it as one more group."""
    some = take_groups(atoms.groups, rows)
    whole = take_groups(atoms.versions, np.array([version]))
    others = Groups(
        whole.sizes - some.rows,
        {name: _subtract(c, some.sensitive[name]) for name, c in whole.sensitive.items()},
    )
    return join_groups([some, others], some) if others.rows else some


def _subtract(whole: Counts, some: Counts) -> Counts:
    """Return the counts of one group, less those of all groups of `some`."""
    remaining = whole.count - some.totals[whole.value]
    positive = remaining > 0
    return replace(
        whole, group=whole.group[positive], value=whole.value[positive], count=remaining[positive]
    )


def _break(groups: int) -> str:
    return "breaks" if groups == 1 else "break"


def overlapping_units(atoms: Atoms, units: np.ndarray) -> int:
    """Count the units with two atoms that share a possible value.

    Args:
        atoms: the state.
        units: the unit of each person (int64, one per id): an episode is a person of its own.
    """
    ids = np.flatnonzero(atoms.atom_of[: len(units)] >= 0)
    several = np.bincount(units[ids])[units[ids]] > 1 if len(ids) else ids
    person = ids[several.astype(bool)]
    overlaps = [np.array([], dtype=np.int64)]
    for counts in atoms.groups.sensitive.values():
        entries, place = entries_of(counts, atoms.atom_of[person])
        key = units[person][place] * max(counts.values, 1) + counts.value[entries]
        possible, times = np.unique(key, return_counts=True)
        overlaps.append(possible[times > 1] // max(counts.values, 1))
    return len(distinct(np.concatenate(overlaps)))


@dataclass(frozen=True, eq=False)
class Passed:
    """Verdict that versions keep their promises together.

    Attributes:
        route: by which theorem: atoms (A), signatures (S) or slots (C); the weakest where people
            who have nothing to do with one another take several.
        atoms: the state after this version.
        judged: the counts about the people whom this version shows.
        fewest: by attribute, the fewest values that are possible of anybody here.
        likeliest: by attribute, the largest posterior of anybody's value here; None on route C.
    """

    route: Route
    atoms: Atoms
    judged: Groups
    fewest: Mapping[str, int]
    likeliest: Mapping[str, Fraction | None]


def gate(
    before: Atoms | None,
    version: Shown,
    promises: Sequence[PrivacyModel],
    units: np.ndarray | None = None,
) -> Passed | Refused:
    """Judge a version together with those before.

    Args:
        before: the state after the last version, None before the first.
        version: the version. With several sensitive attributes, these are shuffled independently;
            those shuffled together are one, whose values are tuples.
        promises: what is promised of these attributes.
        units: the unit of each person (int64, one per id), where a unit may come back as another
            person with another value; None if nobody does.

    Returns:
        The state after the version, if the versions keep their promises together; otherwise the
        reason why they do not.
    """
    past = no_atoms(version.groups) if before is None else before
    if unreadable := why_unreadable(past, version, promises):
        return unreadable
    pairs = pairs_of(past, with_room(past.atom_of, version), version)
    mixtures = mixtures_of(pairs, len(past), _broken(past, pairs))
    sets = are_sets(past, version.groups, mixtures)
    if refusal := _refuse_unexplained(past, version, pairs, mixtures, sets, promises):
        return refusal
    parts = parts_of(past, version, pairs, mixtures.group < 0)
    if parts.gone.any():
        return _refusal(
            "{} with other sensitive values than in earlier versions", parts.gone, version
        )
    if refusal := _refuse_redrawn(past, version, pairs):
        return refusal
    from sfumato.expectations.composition.renewal import Renewal  # first versions need none

    renewal = Renewal(past, version, pairs, parts, mixtures)
    if version.groups.subdomains and not renewal.is_plain():
        return Refused("published ranges are not of the same people as in earlier versions", 0, 0)
    # all that the versions reveal is known now; the promises are judged on it
    evidence = _evidence_after(renewal, version, mixtures)
    return _judge(evidence, promises, units) or _passed_verdict(evidence, _route(sets))


def _broken(before: Atoms, pairs: Pairs) -> np.ndarray:
    """Mark the groups that Theorem A does not explain (bool, one per group)."""
    broken = pairs.cuts > MOST_CUTS
    old = pairs.atom >= 0
    broken[pairs.group[old][before.mixed[pairs.atom[old]]]] = True
    return np.asarray(broken)


def _refuse_unexplained(
    before: Atoms,
    version: Shown,
    pairs: Pairs,
    mixtures: Mixtures,
    sets: np.ndarray,
    promises: Sequence[PrivacyModel],
) -> Refused | None:
    """Refuse groups that no theorem explains; `sets` marks the mixtures that Theorem S explains.

    Theorem C says nothing of how likely values are, so it counts only if all promises need no more
    than the possible values.
    """
    if sets.all():
        return None
    slots = np.zeros(len(mixtures), dtype=bool)
    if all(p.by_candidates for p in (q.over_versions for q in promises) if p is not None):
        slots = are_alike(before, version.groups, mixtures)
        slots &= have_slots(before, version, pairs, mixtures, with_slots(before, version))
    wrong = np.append(~(sets | slots), False)[mixtures.group] & _broken(before, pairs)
    if not wrong.any():
        return None
    verb = "cuts" if wrong.sum() == 1 else "cut"
    return _refusal(f"{{}} {verb} two groups of earlier versions", wrong, version)


def _refuse_redrawn(before: Atoms, version: Shown, pairs: Pairs) -> Refused | None:
    """Refuse continued groups that admit other values of quasi-identifiers than before."""
    former, now = covers_of(before.groups), covers_of(version.groups)
    whole = np.flatnonzero(pairs.whole)
    wrong = np.zeros(len(version.groups), dtype=bool)
    for name in former.keys() & now.keys():
        group, atom = pairs.group[whole], pairs.atom[whole]
        wrong[group[~same_rows(now[name], group, former[name], atom)]] = True
    if not wrong.any():
        return None
    return _refusal("{} with other quasi-identifiers than in earlier versions", wrong, version)


def _evidence_after(renewal: "Renewal", version: Shown, mixtures: Mixtures) -> Evidence:
    """Return the evidence: groups that are atoms as they were published, and the rest as counts."""
    atoms = renewal.atoms()
    new = np.append(renewal.rests, renewal.pieces)
    if renewal.is_plain():
        atom = np.zeros(len(version.groups), dtype=np.int64)
        atom[version.group] = atoms.atom_of[version.person]
        return Evidence(version.groups, atom, new, renewal.rests, atoms)
    here = np.flatnonzero(atoms.showing[-1] & ~atoms.mixed)
    like = as_counts(version)
    mixed = np.flatnonzero(mixtures.group >= 0)
    now = join_groups([take_groups(atoms.groups, here), take_groups(like, mixed)], like)
    atom = np.append(here, np.full(len(mixed), -1))
    return Evidence(now, atom, new, renewal.rests, atoms)


def _judge(
    evidence: Evidence, promises: Sequence[PrivacyModel], units: np.ndarray | None
) -> Refused | None:
    reasons = list(breaches(evidence, promises))
    if units is not None and (several := overlapping_units(evidence.atoms, units)):
        reasons.append((f"{number(several, 'unit')} may have kept a value that changed", several))
    if not reasons:
        return None
    return Refused("; ".join(reason for reason, _ in reasons), sum(n for _, n in reasons), 0)


def _passed_verdict(evidence: Evidence, route: Route) -> Passed:
    counts = columns_of(evidence.now)
    return Passed(
        route,
        evidence.atoms,
        evidence.now,
        {name: int(c.distinct.min(initial=c.values)) for name, c in counts.items()},
        {name: None if route == "C" else _likeliest(c) for name, c in counts.items()},
    )


def _likeliest(counts: Counts) -> Fraction | None:
    return largest(counts.largest, np.add.reduceat(counts.count, counts.starts))


def _route(sets: np.ndarray) -> Route:
    if not len(sets):
        return "A"
    return "S" if sets.all() else "C"


def _refusal(reason: str, wrong: np.ndarray, version: Shown) -> Refused:
    groups = int(wrong.sum())
    return Refused(reason.format(number(groups, "group")), groups, int(wrong[version.group].sum()))
