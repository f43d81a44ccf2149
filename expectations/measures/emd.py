"""Earth mover's distances between groups' sensitive values and those of all, exact where declared.

Source: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity (ICDE
2007). With N rows in all, n in a group, and N_s and n_s of them with value s, distances are sums
of |N n_s - n N_s|, so that they are whole numbers over a common denominator of the group.

Source: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity (ICDE
2007). Where a group's values are spread as a target says, the distribution of all rows is the
mixture of the targets, each as heavy as the rows of its groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm

import numpy as np

from sfumato.expectations.groups.counting import merge_values
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Subdomains
from sfumato.expectations.groups.subdomains import leaves, ratios
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import INT64_MAX

_FEW = 64  # ranks that are taken one by one
_DENSE = 4  # of them for each value that a group has: where there are more, runs are faster


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
    rank = np.cumsum(totals != 0) - 1
    moved = [
        _moved(block, of_block, rank[block.value], below)
        for block, of_block in _blocks(counts, sizes)
    ]
    return Distances(np.concatenate(moved), (ranks - 1) * rows * sizes)


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
    return np.asarray(counts.sums(shown) + sizes * rows)


def _blocks(counts: Counts, sizes: np.ndarray) -> Iterator[tuple[Counts, np.ndarray]]:
    """The counts in blocks, and the sizes of the groups of each."""
    first = 0
    for block in counts.blocks:
        yield block, sizes[first : first + len(block.starts)]
        first += len(block.starts)


def _moved(counts: Counts, sizes: np.ndarray, rank: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Σ over ranks of |N Σ n_s - n Σ N_s|, the sums over the values up to the rank."""
    dense = len(below) <= min(_FEW, _DENSE * len(rank) // len(sizes))
    return (_of_ranks if dense else _of_runs)(counts, sizes, rank, below)


def _of_ranks(counts: Counts, sizes: np.ndarray, rank: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The same, rank by rank, where there are few and groups have many of them."""
    shown = np.zeros((len(below), len(sizes)), dtype=counts.count.dtype)
    group = np.repeat(np.arange(len(sizes)), counts.distinct)
    shown.reshape(-1)[rank * len(sizes) + group] = counts.count
    moved, up_to = np.zeros_like(sizes), np.zeros_like(sizes)
    for counted, expected in zip(shown, below.tolist(), strict=True):
        up_to += counted
        moved += np.abs(up_to * int(below[-1]) - sizes * expected)
    return moved


def _of_runs(counts: Counts, sizes: np.ndarray, rank: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The same, where groups have few of the values.

    Between two values of a group the first sum is constant while the second rises, so each such
    run of ranks falls into a part where the first is larger and a part where the second is.
    """
    sums = np.concatenate(([0], np.cumsum(below)))
    size = np.repeat(sizes, counts.distinct)
    shown = counts.up_to.astype(size.dtype) * int(below[-1])
    last = np.append(rank[1:], 0)
    last[counts.ends - 1] = len(below) - 1
    whole = (last - rank) * shown - size * (sums[last] - sums[rank])
    moved = np.abs(whole)
    mixed = _mixed(shown, size, rank, last, below)
    shown, size, lowest = shown[mixed], size[mixed], rank[mixed]
    crossing = np.searchsorted(below, (shown // size).astype(below.dtype), side="right")
    larger = (crossing - lowest) * shown - size * (sums[crossing] - sums[lowest])
    moved[mixed] = 2 * larger - whole[mixed]
    return np.asarray(counts.sums(moved) + sizes * sums[rank[counts.starts]])


def _mixed(
    shown: np.ndarray, size: np.ndarray, rank: np.ndarray, last: np.ndarray, below: np.ndarray
) -> np.ndarray:
    """The runs of ranks (positions) in which first one sum is larger and then the other."""
    several = np.flatnonzero(last - rank > 1)
    shown, size = shown[several], size[several]
    first, final = below[rank[several]], below[last[several] - 1]
    mixed = (shown > size * first) & (shown < size * final)
    return np.asarray(several[mixed.astype(bool)])


def _wide(sizes: np.ndarray, factor: int) -> np.ndarray:
    """The sizes, as Python integers where their product with `factor` may overflow."""
    return sizes.astype(object) if int(sizes.max(initial=0)) * factor > INT64_MAX else sizes


def declared_equal_distance(shown: Subdomains, sizes: np.ndarray) -> Distances:
    """Half the sum of the differences of chances: all values are equally far apart.

    Args:
        shown: the groups' targets.
        sizes: the rows of each group (int64, one per group).

    Raises:
        PromiseError: where a target is no distribution, or targets do not have the same values.
    """
    apart, whole = _apart(shown, sizes)
    return _of_groups(shown, np.abs(apart).sum(axis=1), 2 * int(whole.sum()))


def declared_ordered_distance(shown: Subdomains, sizes: np.ndarray) -> Distances:
    """Values are as far apart as their ranks among the m that some group can have: 1/(m - 1) each.

    Arguments are as for `declared_equal_distance`.

    Raises:
        PromiseError: where the attribute has no order, or for the reasons of the equal distance.
    """
    if not shown.ordered:
        raise PromiseError("the ordered distance needs ordered values without nulls")
    apart, whole = _apart(shown, sizes)
    possible = apart[:, whole > 0]
    moved = np.abs(np.cumsum(possible, axis=1)).sum(axis=1)
    return _of_groups(shown, moved, max(possible.shape[1] - 1, 1) * int(whole.sum()))


def declared_hierarchical_distance(shown: Subdomains, sizes: np.ndarray) -> Distances:
    """Values are as far apart as the level of their lowest common ancestor, over the height.

    The mean of the equal distances of the values generalized to the levels below the root.
    Arguments are as for `declared_equal_distance`.

    Raises:
        PromiseError: where there is no hierarchy of them, or for the reasons of the equal distance.
    """
    if shown.ancestors is None:
        raise PromiseError("the hierarchical distance needs a hierarchy")
    apart, whole = _apart(shown, sizes)
    if shown.ancestors.shape[1] != apart.shape[1]:
        raise PromiseError("the hierarchy lacks values of the targets")
    moved = np.zeros(len(apart), dtype=object)
    for nodes in shown.ancestors[:-1]:
        above = np.zeros((int(nodes.max()) + 1, len(apart)), dtype=object)
        np.add.at(above, nodes, apart.T)
        moved += np.abs(above).sum(axis=0)
    return _of_groups(shown, moved, 2 * (len(shown.ancestors) - 1) * int(whole.sum()))


def declared_shares(shown: Subdomains, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chances of values in each target, and those of all rows (both Python integers).

    The first are targets x values, in parts of a common unit that each of them adds up to; the
    second, one per value, in parts of that unit times the number of rows.

    Raises:
        PromiseError: where a target is no distribution, or targets do not have the same values.
    """
    chances = _chances(shown)
    rows = np.zeros(len(shown.targets), dtype=np.int64)
    np.add.at(rows, shown.target, sizes)
    return chances, (chances * rows.astype(object)[:, None]).sum(axis=0)


def _apart(shown: Subdomains, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The difference of each target's chances from those of all rows, and the latter.

    Both are Python integers in a common unit: targets x values, and one per value.
    """
    chances, whole = declared_shares(shown, sizes)
    return chances * int(sizes.sum()) - whole, whole


def _chances(shown: Subdomains) -> np.ndarray:
    """The probabilities of values in parts of a common unit (Python integers, targets x values)."""
    found = [(*ratios(target), leaves(target)) for target in shown.targets]
    if len({len(ends) for _, _, ends in found}) != 1:
        raise PromiseError("the targets do not have the same values")
    unit = lcm(*(parts[leaf] for _, parts, ends in found for leaf in ends))
    shares = [[of[leaf] * (unit // parts[leaf]) for leaf in ends] for of, parts, ends in found]
    return np.array(shares, dtype=object)


def _of_groups(shown: Subdomains, moved: np.ndarray, parts: int) -> Distances:
    """The distances of the targets as those of the groups that have them."""
    return Distances(moved[shown.target], np.full(len(shown.target), parts, dtype=object))
