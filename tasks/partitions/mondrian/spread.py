"""The spread of a part's values compared with all rows, in loops: distances and uncertainty.

Distances are earth mover's distances, as in `expectations.measures.emd`. N is the number of all
rows and n the number of a part's rows; N_s and n_s are the numbers of those with the value s.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import log
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import Coded
from sfumato.expectations.models.l_diversity import EntropyLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.exact import INT64_MAX


class SpreadRule(NamedTuple):
    """Limits on the spread of a part's values.

    The distance from all rows is at most `near / far`. It is measured in one of three ways; arrays
    of the other ways are empty.

    If `totals` has the rows of each value (int64, one per value), all values are equally far apart.
    If `below` has the rows up to each rank (int64, one per rank), values are as far apart as their
    ranks: `rank` (int64, one per value) is the rank of each value, and `sums` adds up `below`
    (int64, one more than ranks). If `nodes` has the node above each value at each level (integers,
    levels x values), values are as far apart as their lowest common node is high: `of_nodes` has
    the rows of each node (int64, levels x nodes), and `room` is 0 at rest (int64, one per node).

    The entropy is at least `uncertainty` (nats).
    """

    near: int
    far: int
    totals: np.ndarray
    rank: np.ndarray
    below: np.ndarray
    sums: np.ndarray
    nodes: np.ndarray
    of_nodes: np.ndarray
    room: np.ndarray
    uncertainty: float


def spread_rule(promises: Sequence[PrivacyModel], coded: Coded | None) -> SpreadRule | None:
    """Return what promises ask of the spread of a sensitive attribute; None if it is not counted.

    `coded` is the attribute, None if no promise is about one.
    """
    close = [promise for promise in promises if isinstance(promise, TCloseness)]
    entropies = [
        promise.least_entropy for promise in promises if isinstance(promise, EntropyLDiversity)
    ]
    distances = {promise.distance for promise in close}
    if len(distances) > 1:
        return None
    nothing, none = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    t = min((Fraction(promise.t) for promise in close), default=Fraction(1))
    rule = SpreadRule(
        near=t.numerator,
        far=t.denominator,
        totals=nothing,
        rank=nothing,
        below=nothing,
        sums=nothing,
        nodes=none,
        of_nodes=none,
        room=nothing,
        uncertainty=max(entropies, default=0.0),
    )
    if coded is None or not distances:
        return rule
    # one of the three ways to measure distances: the arrays of the others stay empty
    totals = np.bincount(coded.codes, minlength=coded.values)
    if distances == {"equal"}:
        return rule._replace(totals=totals)
    if distances == {"hierarchical"}:
        return _by_nodes(rule, coded.ancestors, totals)
    if coded.numbers is None:
        return None
    below = np.cumsum(totals[totals > 0])
    return rule._replace(
        rank=np.cumsum(totals > 0) - 1, below=below, sums=np.append(0, np.cumsum(below))
    )


def _by_nodes(
    rule: SpreadRule, ancestors: np.ndarray | None, totals: np.ndarray
) -> SpreadRule | None:
    """Return the rule with distances along a hierarchy, None if there is no hierarchy.

    The distance is the mean over levels of the distance by which all nodes of a level are equally
    far apart.
    """
    if ancestors is None or len(ancestors) < 2:
        return None
    levels = ancestors[:-1].astype(np.int64)
    most = int(levels.max()) + 1
    of_nodes = np.array([np.bincount(level, totals, most) for level in levels]).astype(np.int64)
    return rule._replace(nodes=levels, of_nodes=of_nodes, room=np.zeros(most, dtype=np.int64))


def fits(spread: SpreadRule, rows: int) -> bool:
    """Return True if no product overflows; `rows` are all rows."""
    sums = max(2, len(spread.below), 2 * len(spread.nodes))
    return sums * rows * rows * spread.far <= INT64_MAX


def _by_ranks(different: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> int:
    """Return Σ over ranks of |N Σ n_s - n Σ N_s|, the sums over values up to the rank.

    Sorts `different`. Between two values of the part the first sum stays, while the second rises.
    So such a run of ranks has a place, `crossing`, from which on the second sum is larger.
    """
    different.sort()
    whole, last = spread.below[-1], len(spread.below) - 1
    moved, cumulated = rows * spread.sums[spread.rank[different[0]]], 0
    for i in range(len(different)):
        cumulated += tally[different[i]] * whole
        begin = spread.rank[different[i]]
        end = last if i + 1 == len(different) else spread.rank[different[i + 1]]
        crossing, high = begin, end
        while crossing < high:
            middle = (crossing + high) // 2
            if spread.below[middle] * rows > cumulated:
                high = middle
            else:
                crossing = middle + 1
        first = spread.sums[crossing] - spread.sums[begin]
        then = spread.sums[end] - spread.sums[crossing]
        moved += (2 * crossing - begin - end) * cumulated + rows * (then - first)
    return int(moved)


def _by_levels(different: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> int:
    """Return Σ over levels and nodes of |N n_s - n N_s|, of the values below each node."""
    whole, moved = spread.of_nodes[0].sum(), 0
    for level in range(len(spread.nodes)):
        nodes = spread.nodes[level]
        moved += whole * rows
        for value in different:
            spread.room[nodes[value]] += tally[value]
        for value in different:
            node = nodes[value]
            expected = spread.of_nodes[level, node] * rows
            if spread.room[node] > 0:
                moved += abs(spread.room[node] * whole - expected) - expected
            spread.room[node] = 0
    return int(moved)


def is_near(different: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> bool:
    """Return True if the values are spread like those of all rows; may sort `different`.

    Args:
        different: the different values of the part (int32).
        rows: the number of rows of the part.
        spread: the limits.
        tally: how often each value occurs in the part (int32).
    """
    if len(spread.below) > 1:
        limit = (len(spread.below) - 1) * spread.below[-1] * rows * spread.near
        return bool(_by_ranks(different, rows, spread, tally) * spread.far <= limit)
    if len(spread.nodes) > 0:
        limit = 2 * len(spread.nodes) * spread.of_nodes[0].sum() * rows * spread.near
        return bool(_by_levels(different, rows, spread, tally) * spread.far <= limit)
    if len(spread.totals) == 0:
        return True
    whole = spread.totals.sum()
    moved = whole * rows
    for value in different:
        expected = spread.totals[value] * rows
        moved += abs(tally[value] * whole - expected) - expected
    return bool(moved * spread.far <= 2 * whole * rows * spread.near)


def is_uncertain(different: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> bool:
    """Return True if the entropy of the values is large enough.

    Arguments are as for `is_near`.
    """
    if spread.uncertainty <= 0:
        return True
    terms = 0.0
    for value in different:
        terms += tally[value] * log(tally[value])
    return bool(log(rows) - terms / rows >= spread.uncertainty)


LOOPS = (_by_ranks, _by_levels, is_near, is_uncertain)
