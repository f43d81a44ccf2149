"""Each group's own distribution as its target, or the nearest one that keeps the other promises.

A group whose values keep the promises keeps its own distribution, and shows its values as they are
grouped. Any other group gets the nearest target of one denominator, which
`tasks.partitions.targets.nearest` finds for promises about the frequency of values, for t-closeness
and for β-likeness. Groups are compared with the values of all rows. A release shows only targets,
so that readers see all rows as the mixture of the targets. If that differs from all rows, groups
are held to a smaller t or β, until the targets keep the promise beside their mixture.

A group's target depends only on its values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.distribution.with_targets import chances, declared_groups
from sfumato.tasks.partitions.partition import Partition, TargetDistributions
from sfumato.tasks.partitions.targets.distribution import whole
from sfumato.tasks.partitions.targets.nearest import (
    as_groups,
    nearest_capped,
    nearest_ranked,
    nearest_within,
    ways_of_writing,
)

_STEPS = 16  # limits that are tried, at most: all of t or β, 15/16 of it, 14/16, …
_MOST_NODES = 1 << 23  # of all different targets together, at most: each has one for every value

Solve = Callable[[np.ndarray], np.ndarray | None]
"""Returns the weights of the nearest target, given the count of each value in a group."""


@dataclass(frozen=True, eq=False)
class _OwnGroups:
    """The groups with their own values.

    Attributes:
        column: the sensitive attribute.
        groups: the groups with its counts.
        kinds: the different counts of values that groups have (int64, one per value each).
        kind: the index in `kinds` of each group's counts (int64, one per group).
    """

    column: Column
    groups: Groups
    kinds: tuple[np.ndarray, ...]
    kind: np.ndarray

    @property
    def totals(self) -> np.ndarray:
        """The number of all rows with each value (int64)."""
        return self.groups.counts_of(self.column.name).totals


def with_nearest_targets(
    partition: Partition, microdata: Microdata, promises: Sequence[PrivacyModel], denominator: int
) -> Partition:
    """Return the groups with targets of their own, if p-privacy asks for these.

    Otherwise the partition is returned as it is.

    Args:
        partition: the groups.
        microdata: their rows.
        promises: what is promised of declared distributions.
        denominator: the sum of a target's weights, for groups that cannot keep their own
            distribution.

    Raises:
        PromiseError: if rows are suppressed, values are missing, or no target of the
            denominator keeps the promises.
    """
    group_promises = [p for p in promises if isinstance(p, PPrivacy) and p.of_groups]
    if not group_promises:
        return partition
    column = microdata[str(group_promises[0].sensitive)]
    if column.has_null:
        raise PromiseError(f"p-privacy: {column.name!r} has missing values; use `nulls: drop-row`")
    if partition.suppressed:
        raise PromiseError(
            "p-privacy: targets would reveal values of suppressed rows; use a partition that "
            "suppresses no rows"
        )
    own_groups = _count_groups(partition, column)
    others = [promise for promise in promises if not isinstance(promise, PPrivacy)]
    compared = [promise for promise in others if type(promise) in BESIDE_ALL]
    if compared:
        target, weights, held_to = _beside_all(own_groups, compared[0], denominator)
    else:
        target, weights = _aim(own_groups, others, _ranked_solver(own_groups, others, denominator))
        held_to = None
    aims = TargetDistributions(column.name, target, tuple(map(chances, weights)), exact=True)
    facts = {**partition.facts, **_facts(own_groups, target, weights)}
    if held_to is not None:
        facts["held to"] = str(held_to)
    return replace(partition, target_distributions=aims, facts=facts)


def _count_groups(partition: Partition, column: Column) -> _OwnGroups:
    """Return the groups with the counts of a column's values.

    Raises:
        PromiseError: if all different targets together would have too many nodes.
    """
    number = int(partition.group.max(initial=-1)) + 1
    groups = count(partition.group, number, {column.name: column.counted_codes()})
    counts = groups.counts_of(column.name)
    places: dict[bytes, int] = {}
    kinds: list[np.ndarray] = []
    kind = np.empty(number, dtype=np.int64)
    for group, (start, end) in enumerate(zip(counts.starts, counts.ends, strict=True)):
        pairs = np.stack([counts.value[start:end], counts.count[start:end]])
        place = places.setdefault(pairs.tobytes(), len(kinds))
        if place == len(kinds):
            own = np.zeros(len(column.values), dtype=np.int64)
            own[pairs[0]] = pairs[1]
            kinds.append(own)
            _require_room(len(kinds), len(own))
        kind[group] = place
    return _OwnGroups(column, groups, tuple(kinds), kind)


def _require_room(targets: int, values: int) -> None:
    """Refuse targets with more published nodes than anybody reads."""
    if targets * values > _MOST_NODES:
        raise PromiseError(
            f"p-privacy: more than {_MOST_NODES // values} targets over {values} values would have "
            "to be published; use larger groups, or round the values"
        )


def _beside_all(
    own_groups: _OwnGroups, promise: PrivacyModel, denominator: int
) -> tuple[np.ndarray, list[np.ndarray], Decimal]:
    """Return targets that keep a promise beside their mixture, and the limit that groups met.

    Groups are held to smaller and smaller limits until the targets keep the promise.

    Raises:
        PromiseError: if no limit gives such targets.
    """
    sizes, totals = own_groups.groups.sizes, own_groups.totals
    name, solver = BESIDE_ALL[type(promise)]
    for step in range(_STEPS):
        limit: dict[str, Any] = {name: getattr(promise, name) * (_STEPS - step) / _STEPS}
        held_to = replace(promise, **limit)
        try:
            target, weights = _aim(own_groups, [held_to], solver(held_to, totals, denominator))
        except PromiseError:
            if step:
                break
            raise
        declared = declared_groups(own_groups.column, sizes, target, weights)
        if promise.check(declared).holds:
            return target, weights, limit[name]
    raise PromiseError(
        f"{promise.name}: no targets with denominator {denominator} keep it when compared with all "
        "groups; use a larger form.denominator, or larger groups"
    )


def _closeness_solver(promise: Any, totals: np.ndarray, denominator: int) -> Solve:
    ordered, t = promise.distance == "ordered", Fraction(promise.t)

    def solve(own: np.ndarray) -> np.ndarray | None:
        return nearest_within(own, totals, denominator, t, ordered=ordered)

    return solve


def _likeness_solver(promise: Any, totals: np.ndarray, denominator: int) -> Solve:
    """Return the solver for β-likeness: it caps each value's weight at the largest allowed one."""
    caps, rows = np.zeros_like(totals), int(totals.sum())
    for value, common in enumerate(totals.tolist()):
        while caps[value] < denominator and promise.allows(
            Fraction(int(caps[value]) + 1, denominator), Fraction(common, rows)
        ):
            caps[value] += 1

    def solve(own: np.ndarray) -> np.ndarray | None:
        return nearest_capped(own, caps, denominator)

    return solve


BESIDE_ALL: Mapping[type[PrivacyModel], tuple[str, Callable[[Any, np.ndarray, int], Solve]]] = {
    TCloseness: ("t", _closeness_solver),
    BetaLikeness: ("beta", _likeness_solver),
}
"""For promises that compare with all rows: their limit's name, and the solver of targets."""


def _ranked_solver(
    own_groups: _OwnGroups, promises: Sequence[PrivacyModel], denominator: int
) -> Solve:
    """Return the solver for promises that depend only on the frequencies of a group's values."""
    ways, totals = ways_of_writing(denominator), own_groups.totals
    judged = as_groups(ways, own_groups.column.name)
    for promise in promises:
        keeps = ~promise.failing(judged) if len(ways) else np.zeros(0, dtype=bool)
        ways, judged = ways[keeps], as_groups(ways[keeps], own_groups.column.name)

    def solve(own: np.ndarray) -> np.ndarray | None:
        return nearest_ranked(own, ways, totals)

    return solve


def _aim(
    own_groups: _OwnGroups, promises: Sequence[PrivacyModel], solve: Solve
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the index of each group's distribution (int64), and the distinct distributions.

    A group that keeps the promises gets its own distribution, any other what `solve` returns.

    Raises:
        PromiseError: if a group has no target that keeps the promises.
    """
    fails = np.zeros(len(own_groups.groups), dtype=bool)
    for promise in promises:
        fails |= promise.failing(own_groups.groups)
    broken = np.zeros(len(own_groups.kinds), dtype=bool)
    broken[own_groups.kind[fails]] = True
    places: dict[tuple[int, ...], int] = {}
    weights: list[np.ndarray] = []
    of_kind = np.empty(len(own_groups.kinds), dtype=np.int64)
    for place, own in enumerate(own_groups.kinds):
        aimed = solve(own) if broken[place] else own
        if aimed is None:
            names = ", ".join(promise.name for promise in promises)
            raise PromiseError(
                f"{names}: no target with this denominator keeps it; use a larger form.denominator"
            )
        reduced = whole(aimed.tolist())
        of_kind[place] = places.setdefault(tuple(reduced.tolist()), len(weights))
        if of_kind[place] == len(weights):
            weights.append(reduced)
    return of_kind[own_groups.kind], weights


def _facts(
    own_groups: _OwnGroups, target: np.ndarray, weights: Sequence[np.ndarray]
) -> dict[str, int | float]:
    """Count groups that keep their own distribution, and measure how far other targets are."""
    moved, own = Fraction(0), 0
    for group, kind in enumerate(own_groups.kind.tolist()):
        values, aimed = own_groups.kinds[kind], weights[int(target[group])]
        rows, total = int(values.sum()), int(aimed.sum())
        off = Fraction(int(np.abs(total * values - rows * aimed).sum()), 2 * total)
        own += off == 0
        moved += off
    return {
        "targets": len(weights),
        "groups that keep their own distribution": own,
        "rows that targets move": float(moved),
    }
