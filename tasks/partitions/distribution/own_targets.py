"""Each group's own distribution as its target, or another one that keeps the other promises.

A group whose values keep the promises keeps its own distribution, and shows its values as they are
grouped. Any other group gets the nearest target of one denominator, which
`tasks.partitions.targets.nearest` finds for promises about the frequency of values, for t-closeness
and for β-likeness; or the target with the least sum of ranges, of all denominators up to one (see
`tasks.partitions.targets.least`). If the sum of ranges of all groups is not smaller then, the
nearest targets are published. Groups are compared with the values of all rows. A release shows only
targets, so that readers see all rows as the mixture of the targets. If that differs from all rows,
groups are held to a smaller t or β, until the targets keep the promise beside their mixture.

A group's target depends only on its values.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.distribution.choices import (
    BESIDE_ALL,
    LeastChoice,
    NearestChoice,
    Solve,
    TargetChoice,
    at_smaller_limits,
)
from sfumato.tasks.partitions.distribution.with_targets import chances, declared_groups
from sfumato.tasks.partitions.partition import Partition, TargetDistributions
from sfumato.tasks.partitions.targets.distribution import whole
from sfumato.tasks.partitions.targets.least import RangeTree

_MOST_NODES = 1 << 23  # of all different targets together, at most: each has one for every value


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


@dataclass(frozen=True, eq=False)
class _Targets:
    """The targets of groups.

    Attributes:
        target: the index of each group's target (int64).
        weights: the targets, as whole-number weights of the column's values.
        limit: the limit that groups were held to, None if promises compare with nothing.
    """

    target: np.ndarray
    weights: Sequence[np.ndarray]
    limit: Decimal | None = None


def with_own_targets(
    partition: Partition,
    microdata: Microdata,
    promises: Sequence[PrivacyModel],
    denominator: int,
    tree_over: Callable[[Column], RangeTree],
) -> Partition:
    """Return the groups with targets of their own, if p-privacy asks for these.

    Otherwise the partition is returned as it is.

    Args:
        partition: the groups.
        microdata: their rows.
        promises: what is promised of declared distributions.
        denominator: the sum of a target's weights, for groups that cannot keep their own
            distribution; the largest one, if targets are chosen by the sum of ranges.
        tree_over: returns the tree of subdomains over a column's values.

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
    aims = _choose(own_groups, others, NearestChoice(denominator))
    facts = dict(partition.facts)
    if group_promises[0].with_least_ranges:
        aims, sums = _with_least_ranges(
            own_groups, others, LeastChoice(denominator, tree_over(column)), aims
        )
        facts |= sums
    distributions = TargetDistributions(
        column.name, aims.target, tuple(map(chances, aims.weights)), exact=True
    )
    facts |= _facts(own_groups, aims)
    return replace(partition, target_distributions=distributions, facts=facts)


def _choose(
    own_groups: _OwnGroups, promises: Sequence[PrivacyModel], choice: TargetChoice
) -> _Targets:
    """Return the targets of a choice that keep the promises.

    Raises:
        PromiseError: if there are none.
    """
    compared = [promise for promise in promises if type(promise) in BESIDE_ALL]
    if compared:
        return _beside_all(own_groups, compared[0], choice)
    return _aim(own_groups, promises, choice.by_ranks(promises, own_groups.totals))


def _with_least_ranges(
    own_groups: _OwnGroups, promises: Sequence[PrivacyModel], choice: LeastChoice, nearest: _Targets
) -> tuple[_Targets, dict[str, Any]]:
    """Return targets with the least sums of ranges, or the nearest ones, if these sum up to less.

    Returns:
        The targets, and the sums of ranges of all groups by either choice. If a least sum is not
        proven, it is listed with its lower bound.
    """
    least = _choose(own_groups, promises, choice)
    by_nearest, by_least = (
        sum(choice.tree.sum_of_ranges(own, weights) * times for own, weights, times in uses)
        for uses in (_uses(own_groups, nearest), _uses(own_groups, least))
    )
    facts: dict[str, Any] = {
        "sum of ranges, nearest targets": by_nearest,
        "sum of ranges, least targets": by_least,
    }
    unproven = [f"{group.cost} (at least {group.at_least})" for group in choice.unproven]
    if unproven:
        facts["sums of groups that may not be the least"] = unproven
    return (least if by_least < by_nearest else nearest), facts


def _uses(
    own_groups: _OwnGroups, targets: _Targets
) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Yield the different counts of groups with their target, and how many groups have both."""
    pairs = np.stack([own_groups.kind, targets.target])
    (kinds, numbers), times = np.unique(pairs, axis=1, return_counts=True)
    for kind, number, groups in zip(kinds.tolist(), numbers.tolist(), times.tolist(), strict=True):
        yield own_groups.kinds[kind], targets.weights[number], groups


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


def _beside_all(own_groups: _OwnGroups, promise: PrivacyModel, choice: TargetChoice) -> _Targets:
    """Return targets that keep a promise beside their mixture.

    Groups are held to smaller and smaller limits until the targets keep the promise.

    Raises:
        PromiseError: if no limit gives such targets.
    """
    sizes, totals = own_groups.groups.sizes, own_groups.totals
    for step, held_to in enumerate(at_smaller_limits(promise)):
        try:
            aims = _aim(own_groups, [held_to], choice.beside_all(held_to, totals))
        except PromiseError:
            if step:
                break
            raise
        declared = declared_groups(own_groups.column, sizes, aims.target, aims.weights)
        if promise.check(declared).holds:
            return replace(aims, limit=getattr(held_to, BESIDE_ALL[type(promise)]))
    raise PromiseError(
        f"{promise.name}: no targets with denominator {choice.denominator} keep it when compared "
        "with all groups; use a larger form.denominator, or larger groups"
    )


def _aim(own_groups: _OwnGroups, promises: Sequence[PrivacyModel], solve: Solve) -> _Targets:
    """Return the targets of groups, each one once.

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
    return _Targets(of_kind[own_groups.kind], weights)


def _facts(own_groups: _OwnGroups, targets: _Targets) -> dict[str, Any]:
    """Count groups by what their targets change, and measure how far these are from their own."""
    moved, own, without = Fraction(0), 0, 0
    for values, aimed, groups in _uses(own_groups, targets):
        rows, total = int(values.sum()), int(aimed.sum())
        off = Fraction(int(np.abs(total * values - rows * aimed).sum()), 2 * total)
        own += groups * (off == 0)
        without += groups * int(((values > 0) & (aimed == 0)).any())
        moved += groups * off
    facts: dict[str, Any] = {
        "targets": len(targets.weights),
        "groups that keep their own distribution": own,
        "groups with a value that their target lacks": without,
        "rows that targets move": float(moved),
    }
    return facts if targets.limit is None else {**facts, "held to": str(targets.limit)}
