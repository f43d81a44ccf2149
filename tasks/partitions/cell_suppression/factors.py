"""k-anonymity by suppressing cells, for k = 2 and 3: clusters from factors of least weight.

Source: Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu, Approximation algorithms for
k-anonymity (2005). A tie joins two rows; its weight is the number of columns in which they differ.
A factor is a set of ties: for k = 2 every row is tied to one or two others ([1,2]-factor), for
k = 3 to two (2-factor). The rows that a factor of least weight connects are cut into clusters, of 2
or 3 rows for k = 2, of 3 to 5 rows for k = 3. From a factor of least weight among all pairs of rows
follow ratios of 2 and 3 (1.5 and 2, as published, where every column has two values only). Here the
factor is one of least weight among the pairs of near rows, within blocks of rows that are alike: a
heuristic beyond a few rows, for which only the stated lower bound is proven.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.cell_suppression.clusters import Clustering, cluster
from sfumato.tasks.partitions.cell_suppression.parameters import FactorsParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.shared.nearest import nearest
from sfumato.tasks.partitions.shared.thresholds import largest_k, needed_promises

_NEAR = 15  # rows near each row, to which it may be tied
_BLOCK = 1000  # rows for which a factor is found in seconds


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: FactorsParameters,
    randomness: Randomness,
) -> Partition:
    """Group each stratum's rows into clusters of k rows or more that differ in few cells.

    k is the largest that any k-anonymity promise asks for, 2 or 3. Clusters that break another
    promise are merged with clusters like them.

    Raises:
        PromiseError: if no promise is k-anonymity, k is neither 2 nor 3, a stratum has fewer
            than k rows, or another promise cannot be kept by merging.
    """
    k = largest_k(needed_promises(KAnonymity, promises, parameters))
    if k not in (2, 3):
        raise PromiseError(f"factors needs k-anonymity with k = 2 or 3, not k = {k}; use forest")
    return cluster(microdata, strata, promises, k, cluster_by_factors)


def cluster_by_factors(codes: np.ndarray, k: int, large: bool = False) -> Clustering:
    """Return clusters of k rows or more, before any local search; see `Method`.

    No solution costs less than the sum of the distances to the (k - 1)-th nearest rows: a row's
    cluster has k - 1 others, the farthest of which is at least that far, and each column in which
    it differs is not constant.
    """
    cluster = np.empty(len(codes), dtype=np.int64)
    clusters = weight = number = 0
    for block in blocks(codes):
        ties, weighs = factor(codes[block], k)
        parts = pairs_and_triples(ties) if k == 2 else cut_cycles(codes[block], ties)
        cluster[block] = clusters + parts
        clusters += int(parts.max()) + 1
        weight, number = weight + weighs, number + 1
    near, distance = nearest(codes, _NEAR)
    bound = int(distance[:, k - 2].sum())
    return Clustering(cluster, near, bound, {"factor_weight": weight, "blocks": number})


def blocks(codes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield row positions (int64) in lexical order, in about equal blocks of at most a thousand."""
    order = np.lexsort(codes.T[::-1])
    yield from np.array_split(order, -(-len(codes) // _BLOCK))


def factor(codes: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Return ties of least weight between near rows: one or two of each row if k = 2, two if k = 3.

    Pairs of a ring through all rows in lexical order may be tied, too, so that there always is a
    factor.

    Args:
        codes: integers, rows x columns; at least k rows.
        k: 2 or 3.

    Returns:
        The tied rows (int64, ties x 2), and the number of cells in which they differ in all.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # imported where it is needed
    from scipy.sparse import coo_array

    pairs = _pairs(codes)
    apart = (codes[pairs[:, 0]] != codes[pairs[:, 1]]).sum(axis=1)
    number = len(pairs)
    # rows x pairs, 1 where the row is an end of the pair: each row needs k - 1 or 2 ties
    ends = coo_array((np.ones(2 * number), (pairs.T.ravel(), np.tile(np.arange(number), 2))))
    solution = milp(
        apart,
        integrality=np.ones(number),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(ends.tocsr(), k - 1, 2),
        options={"mip_rel_gap": 0},
    )
    chosen = solution.x > 0.5
    return pairs[chosen], int(apart[chosen].sum())


def _pairs(codes: np.ndarray) -> np.ndarray:
    """Return the pairs of rows that may be tied (int64, pairs x 2), each once, the lower row first.

    These are near rows, and neighbours on a ring through all rows.
    """
    rows = len(codes)
    near, _ = nearest(codes, _NEAR)
    ring = np.lexsort(codes.T[::-1])
    row = np.concatenate([np.repeat(np.arange(rows), near.shape[1]), ring])
    other = np.concatenate([near.ravel(), np.roll(ring, 1)])
    low, high = np.minimum(row, other), np.maximum(row, other)
    distinct = np.unique(low * rows + high)
    return np.stack(np.divmod(distinct, rows), axis=1)


def pairs_and_triples(ties: np.ndarray) -> np.ndarray:
    """Return the clusters of a [1,2]-factor, without ties between two rows with two ties each.

    In a factor of least weight such ties weigh nothing.

    Args:
        ties: pairs of rows (int64, ties x 2); each row occurs once or twice.

    Returns:
        The cluster of each row (int64), 0, 1, …, of two or three rows.
    """
    degree = np.bincount(ties.ravel())
    remaining = []
    for row, other in ties.tolist():
        if degree[row] == 2 and degree[other] == 2:
            degree[[row, other]] -= 1
        else:
            remaining.append((row, other))
    # a row with two ties is the middle of three; of two rows with one tie the first is the middle
    pairs = np.array(remaining)
    middle = np.where(degree[pairs[:, 1]] == 2, pairs[:, 1], pairs[:, 0])
    of_row = np.arange(len(degree))
    of_row[pairs[:, 0]], of_row[pairs[:, 1]] = middle, middle
    numbered: np.ndarray = np.unique(of_row, return_inverse=True)[1]
    return numbered


def cut_cycles(codes: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return the clusters of a 2-factor: its cycles, with longer ones cut where that costs least.

    A cycle of up to five rows is one cluster. A longer one of 3a + b rows, b < 3, becomes b paths
    of four and a - b paths of three rows.

    Args:
        codes: integers, rows x columns.
        ties: pairs of rows (int64, rows x 2); each row occurs twice.

    Returns:
        The cluster of each row (int64), 0, 1, …, of three to five rows.
    """
    cluster = np.empty(len(codes), dtype=np.int64)
    clusters = 0
    for cycle in _cycles(ties):
        parts = _best_rotation(codes[cycle])
        cluster[cycle] = clusters + parts
        clusters += int(parts.max()) + 1
    return cluster


def _cycles(ties: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows (int64) of each cycle in its order; each row has two ties."""
    both = np.concatenate([ties, ties[:, ::-1]])
    beside = both[np.argsort(both[:, 0], kind="stable"), 1].reshape(-1, 2).tolist()
    seen = np.zeros(len(beside), dtype=bool)
    for start in range(len(beside)):
        if seen[start]:
            continue
        cycle, here = [start], beside[start][0]
        while here != start:
            first, other = beside[here]
            cycle.append(here)
            here = other if first == cycle[-2] else first
        seen[cycle] = True
        yield np.array(cycle)


def _best_rotation(codes: np.ndarray) -> np.ndarray:
    """Return the cluster of each row of a cycle (int64), given the codes in the cycle's order.

    All ways to cut the cycle differ by where the first path begins; the cheapest is chosen.
    """
    length = len(codes)
    if length <= 5:
        return np.zeros(length, dtype=np.int64)
    threes, fours = divmod(length, 3)
    sizes = np.array([4] * fours + [3] * (threes - fours))
    begins = np.cumsum(sizes) - sizes
    after = [np.roll(codes, -i, axis=0) for i in range(4)]
    # the cost of the path of three, or four, rows that begins at each place
    same = (after[1] == codes) & (after[2] == codes)
    of_three = 3 * (~same).sum(axis=1)
    of_four = 4 * (~(same & (after[3] == codes))).sum(axis=1)
    # where each path begins (columns), if the first one begins at each place (rows)
    places = (np.arange(length)[:, None] + begins) % length
    costs = np.where(sizes == 4, of_four[places], of_three[places]).sum(axis=1)
    rotation = int(np.argmin(costs))
    parts = np.empty(length, dtype=np.int64)
    parts[(np.arange(length) + rotation) % length] = np.repeat(np.arange(len(sizes)), sizes)
    return parts
