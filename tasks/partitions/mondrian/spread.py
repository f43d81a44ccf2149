"""How values of a part are spread beside those of all rows, in loops: distances, and uncertainty.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import log
from typing import NamedTuple

import numpy as np

from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.counting import Coded
from sfumato.expectations.models.l_diversity import EntropyLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import TCloseness


class SpreadRule(NamedTuple):
    """What the spread of a part's values keeps.

    The distance from all rows is at most `near / far`: where `totals` has the rows of each value
    (int64, one per value), all values are equally far apart; where `below` has the rows up to each
    rank (int64, one per rank), they are as far as their ranks. `rank` (int64, one per value) has
    that of each value, and `sums` adds up `below` (int64, one more than ranks); where `nodes` has
    the node above each value at each level (integers, levels x values), they are as far as their
    lowest common node is high, `of_nodes` has the rows of each node (int64, levels x nodes), and
    `room` is 0 at rest (int64, one per node). Else these are empty.
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
    """What promises ask of the spread of a sensitive attribute; None where that is not counted.

    `coded` is the attribute, None where no promise is about one.
    """
    close = [promise for promise in promises if isinstance(promise, TCloseness)]
    entropies = [one.least_entropy for one in promises if isinstance(one, EntropyLDiversity)]
    distances = {promise.distance for promise in close}
    if len(distances) > 1:
        return None
    nothing, none = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    t = min((Fraction(promise.t) for promise in close), default=Fraction(1))
    found = SpreadRule(
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
        return found
    totals = np.bincount(coded.codes, minlength=coded.values)
    if distances == {"equal"}:
        return found._replace(totals=totals)
    if distances == {"hierarchical"}:
        return _by_nodes(found, coded.ancestors, totals)
    if coded.numbers is None:
        return None
    below = np.cumsum(totals[totals > 0])
    return found._replace(
        rank=np.cumsum(totals > 0) - 1, below=below, sums=np.append(0, np.cumsum(below))
    )


def _by_nodes(
    found: SpreadRule, ancestors: np.ndarray | None, totals: np.ndarray
) -> SpreadRule | None:
    """The same of distances along a hierarchy, None where there is none.

    They are the mean of those at which all nodes of a level are equally far apart.
    """
    if ancestors is None or len(ancestors) < 2:
        return None
    levels = ancestors[:-1].astype(np.int64)
    most = int(levels.max()) + 1
    of_nodes = np.array([np.bincount(level, totals, most) for level in levels]).astype(np.int64)
    return found._replace(nodes=levels, of_nodes=of_nodes, room=np.zeros(most, dtype=np.int64))


def fits(spread: SpreadRule, rows: int) -> bool:
    """True where no product overflows; `rows` are all rows."""
    sums = max(2, len(spread.below), 2 * len(spread.nodes))
    return sums * rows * rows * spread.far <= INT64_MAX


def _by_ranks(found: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> int:
    """Σ over ranks of |N Σ n_s - n Σ N_s|, the sums over values up to the rank; sorts `found`.

    Between two values of the part the first sum stays, while the second rises.
    """
    found.sort()
    whole, last = spread.below[-1], len(spread.below) - 1
    moved, shown = rows * spread.sums[spread.rank[found[0]]], 0
    for i in range(len(found)):
        shown += tally[found[i]] * whole
        begin = spread.rank[found[i]]
        end = last if i + 1 == len(found) else spread.rank[found[i + 1]]
        crossing, high = begin, end
        while crossing < high:
            middle = (crossing + high) // 2
            if spread.below[middle] * rows > shown:
                high = middle
            else:
                crossing = middle + 1
        first = spread.sums[crossing] - spread.sums[begin]
        then = spread.sums[end] - spread.sums[crossing]
        moved += (2 * crossing - begin - end) * shown + rows * (then - first)
    return int(moved)


def _by_levels(found: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> int:
    """Σ over levels and nodes of |N n_s - n N_s|, of the values below each node."""
    whole, moved = spread.of_nodes[0].sum(), 0
    for level in range(len(spread.nodes)):
        nodes = spread.nodes[level]
        moved += whole * rows
        for value in found:
            spread.room[nodes[value]] += tally[value]
        for value in found:
            node = nodes[value]
            expected = spread.of_nodes[level, node] * rows
            if spread.room[node] > 0:
                moved += abs(spread.room[node] * whole - expected) - expected
            spread.room[node] = 0
    return int(moved)


def is_near(found: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> bool:
    """True where the values are spread like those of all rows; may sort `found`.

    Args:
        found: the different values of the part (int32).
        rows: of the part.
        spread: what is kept.
        tally: how often each value occurs in the part (int32).
    """
    if len(spread.below) > 1:
        limit = (len(spread.below) - 1) * spread.below[-1] * rows * spread.near
        return bool(_by_ranks(found, rows, spread, tally) * spread.far <= limit)
    if len(spread.nodes) > 0:
        limit = 2 * len(spread.nodes) * spread.of_nodes[0].sum() * rows * spread.near
        return bool(_by_levels(found, rows, spread, tally) * spread.far <= limit)
    if len(spread.totals) == 0:
        return True
    whole = spread.totals.sum()
    moved = whole * rows
    for value in found:
        expected = spread.totals[value] * rows
        moved += abs(tally[value] * whole - expected) - expected
    return bool(moved * spread.far <= 2 * whole * rows * spread.near)


def is_uncertain(found: np.ndarray, rows: int, spread: SpreadRule, tally: np.ndarray) -> bool:
    """True where the entropy of the values is large enough; arguments are as for `is_near`."""
    if spread.uncertainty <= 0:
        return True
    terms = 0.0
    for value in found:
        terms += tally[value] * log(tally[value])
    return bool(log(rows) - terms / rows >= spread.uncertainty)


LOOPS = (_by_ranks, _by_levels, is_near, is_uncertain)
