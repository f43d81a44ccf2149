"""The largest presence of any vector when all groups that cover it are joined.

A vector has one value of each quasi-identifier. A group j covers all vectors of values that it
admits, each with the presence p_j; see `expectations.groups.covering`.

If some groups admit values of a quasi-identifier that the others do not, none of them covers a
vector that one of the others covers. Such sets are the components of the graph that joins groups
with the values that they admit; the next quasi-identifier then splits each set again. Groups that
were made by cutting a table by values end up in sets of their own, in whatever order it was cut.

Groups that cover no vector in common are separated first. Among the others branch and bound goes
over the quasi-identifiers, in floats rounded outwards. What floats leave open is decided in
fractions, and a search that grows too large is given up, so that nothing unproven is promised.

Source: see `expectations.groups.covering`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.covering import Covering, Presence, single
from sfumato.expectations.groups.groups import Cover

_ROUNDS = 1_000  # through all quasi-identifiers
_TINY = Fraction(1, 2**900)  # below it floats lose digits
_UNIT = 2.0**-52  # the relative distance of floats
_NODES = 500_000  # of the search tree, before it is given up
_RECORDS = 1_000_000  # vectors that rounding cannot tell from the best
_TIES = 20_000  # different sums that rounding cannot tell from the largest
_CELLS = 1_000_000  # of a dense matrix
_CHOICES = 512  # values of a quasi-identifier that are compared pairwise


def clusters(coverage: Covering) -> np.ndarray:
    """Number the groups so that those with different numbers cover no vector in common.

    Groups with the same number may or may not cover one in common.

    Returns:
        int64, one per group.
    """
    cluster = np.zeros(len(coverage.sizes), dtype=np.int64)
    for _ in range(_ROUNDS):
        before = cluster.max()
        for cover in coverage.covers:
            cluster = _split(cluster, cover)
        if cluster.max() == before:
            break
    return cluster


def _split(cluster: np.ndarray, cover: Cover) -> np.ndarray:
    """Renumber the groups from 0, so that groups not connected by values get different numbers."""
    unsure = np.bincount(cluster)[cluster] > 1
    unsettled = unsure[cover.group]
    group, value = cover.group[unsettled], cover.value[unsettled]
    node, nodes = dense(cluster[group] * cover.values + value)
    from sfumato.expectations.groups.connected import connected_sides  # where it is needed

    number, _ = connected_sides(group, node, len(cluster), nodes)
    return dense(number)[0]


def joint_presence(coverage: Covering) -> Presence | None:
    """Return the largest sum of p_j, at most 1, over the groups that cover any one vector.

    All vectors that the tables admit are searched, by branch and bound over the quasi-identifiers.
    Sums are compared in floats rounded outwards; those that rounding cannot distinguish from the
    largest are computed exactly. Returns None if the search was too large to finish.
    """
    alone = single(coverage)
    if alone.largest >= 1:
        return alone
    return None if alone.largest < _TINY else _Search(coverage, float(alone.largest)).run(alone)


class _Admitted(NamedTuple):
    """The values of one quasi-identifier that candidates admit: parallel, sorted by group."""

    group: np.ndarray
    value: np.ndarray

    def select(self, chosen: np.ndarray) -> "_Admitted":
        """Return the values that the chosen groups (ascending) admit, the groups renumbered."""
        first = np.searchsorted(self.group, chosen, "left")
        counts = np.searchsorted(self.group, chosen, "right") - first
        skipped = np.repeat(first - np.cumsum(counts) + counts, counts)
        value = self.value[skipped + np.arange(len(skipped))]
        return _Admitted(np.repeat(np.arange(len(chosen)), counts), value)

    def by_value(self, groups: int) -> np.ndarray:
        """Return the admitted values as a matrix (bool, values x groups)."""
        values, row = np.unique(self.value, return_inverse=True)
        matrix = np.zeros((len(values), groups), dtype=bool)
        matrix[row, self.group] = True
        return matrix

    def choices(self, groups: int) -> list[np.ndarray]:
        """Return the groups that admit each value, without values that are worse than another."""
        values = int(np.count_nonzero(np.bincount(self.value)))
        if values <= _CHOICES and values * groups <= _CELLS:
            return [np.flatnonzero(row) for row in _drop_dominated(self.by_value(groups))]
        order = np.argsort(self.value, kind="stable")
        return np.split(self.group[order], np.flatnonzero(np.diff(self.value[order])) + 1)


class _Candidates(NamedTuple):
    """Groups that admit the values chosen so far, and the values that remain to choose from."""

    groups: np.ndarray
    weights: np.ndarray
    left: tuple[_Admitted, ...]

    def select(self, chosen: np.ndarray, parts: Sequence[_Admitted]) -> "_Candidates":
        """Return the chosen ones of the candidates."""
        return _Candidates(
            self.groups[chosen], self.weights[chosen], tuple(part.select(chosen) for part in parts)
        )


@dataclass(eq=False)
class _Search:
    """A depth-first search that keeps the best sum so far and the sets that may attain it.

    Attributes:
        coverage: the groups.
        best: the largest rounded sum so far.
        nodes: the number of nodes of the search tree so far.
        records: the number of sets of groups that were considered so far.
        certain: True once the exact sum of a set is at least 1, which ends the search.
        tied: the sets that may have the largest sum, one for each multiset of presences, with the
            rounded sum.
    """

    coverage: Covering
    best: float
    nodes: int = 0
    records: int = 0
    certain: bool = False
    tied: dict[bytes, tuple[float, np.ndarray]] = field(default_factory=dict)

    def run(self, alone: Presence) -> Presence | None:
        """Search all vectors, from the largest presence in one group; None if they are too many."""
        self._record(np.array(alone.groups), self.best)
        groups, weights = np.arange(len(self.coverage.sizes)), self.coverage.rounded_presences()
        parts = tuple(_Admitted(cover.group, cover.value) for cover in self.coverage.covers)
        for cluster in self._clusters(weights):
            self._visit(_Candidates(groups, weights, parts).select(cluster, parts))
        if self._given_up and not self.certain:
            return None
        winners = [members for total, members in self.tied.values() if self._may_win(total)]
        best = max(winners, key=self._total)
        return Presence(min(Fraction(1), self._total(best)), tuple(best.tolist()))

    def _clusters(self, weights: np.ndarray) -> list[np.ndarray]:
        """Return sets of groups that may cover a vector of more than the best sum, largest first.

        Groups of different sets cover no vector in common.
        """
        number = clusters(self.coverage)
        several = np.bincount(number) > 1
        totals = np.where(several, np.bincount(number, weights), 0.0)
        order = np.argsort(number, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
        ranked = np.argsort(-totals, kind="stable").tolist()
        return [
            members[place] for place in ranked if several[place] and self._may_win(totals[place])
        ]

    @cached_property
    def _slack(self) -> float:
        """A bound on the relative error of a rounded sum."""
        return (len(self.coverage.sizes) + 64) * _UNIT

    @property
    def _given_up(self) -> bool:
        return self.nodes > _NODES or self.records > _RECORDS or len(self.tied) > _TIES

    @property
    def _least(self) -> float:
        """Rounded sums below this cannot exceed or tie the best."""
        return self.best * (1 - self._slack) / (1 + self._slack) * (1 - 4 * _UNIT)

    def _may_win(self, bound: float) -> bool:
        return bound >= self._least

    def _total(self, groups: np.ndarray) -> Fraction:
        """Return the exact sum of the presences."""
        kinds, counts = np.unique(self.coverage.kinds[groups], return_counts=True)
        presences = self.coverage.presences
        pairs = zip(kinds.tolist(), counts.tolist(), strict=True)
        return sum((presences[kind] * count for kind, count in pairs), Fraction(0))

    def _visit(self, candidates: _Candidates) -> None:
        """Search the vectors whose chosen values all candidates admit."""
        self.nodes += 1
        reduced = self._reduce(candidates)
        if reduced is None:
            return
        if not reduced.left:
            self._record(reduced.groups, float(reduced.weights.sum()))
        elif len(reduced.left) == 2 and _is_small(reduced):
            self._finish(reduced)
        else:
            self._branch(reduced)

    def _reduce(self, candidates: _Candidates) -> _Candidates | None:
        """Return the candidates without those that cannot win; None if no candidate can.

        If all candidates admit some value of a quasi-identifier, that value counts as chosen.
        """
        while True:
            remaining, able = [], np.ones(len(candidates.groups), dtype=bool)
            for part in candidates.left:
                totals = np.bincount(part.value, candidates.weights[part.group])
                wins = totals >= self._least
                if not wins.any():
                    return None
                if np.bincount(part.value).max() < len(able):
                    keep = wins[part.value]
                    remaining.append(_Admitted(part.group[keep], part.value[keep]))
                    able &= np.bincount(remaining[-1].group, minlength=len(able)) > 0
            if able.all():
                return candidates._replace(left=tuple(remaining))
            candidates = candidates.select(np.flatnonzero(able), remaining)

    def _branch(self, candidates: _Candidates) -> None:
        """Choose the values of one quasi-identifier, one after the other."""
        bounds = [
            float(np.bincount(part.value, candidates.weights[part.group]).max())
            for part in candidates.left
        ]
        narrowest = int(np.argmin(bounds))
        rest = candidates.left[:narrowest] + candidates.left[narrowest + 1 :]
        choices = candidates.left[narrowest].choices(len(candidates.groups))
        totals = np.array([candidates.weights[choice].sum() for choice in choices])
        for number in np.argsort(-totals, kind="stable").tolist():
            if self.certain or self._given_up or not self._may_win(float(totals[number])):
                return
            self._visit(candidates.select(choices[number], rest))

    def _finish(self, candidates: _Candidates) -> None:
        """Search the last two quasi-identifiers at once, by a product of matrices."""
        groups = len(candidates.groups)
        first, second = (_drop_dominated(part.by_value(groups)) for part in candidates.left)
        sums = (first * candidates.weights) @ second.T.astype(np.float64)
        least = max(self._least, float(sums.max()) * (1 - 2 * self._slack))
        near = np.argwhere(sums >= least)
        for row, column in near[np.argsort(-sums[near[:, 0], near[:, 1]], kind="stable")]:
            if self.certain or self._given_up:
                return
            self._record(candidates.groups[first[row] & second[column]], float(sums[row, column]))

    def _record(self, groups: np.ndarray, total: float) -> None:
        """Note a set of groups that cover a vector, unless others surely have a larger presence."""
        self.records += 1
        key = np.sort(self.coverage.kinds[groups]).tobytes()
        if key in self.tied or not self._may_win(total):
            return
        if self.best < total * (1 - 4 * self._slack):
            self.tied.clear()
        self.best = max(self.best, total)
        self.tied[key] = (total, groups)
        self.certain = total * (1 + self._slack) >= 1 and self._total(groups) >= 1


def _is_small(candidates: _Candidates) -> bool:
    """Return True if the product of the last two matrices is small enough to compute."""
    rows, columns = (int(np.count_nonzero(np.bincount(part.value))) for part in candidates.left)
    cells = max(rows * columns, max(rows, columns) * len(candidates.groups))
    return max(rows, columns) <= _CHOICES and cells <= _CELLS


def _drop_dominated(admitted: np.ndarray) -> np.ndarray:
    """Return the rows, without those whose groups all admit another row as well."""
    together = admitted.astype(np.float32) @ admitted.T.astype(np.float32)
    alone = together.diagonal()
    within = together == alone[:, None]
    smaller = alone[:, None] < alone[None, :]
    later = np.arange(len(admitted))[:, None] > np.arange(len(admitted))[None, :]
    dominated = (within & (smaller | ((alone[:, None] == alone[None, :]) & later))).any(axis=1)
    return np.asarray(admitted[~dominated])
