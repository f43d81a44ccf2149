"""Choices of a group's target: the nearest one that keeps the promises, or that of least ranges.

A choice returns the function that gives a group its target, for promises about the frequency of
values and for those that compare a group with all rows. Both depend on nothing but the group's
values and those of all rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.partitions.targets.burdens import Burdens, burdens_of
from sfumato.tasks.partitions.targets.least import LeastTarget, RangeTree, least_target
from sfumato.tasks.partitions.targets.nearest import (
    as_groups,
    nearest_capped,
    nearest_ranked,
    nearest_within,
    ways_of_writing,
)

Solve = Callable[[np.ndarray], np.ndarray | None]
"""Returns the weights of a target, given the count of each value in a group; None without one."""

BESIDE_ALL: Mapping[type[PrivacyModel], str] = {TCloseness: "t", BetaLikeness: "beta"}
"""The name of the limit of each promise that compares a group with all rows."""
_STEPS = 16  # limits that are tried, at most: all of t or β, 15/16 of it, 14/16, …


def at_smaller_limits(promise: PrivacyModel) -> Iterator[PrivacyModel]:
    """Yield a promise of `BESIDE_ALL` at its own limit, and then at smaller and smaller ones."""
    name = BESIDE_ALL[type(promise)]
    for step in range(_STEPS):
        limit: dict[str, Any] = {name: getattr(promise, name) * (_STEPS - step) / _STEPS}
        yield replace(promise, **limit)


def targets_that_keep(
    promises: Sequence[PrivacyModel], weights: np.ndarray, totals: np.ndarray
) -> np.ndarray:
    """Mark the distributions that keep promises (bool, one each).

    Args:
        promises: about the frequency of values, or one that compares with all rows.
        weights: whole-number weights with one sum (int64, distributions x values).
        totals: how often all rows have each value (int64).
    """
    if not len(weights) or type(promises[0]) not in BESIDE_ALL:
        return _keep_all(promises, weights)
    burdens = burdens_of(promises, int(weights[0].sum()), totals.tolist())
    return np.array([burdens.allow(row) for row in weights.tolist()], dtype=bool)


class TargetChoice(Protocol):
    """A choice of targets."""

    @property
    def denominator(self) -> int:
        """The sum of a target's weights, or the largest one."""
        ...

    def by_ranks(self, promises: Sequence[PrivacyModel], totals: np.ndarray) -> Solve:
        """Return the solver for promises that depend only on how frequent a group's values are.

        Args:
            promises: at least one.
            totals: how often all rows have each value (int64).
        """
        ...

    def beside_all(self, promise: PrivacyModel, totals: np.ndarray) -> Solve:
        """Return the solver for a promise that compares a group with all rows."""
        ...


@dataclass(frozen=True)
class NearestChoice:
    """The nearest target of one denominator."""

    denominator: int

    def by_ranks(self, promises: Sequence[PrivacyModel], totals: np.ndarray) -> Solve:
        """Return the solver; see `TargetChoice`."""
        ways = ways_of_writing(self.denominator)
        ways = ways[_keep_all(promises, ways)]
        return lambda own: nearest_ranked(own, ways, totals)

    def beside_all(self, promise: PrivacyModel, totals: np.ndarray) -> Solve:
        """Return the solver; see `TargetChoice`."""
        return _NEAREST_BESIDE_ALL[type(promise)](promise, totals, self.denominator)


def _keep_all(promises: Sequence[PrivacyModel], weights: np.ndarray) -> np.ndarray:
    """Mark the targets that keep all promises (bool), given their weights (targets x values)."""
    keeps = np.ones(len(weights), dtype=bool)
    for promise in promises:
        if keeps.any():
            keeps[keeps] = ~promise.failing(as_groups(weights[keeps], str(promise.sensitive)))
    return keeps


def _nearest_close(promise: Any, totals: np.ndarray, denominator: int) -> Solve:
    ordered, t = promise.distance == "ordered", Fraction(promise.t)
    return lambda own: nearest_within(own, totals, denominator, t, ordered=ordered)


def _nearest_alike(promise: Any, totals: np.ndarray, denominator: int) -> Solve:
    """Return the solver for β-likeness: it caps each value's weight at the largest allowed one."""
    caps, rows = np.zeros_like(totals), int(totals.sum())
    for value, common in enumerate(totals.tolist()):
        while caps[value] < denominator and promise.allows(
            Fraction(int(caps[value]) + 1, denominator), Fraction(common, rows)
        ):
            caps[value] += 1
    return lambda own: nearest_capped(own, caps, denominator)


_NEAREST_BESIDE_ALL: Mapping[type[PrivacyModel], Callable[[Any, np.ndarray, int], Solve]] = {
    TCloseness: _nearest_close,
    BetaLikeness: _nearest_alike,
}


@dataclass(frozen=True, eq=False)
class LeastChoice:
    """The target with the least sum of ranges, of all denominators up to one.

    Attributes:
        denominator: the largest denominator.
        tree: the tree of subdomains over the column's values.
        unproven: targets of groups whose sum was not proven to be the least.
    """

    denominator: int
    tree: RangeTree
    unproven: list[LeastTarget] = field(default_factory=list, init=False)

    def by_ranks(self, promises: Sequence[PrivacyModel], totals: np.ndarray) -> Solve:
        """Return the solver; see `TargetChoice`."""
        return self._solver(promises, totals, lambda weights: _keep_all(promises, weights))

    def beside_all(self, promise: PrivacyModel, totals: np.ndarray) -> Solve:
        """Return the solver; see `TargetChoice`."""
        return self._solver([promise], totals, None)

    def _solver(
        self,
        promises: Sequence[PrivacyModel],
        totals: np.ndarray,
        keep: Callable[[np.ndarray], np.ndarray] | None,
    ) -> Solve:
        def solve(own: np.ndarray) -> np.ndarray | None:
            best = least_target(self.tree, own, self.denominator, burdens, keep)
            if best is None:
                return None
            if best.at_least < best.cost:
                self.unproven.append(best)
            return best.weights

        def burdens(denominator: int) -> Burdens:
            return burdens_of(promises, denominator, totals[self.tree.order].tolist())

        return solve
