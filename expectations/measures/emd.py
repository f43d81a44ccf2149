"""Earth mover's distances between each group's sensitive values and those of all groups, exact.

Source: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity (ICDE
2007). With N rows in all, n in a group, and N_s and n_s of them with value s, distances are sums
of |N n_s - n N_s|, so that they are whole numbers over a common denominator of the group.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.counting import merge_values
from sfumato.expectations.groups.groups import Counts


@dataclass(frozen=True, eq=False)
class Distances:
    """The distance of each group as `numerators / denominators`.

    Both are whole numbers, one per group: int64, or Python integers where those would overflow.
    """

    numerators: np.ndarray
    denominators: np.ndarray


def equal_distance(counts: Counts, sizes: np.ndarray) -> Distances:
    """Half the sum of the differences of shares: all values are equally far apart.

    Args:
        counts: the counts of the sensitive attribute.
        sizes: the rows of each group (int64, one per group).
    """
    rows = int(sizes.sum())
    sizes = _wide(sizes, 2 * rows)
    return Distances(_differences(counts, sizes, rows), 2 * rows * sizes)


def ordered_distance(counts: Counts, sizes: np.ndarray) -> Distances:
    """Values are as far apart as their ranks among the m different ones: 1/(m - 1) per rank.

    Arguments are as for `equal_distance`.

    Raises:
        PromiseError: where the attribute has no order.
    """
    if counts.numbers is None:
        raise PromiseError("the ordered distance needs ordered values without nulls")
    totals = counts.totals
    occurring = np.flatnonzero(totals)
    below = np.cumsum(totals[occurring])
    rows, ranks = int(sizes.sum()), len(occurring)
    sizes = _wide(sizes, rows * max(ranks, 1))
    if ranks < 2:
        return Distances(np.zeros_like(sizes), np.ones_like(sizes))
    rank = np.searchsorted(occurring, counts.value)
    return Distances(_cumulated(counts, sizes, rank, below), (ranks - 1) * rows * sizes)


def hierarchical_distance(counts: Counts, sizes: np.ndarray) -> Distances:
    """Values are as far apart as the level of their lowest common ancestor, over the height.

    What moves below a node of level L costs L over the height H. Summed over all nodes that is
    the mean of the equal distances of the values generalized to the levels 0, …, H - 1. Arguments
    are as for `equal_distance`.

    Raises:
        PromiseError: where the attribute has no hierarchy.
    """
    if counts.ancestors is None:
        raise PromiseError("the hierarchical distance needs a hierarchy")
    rows, height = int(sizes.sum()), len(counts.ancestors) - 1
    sizes = _wide(sizes, 2 * height * rows)
    levels = (merge_values(counts, nodes) for nodes in counts.ancestors[:-1])
    numerators = sum(_differences(level, sizes, rows) for level in levels)
    return Distances(np.asarray(numerators), 2 * height * rows * sizes)


def _differences(counts: Counts, sizes: np.ndarray, rows: int) -> np.ndarray:
    """Σ |N n_s - n N_s| of each group, over all values."""
    expected = counts.totals[counts.value] * np.repeat(sizes, counts.distinct)
    shown = np.abs(counts.count * rows - expected) - expected
    return np.asarray(np.add.reduceat(shown, counts.starts) + sizes * rows)


def _cumulated(
    counts: Counts, sizes: np.ndarray, rank: np.ndarray, below: np.ndarray
) -> np.ndarray:
    """Σ over ranks of |N Σ n_s - n Σ N_s|, the sums over the values up to the rank.

    Between two values of a group the first sum is constant while the second rises, so each such
    run of ranks falls into a part where the first is larger and a part where the second is.
    """
    rows = int(below[-1])
    starts, per_group = counts.starts, counts.distinct
    size = np.repeat(sizes, per_group)
    summed = np.cumsum(counts.count)
    shown = summed - np.repeat(summed[starts] - counts.count[starts], per_group)
    last = np.append(rank[1:], 0)
    last[starts + per_group - 1] = len(below) - 1
    shown = shown.astype(size.dtype)
    level = (shown * rows // size).astype(np.int64)
    crossing = np.clip(np.searchsorted(below, level, side="right"), rank, last)
    sums = np.concatenate(([0], np.cumsum(below)))
    lower = (crossing - rank) * shown * rows - size * (sums[crossing] - sums[rank])
    upper = size * (sums[last] - sums[crossing]) - (last - crossing) * shown * rows
    runs = np.add.reduceat(lower + upper, starts)
    return np.asarray(runs + sizes * sums[rank[starts]])


def _wide(sizes: np.ndarray, factor: int) -> np.ndarray:
    """The sizes, as Python integers where their product with `factor` may overflow."""
    return sizes.astype(object) if int(sizes.max(initial=0)) * factor > INT64_MAX else sizes
