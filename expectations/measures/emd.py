"""Earth mover's distances between groups' sensitive values and those of all, exact or as declared.

Source: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity (ICDE
2007). With N rows in all, n in a group, and N_s and n_s of them with value s, distances are sums of
|N n_s - n N_s|, so that they are whole numbers over a common denominator of the group.

If a group's values are spread as a target says, the distribution of all rows is the mixture of the
targets, each weighted by the rows of its groups.
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

_NO_ORDER = "the ordered distance needs numbers, dates or timestamps without missing values"
_NO_HIERARCHY = "the hierarchical distance needs a hierarchy of the sensitive column"
_FEW = 64  # ranks, at most, that are taken one by one
_DENSE = 4  # ranks, at most, for each value that a group has on average: of more, runs are faster


@dataclass(frozen=True, eq=False)
class Distances:
    """The distance of each group as `numerators / denominators`.

    Both are whole numbers, one per group: int64, or Python integers where those would overflow.
    """

    numerators: np.ndarray
    denominators: np.ndarray


def equal_distance(counts: Counts, sizes: np.ndarray) -> Distances:
    """Return half the sum of the differences of shares: all values are equally far apart.

    Args:
        counts: the counts of the sensitive attribute.
        sizes: the rows of each group (int64, one per group).
    """
    rows = int(sizes.sum())
    sizes = _wide(sizes, 2 * rows)
    return Distances(_differences(counts, sizes, rows), 2 * rows * sizes)


def ordered_distance(counts: Counts, sizes: np.ndarray) -> Distances:
    """Return distances by ranks: values are as far apart as their ranks among the m different ones.

    One rank is a distance of 1/(m - 1). Arguments are as for `equal_distance`.

    Raises:
        PromiseError: where the attribute has no order.
    """
    if counts.numbers is None:
        raise PromiseError(_NO_ORDER)
    totals = counts.totals
    occurring = np.flatnonzero(totals)
    below = np.cumsum(totals[occurring])
    rows, ranks = int(sizes.sum()), len(occurring)
    sizes = _wide(sizes, rows * max(ranks, 1))
    if ranks < 2:
        return Distances(np.zeros_like(sizes), np.ones_like(sizes))
    rank = np.cumsum(totals != 0) - 1
    moved = [
        _sum_over_ranks(block, of_block, rank[block.value], below)
        for block, of_block in _blocks(counts, sizes)
    ]
    return Distances(np.concatenate(moved), (ranks - 1) * rows * sizes)


def hierarchical_distance(counts: Counts, sizes: np.ndarray) -> Distances:
    """Return distances by a hierarchy: the level of the lowest common ancestor, over the height.

    What moves below a node of level L costs L over the height H. Summed over all nodes that is the
    mean of the equal distances of the values generalized to the levels 0, …, H - 1. Arguments are
    as for `equal_distance`.

    Raises:
        PromiseError: where the attribute has no hierarchy.
    """
    if counts.ancestors is None:
        raise PromiseError(_NO_HIERARCHY)
    rows, height = int(sizes.sum()), len(counts.ancestors) - 1
    sizes = _wide(sizes, 2 * height * rows)
    levels = (merge_values(counts, nodes) for nodes in counts.ancestors[:-1])
    numerators = sum(_differences(level, sizes, rows) for level in levels)
    return Distances(np.asarray(numerators), 2 * height * rows * sizes)


def _differences(counts: Counts, sizes: np.ndarray, rows: int) -> np.ndarray:
    """Return Σ |N n_s - n N_s| of each group, over all values."""
    expected = counts.totals[counts.value] * np.repeat(sizes, counts.distinct)
    deviations = np.abs(counts.count * rows - expected) - expected
    return np.asarray(counts.sums(deviations) + sizes * rows)


def _blocks(counts: Counts, sizes: np.ndarray) -> Iterator[tuple[Counts, np.ndarray]]:
    """Yield the counts in blocks, and the sizes of the groups of each."""
    first = 0
    for block in counts.blocks:
        yield block, sizes[first : first + len(block.starts)]
        first += len(block.starts)


def _sum_over_ranks(
    counts: Counts, sizes: np.ndarray, rank: np.ndarray, below: np.ndarray
) -> np.ndarray:
    """Return Σ over ranks of |N Σ n_s - n Σ N_s|, the inner sums over the values up to the rank."""
    dense = len(below) <= min(_FEW, _DENSE * len(rank) // len(sizes))
    return (_sum_by_rank if dense else _sum_by_run)(counts, sizes, rank, below)


def _sum_by_rank(
    counts: Counts, sizes: np.ndarray, rank: np.ndarray, below: np.ndarray
) -> np.ndarray:
    """Return the sum of `_sum_over_ranks` rank by rank.

    It is fast if there are few ranks and groups have many of them.
    """
    matrix = np.zeros((len(below), len(sizes)), dtype=counts.count.dtype)
    group = np.repeat(np.arange(len(sizes)), counts.distinct)
    matrix.reshape(-1)[rank * len(sizes) + group] = counts.count
    moved, up_to = np.zeros_like(sizes), np.zeros_like(sizes)
    for counted, expected in zip(matrix, below.tolist(), strict=True):
        up_to += counted
        moved += np.abs(up_to * int(below[-1]) - sizes * expected)
    return moved


def _sum_by_run(
    counts: Counts, sizes: np.ndarray, rank: np.ndarray, below: np.ndarray
) -> np.ndarray:
    """Return the sum of `_sum_over_ranks` by runs of ranks; fast if groups have few of the values.

    Between two values of a group the first inner sum is constant while the second rises. So each
    such run of ranks falls into a part where the first is larger and a part where the second is.
    """
    sums = np.concatenate(([0], np.cumsum(below)))
    size = np.repeat(sizes, counts.distinct)
    reached = counts.up_to.astype(size.dtype) * int(below[-1])
    # the end of each entry's run: the rank of the group's next value, or the last rank of all
    last = np.append(rank[1:], 0)
    last[counts.ends - 1] = len(below) - 1
    whole = (last - rank) * reached - size * (sums[last] - sums[rank])
    moved = np.abs(whole)
    mixed = _crossing_runs(reached, size, rank, last, below)
    reached, size, lowest = reached[mixed], size[mixed], rank[mixed]
    crossing = np.searchsorted(below, (reached // size).astype(below.dtype), side="right")
    # `whole` adds up the part in which the first sum is larger, and the rest, which is negative
    larger = (crossing - lowest) * reached - size * (sums[crossing] - sums[lowest])
    moved[mixed] = 2 * larger - whole[mixed]
    return np.asarray(counts.sums(moved) + sizes * sums[rank[counts.starts]])


def _crossing_runs(
    reached: np.ndarray, size: np.ndarray, rank: np.ndarray, last: np.ndarray, below: np.ndarray
) -> np.ndarray:
    """Return the runs of ranks (positions) in which first one sum is larger and then the other."""
    several = np.flatnonzero(last - rank > 1)
    reached, size = reached[several], size[several]
    first, final = below[rank[several]], below[last[several] - 1]
    mixed = (reached > size * first) & (reached < size * final)
    return np.asarray(several[mixed.astype(bool)])


def _wide(sizes: np.ndarray, factor: int) -> np.ndarray:
    """Return the sizes, as Python integers if their product with `factor` may overflow."""
    return sizes.astype(object) if int(sizes.max(initial=0)) * factor > INT64_MAX else sizes


def declared_equal_distance(subdomains: Subdomains, sizes: np.ndarray) -> Distances:
    """Return half the sum of the differences of chances: all values are equally far apart.

    Args:
        subdomains: the groups' targets.
        sizes: the rows of each group (int64, one per group).

    Raises:
        PromiseError: where a target is no distribution, or targets do not have the same values.
    """
    differences, whole = _differences_from_all(subdomains, sizes)
    return _distances_of_groups(subdomains, np.abs(differences).sum(axis=1), 2 * int(whole.sum()))


def declared_ordered_distance(subdomains: Subdomains, sizes: np.ndarray) -> Distances:
    """Return distances by ranks among the m values that some group can have: 1/(m - 1) per rank.

    Arguments are as for `declared_equal_distance`.

    Raises:
        PromiseError: where the attribute has no order, or for the reasons of the equal distance.
    """
    if not subdomains.ordered:
        raise PromiseError(_NO_ORDER)
    differences, whole = _differences_from_all(subdomains, sizes)
    possible = differences[:, whole > 0]
    moved = np.abs(np.cumsum(possible, axis=1)).sum(axis=1)
    return _distances_of_groups(subdomains, moved, max(possible.shape[1] - 1, 1) * int(whole.sum()))


def declared_hierarchical_distance(subdomains: Subdomains, sizes: np.ndarray) -> Distances:
    """Return distances by a hierarchy: the level of the lowest common ancestor, over the height.

    They are the mean of the equal distances of the values generalized to the levels below the root.
    Arguments are as for `declared_equal_distance`.

    Raises:
        PromiseError: where there is no hierarchy of them, or for the reasons of the equal distance.
    """
    if subdomains.ancestors is None:
        raise PromiseError(_NO_HIERARCHY)
    differences, whole = _differences_from_all(subdomains, sizes)
    if subdomains.ancestors.shape[1] != differences.shape[1]:
        raise PromiseError("the hierarchy of the sensitive column lacks values of the targets")
    moved = np.zeros(len(differences), dtype=object)
    for nodes in subdomains.ancestors[:-1]:
        above = np.zeros((int(nodes.max()) + 1, len(differences)), dtype=object)
        np.add.at(above, nodes, differences.T)
        moved += np.abs(above).sum(axis=0)
    return _distances_of_groups(
        subdomains, moved, 2 * (len(subdomains.ancestors) - 1) * int(whole.sum())
    )


def declared_shares(subdomains: Subdomains, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances of values in each target, and those of all rows (both Python integers).

    The first are targets x values, in parts of a common unit that each target adds up to; the
    second, one per value, in parts of that unit times the number of rows.

    Raises:
        PromiseError: where a target is no distribution, or targets do not have the same values.
    """
    chances = _chances(subdomains)
    rows = np.zeros(len(subdomains.targets), dtype=np.int64)
    np.add.at(rows, subdomains.target, sizes)
    return chances, (chances * rows.astype(object)[:, None]).sum(axis=0)


def _differences_from_all(
    subdomains: Subdomains, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each target's chances minus those of all rows, and the latter.

    Both are Python integers in a common unit: targets x values, and one per value.
    """
    chances, whole = declared_shares(subdomains, sizes)
    return chances * int(sizes.sum()) - whole, whole


def _chances(subdomains: Subdomains) -> np.ndarray:
    """Return values' probabilities in a common unit (Python integers, targets x values)."""
    targets = [(*ratios(target), leaves(target)) for target in subdomains.targets]
    if len({len(ends) for _, _, ends in targets}) != 1:
        raise PromiseError("the targets do not have the same values")
    unit = lcm(*(denominators[leaf] for _, denominators, ends in targets for leaf in ends))
    shares = [
        [numerators[leaf] * (unit // denominators[leaf]) for leaf in ends]
        for numerators, denominators, ends in targets
    ]
    return np.array(shares, dtype=object)


def _distances_of_groups(subdomains: Subdomains, moved: np.ndarray, parts: int) -> Distances:
    """Return the distances of the targets as those of the groups that have them."""
    return Distances(moved[subdomains.target], np.full(len(subdomains.target), parts, dtype=object))
