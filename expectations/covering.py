"""Presence in groups that show of each quasi-identifier only which values they admit.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss. A group j of |G_j| rows covers every vector of the values that it admits; there are
N_j = Π_i m_ij of them, and one of them is present with probability p_j = |G_j| / N_j. A vector may
be covered by many groups: then the sum of p_j is the expected number of its records, and bounds
the probability that there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np

from expectations.groups import Groups

_UNIT = 2.0**-52
_NODES = 200_000  # of the search tree, before it is given up
_TIES = 100_000  # sets of groups that rounding cannot tell from the best


@dataclass(frozen=True, eq=False)
class Covering:
    """The groups with the admitted values of some quasi-identifiers.

    `admits[i]` has a row for each value of quasi-identifier i and a column for each group.
    """

    sizes: np.ndarray
    admits: tuple[np.ndarray, ...]

    def presence(self, group: int) -> Fraction:
        """p_j, at most 1."""
        vectors = prod(int(admitted[:, group].sum()) for admitted in self.admits)
        return min(Fraction(1), Fraction(int(self.sizes[group]), vectors))

    def least_presence(self, group: int) -> Fraction:
        """The least presence that any group made of rows of this one has by itself."""
        admitted = [int(values[:, group].sum()) for values in self.admits]
        rows = int(self.sizes[group])
        sizes = {min(m, rows) for m in admitted} | {rows}
        return min(Fraction(g, prod(min(g, m) for m in admitted)) for g in sizes)

    def rounded(self) -> np.ndarray:
        """p_j of every group as float64, off by a few units in the last place."""
        vectors = np.ones(len(self.sizes))
        for admitted in self.admits:
            vectors *= admitted.sum(axis=0)
        return np.minimum(self.sizes / vectors, 1.0)


@dataclass(frozen=True)
class Presence:
    """The largest presence of any vector, and the groups that cover it."""

    largest: Fraction
    groups: tuple[int, ...]


def covering(groups: Groups, quasi_identifiers: Sequence[str] | None) -> Covering | None:
    """The groups as they cover vectors; None where a quasi-identifier's values are not shown."""
    names = list(groups.covers) if quasi_identifiers is None else list(quasi_identifiers)
    if not names or not len(groups) or any(name not in groups.covers for name in names):
        return None
    admits = []
    for name in names:
        cover = groups.covers[name]
        admitted = np.zeros((cover.values, len(groups)), dtype=bool)
        admitted[cover.value, cover.group] = True
        admits.append(admitted)
    if not all(admitted.any(axis=0).all() for admitted in admits):
        return None
    return Covering(groups.sizes, tuple(admits))


def single(shown: Covering) -> Presence:
    """The largest presence in any one group."""
    rounded = shown.rounded()
    near = np.flatnonzero(rounded >= rounded.max() * (1 - 64 * _UNIT))
    best = max(near.tolist(), key=shown.presence)
    return Presence(shown.presence(best), (best,))


def combined(shown: Covering) -> Presence | None:
    """The largest sum of p_j, at most 1, over the groups that cover any one vector.

    All vectors that the tables admit are searched, by branch and bound over the quasi-identifiers.
    Sums are compared in floats rounded outwards; those that rounding cannot tell from the largest
    are computed exactly. None where the search was too large to be finished.
    """
    search = _Search(shown, shown.rounded())
    if not search.run():
        return None
    best = max(search.tied, key=lambda found: _total(shown, found))
    return Presence(_total(shown, best), best)


def _total(shown: Covering, groups: Sequence[int]) -> Fraction:
    return min(Fraction(1), sum(map(shown.presence, groups), Fraction(0)))


@dataclass(eq=False)
class _Search:
    """A depth-first search whose state is the best sum so far and the sets that may attain it."""

    shown: Covering
    weights: np.ndarray
    best: float = 0.0
    nodes: int = 0
    tied: set[tuple[int, ...]] = field(default_factory=set)
    sums: dict[tuple[int, ...], float] = field(default_factory=dict)

    def run(self) -> bool:
        """Search everything; whether it was finished."""
        by_size = sorted(range(len(self.shown.admits)), key=lambda i: len(self.shown.admits[i]))
        every = np.arange(len(self.weights))
        self._visit(every, by_size)
        self.tied = {found for found, total in self.sums.items() if self._may_win(total)}
        return self.nodes <= _NODES and len(self.sums) <= _TIES

    @property
    def _slack(self) -> float:
        return (len(self.weights) + 64) * _UNIT

    def _may_win(self, bound: float) -> bool:
        """Whether a sum of this rounded size could exceed or tie the best."""
        return bound * (1 + self._slack) >= self.best * (1 - self._slack)

    @property
    def _over(self) -> bool:
        certain = self.best * (1 - self._slack) >= 1
        return certain or self.nodes > _NODES or len(self.sums) > _TIES

    def _visit(self, candidates: np.ndarray, left: Sequence[int]) -> None:
        """Search the vectors whose chosen values all candidates admit; `left` is to be chosen."""
        self.nodes += 1
        weights = self.weights[candidates]
        if len(candidates) == 1 or not left:
            self._record(candidates, float(weights.sum()))
            return
        choices = {i: _undominated(self.shown.admits[i][:, candidates]) for i in left}
        totals = {i: admitted @ weights for i, admitted in choices.items()}
        if not self._may_win(min(float(total.max()) for total in totals.values())):
            return
        if len(left) == 2:
            self._finish(candidates, weights, *(choices[i] for i in left))
            return
        branch = min(left[:-2] or left, key=lambda i: float(totals[i].max()))
        rest = [i for i in left if i != branch]
        for value in np.argsort(-totals[branch]).tolist():
            if self._over or not self._may_win(float(totals[branch][value])):
                return
            self._visit(candidates[choices[branch][value]], rest)

    def _finish(
        self, candidates: np.ndarray, weights: np.ndarray, first: np.ndarray, second: np.ndarray
    ) -> None:
        """The last two quasi-identifiers at once, as a product of matrices."""
        sums = (first * weights) @ second.T.astype(np.float64)
        most = max(float(sums.max()), self.best)
        near = np.argwhere(sums * (1 + self._slack) >= most * (1 - self._slack))
        for one, other in near[np.argsort(-sums[near[:, 0], near[:, 1]])]:
            self._record(candidates[first[one] & second[other]], float(sums[one, other]))
            if self._over:
                return

    def _record(self, groups: np.ndarray, total: float) -> None:
        if self._may_win(total):
            self.best = max(self.best, total)
            self.sums[tuple(groups.tolist())] = total


def _undominated(admitted: np.ndarray) -> np.ndarray:
    """The rows that some group admits, but those of which all groups admit another one, too."""
    rows = admitted[admitted.any(axis=1)]
    together = rows.astype(np.float32) @ rows.T.astype(np.float32)
    alone = together.diagonal()
    within = together == alone[:, None]
    smaller = alone[:, None] < alone[None, :]
    later = np.arange(len(rows))[:, None] > np.arange(len(rows))[None, :]
    dominated = (within & (smaller | ((alone[:, None] == alone[None, :]) & later))).any(axis=1)
    return np.asarray(rows[~dominated])


@dataclass(frozen=True)
class Readings:
    """The presence of given vectors by three readings, each at most the next (float64).

    `one_record`: a person has at most one record; `any_record`: 1 - Π (1 - p_j); `expected`:
    min(1, Σ p_j).
    """

    one_record: np.ndarray
    any_record: np.ndarray
    expected: np.ndarray


def presence_of(shown: Covering, vectors: Sequence[np.ndarray]) -> Readings:
    """The presence of vectors, given as one array of codes for each quasi-identifier in order.

    A code below 0 is of a value that no group admits.
    """
    weights = shown.rounded()
    found = [_readings(shown, weights, part) for part in _parts(vectors, len(weights))]
    joined = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return Readings(*joined) if found else Readings(np.zeros(0), np.zeros(0), np.zeros(0))


def _parts(vectors: Sequence[np.ndarray], groups: int) -> list[list[np.ndarray]]:
    step = max(1, 20_000_000 // max(groups, 1))
    return [[v[i : i + step] for v in vectors] for i in range(0, len(vectors[0]), step)]


def _readings(
    shown: Covering, weights: np.ndarray, vectors: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    covered = np.ones((len(vectors[0]), len(weights)), dtype=bool)
    for admitted, codes in zip(shown.admits, vectors, strict=True):
        known = (codes >= 0) & (codes < len(admitted))
        covered &= admitted[np.where(known, codes, 0)] & known[:, None]
    surely = (covered & (weights >= 1)).any(axis=1)
    unsure = np.where(weights < 1, weights, 0.0)
    odds = covered @ (unsure / (1 - unsure))
    one = np.where(surely, 1.0, odds / (1 + odds))
    any_ = np.where(surely, 1.0, -np.expm1(covered @ np.log1p(-unsure)))
    return one, any_, np.minimum(1.0, covered @ weights)
