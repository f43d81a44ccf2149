"""Clusters improved by moving, exchanging and cutting, which never raises their cost.

The cost of a cluster is its number of rows times the number of columns that are not constant on it
(`tasks.partitions.cell_suppression.clusters`). A column is constant on a cluster if all rows of the
cluster have the same code there. Loops number the clusters (`a`, `b` or `c`), and count the changes
made so far as steps (`now`).

`LOOPS` has the functions that are compiled for large data, in the order in which they call one
another.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop

NONE: Any = np.int64(-1)  # in compiled loops a literal would be a type of its own
_ROUNDS = 20  # over all rows, at most
_TRIALS = 200  # near rows tried for each row, times k: larger clusters take longer to try


class SearchState(NamedTuple):
    """Clusters while they are improved.

    `codes` are integers, all other arrays int64.

    Attributes:
        codes: the code of each row in each column (rows x columns).
        near: some rows near each row (rows x any number).
        cluster: the cluster of each row.
        member: the rows of cluster c are `member[c, : size[c]]`.
        size: the number of rows of each cluster.
        price: the number of columns that are not constant on each cluster.
        left: for each row, the number of columns that would not be constant on its cluster without
            the row.
        changed: the step at which each cluster was last changed.
        odd: for each cluster and column, the only row whose code differs from the one that all
            other rows share; -1 if all codes are equal, -2 if there is no such row.
        common: for each cluster and column, the code of all rows but the odd one; without meaning
            where `odd` is -2.
    """

    codes: np.ndarray
    near: np.ndarray
    cluster: np.ndarray
    member: np.ndarray
    size: np.ndarray
    price: np.ndarray
    left: np.ndarray
    changed: np.ndarray
    odd: np.ndarray
    common: np.ndarray


def weigh(state: SearchState, c: int, now: int) -> None:
    """Note the cost of a cluster that has changed at step `now`, with and without each row."""
    rows, size, odd = state.member[c], state.size[c], state.odd[c]
    for column in range(state.codes.shape[1]):
        odd[column] = _odd(state.codes, rows, size, column)
        usual = rows[0] if odd[column] != rows[0] else rows[1]
        state.common[c, column] = state.codes[usual, column]
    price = 0
    for column in range(len(odd)):
        price += odd[column] != -1
    state.price[c], state.changed[c] = price, now
    for i in range(size):
        state.cluster[rows[i]] = c
        state.left[rows[i]] = spread_without(state, c, rows[i], NONE)


def _odd(codes: np.ndarray, rows: np.ndarray, size: int, column: int) -> int:
    """Return the only row whose code differs from the code that all others share.

    Returns -1 if all codes are equal, and -2 if there is no such row. Of two rows with different
    codes it is the second.
    """
    value, other, others = codes[rows[0], column], -1, 0
    for i in range(1, size):
        if codes[rows[i], column] != value:
            others += 1
            if other < 0:
                other = rows[i]
            elif codes[rows[i], column] != codes[other, column]:
                return -2
    if others < 2:
        return other
    return rows[0] if others == size - 1 else -2


def spread_without(state: SearchState, c: int, row: int, extra: int) -> int:
    """Return how many columns vary on a cluster without `row` and with `extra` (-1: none)."""
    spread = 0
    for column in range(state.codes.shape[1]):
        odd, value = state.odd[c, column], state.common[c, column]
        if odd >= 0 and state.size[c] == 2:  # either row is the odd one
            usual = state.member[c, 0] if state.member[c, 1] == row else state.member[c, 1]
            odd, value = row, state.codes[usual, column]
        if odd == -1 or odd == row:
            spread += extra >= 0 and state.codes[extra, column] != value
        else:
            spread += 1
    return spread


def spread_with(state: SearchState, c: int, row: int) -> int:
    """Return the number of columns on which a cluster with another row is not constant."""
    spread = 0
    for column in range(state.codes.shape[1]):
        same = state.codes[row, column] == state.common[c, column]
        spread += state.odd[c, column] != -1 or not same
    return spread


LOOPS = (_odd, spread_without, spread_with, weigh)


def halve(state: SearchState, k: int, c: int, clusters: int, now: int) -> int:
    """Cut a cluster and its parts while they have 2k rows; return the new number of clusters.

    There are `clusters` before; each part that is cut off gets the next number. `now` is the step.
    """
    member, size = state.member, state.size
    current, made = c, clusters
    while True:
        while size[current] >= 2 * k:
            cut, _ = cut_in_two(state.codes, member[current], size[current], k)
            size[clusters] = size[current] - cut
            copy_rows(member[clusters], member[current, cut:], size[clusters])
            size[current] = cut
            weigh(state, current, now)
            weigh(state, clusters, now)
            clusters += 1
        if made == clusters:
            return clusters
        current = made
        made += 1


def copy_rows(into: np.ndarray, rows: np.ndarray, size: int) -> None:
    """Copy the first `size` rows to the beginning of `into` (both int64)."""
    for i in range(size):  # compiling an assignment of slices takes seconds
        into[i] = rows[i]


def cut_in_two(codes: np.ndarray, rows: np.ndarray, size: int, k: int) -> tuple[int, int]:
    """Order rows from one far row to another; return the place of the cut, and the least cost.

    Args:
        codes: integers, rows x columns.
        rows: positions of rows (int64), of which the first `size` are ordered in place.
        size: the number of rows, at least 2k.
        k: smallest size of a part.

    Returns:
        The number of rows before the cut, and the cost of both parts together.
    """
    start = _farthest(codes, rows, size, rows[0])
    _order(codes, rows, size, start, _farthest(codes, rows, size, start))
    columns = codes.shape[1]
    # by column: the first place with another code than the first row, the last with another than
    # the last row; so the rows before a cut vary if `begins` is before it, the others if `ends` is
    # not
    begins, ends = np.full(columns, size), np.full(columns, -1)
    for column in range(columns):
        for i in range(size):
            if codes[rows[i], column] != codes[rows[0], column]:
                begins[column] = min(begins[column], i)
            if codes[rows[i], column] != codes[rows[size - 1], column]:
                ends[column] = i
    best, least = k, -1
    for cut in range(k, size - k + 1):
        cost = 0
        for column in range(columns):
            cost += cut * (begins[column] < cut) + (size - cut) * (ends[column] >= cut)
        if least < 0 or cost < least:
            best, least = cut, cost
    return best, least


def _order(codes: np.ndarray, rows: np.ndarray, size: int, start: int, other: int) -> None:
    """Order rows by their distance to one row, minus their distance to another."""
    old, nearer = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for i in range(size):
        old[i] = rows[i]
        nearer[i] = _distance(codes, rows[i], start) - _distance(codes, rows[i], other)
    filled = 0
    for difference in range(-codes.shape[1], codes.shape[1] + 1):
        for i in range(size):
            if nearer[i] == difference:
                rows[filled] = old[i]
                filled += 1


def _farthest(codes: np.ndarray, rows: np.ndarray, size: int, row: int) -> int:
    far, most = row, 0
    for i in range(size):
        apart = _distance(codes, rows[i], row)
        if apart > most:
            far, most = rows[i], apart
    return far


def _distance(codes: np.ndarray, row: int, other: int) -> int:
    apart = 0
    for column in range(codes.shape[1]):
        if codes[row, column] != codes[other, column]:
            apart += 1
    return apart


LOOPS_OF_BISECTION = (copy_rows, _distance, _farthest, _order, cut_in_two, halve)


def improve(
    codes: np.ndarray, cluster: np.ndarray, near: np.ndarray, k: int, large: bool = False
) -> np.ndarray:
    """Return clusters of k to 2k - 1 rows that cost no more than the given ones.

    Clusters of 2k rows or more are cut in two, which never raises the cost. Then a row moves to the
    cluster of a row near it, or changes places with one of its rows, wherever that lowers the cost;
    otherwise the rows of two such clusters are shared out anew. The work is bounded: each row is
    visited at most 20 times, only if its own cluster or one near it has changed, and for large k
    with fewer near rows.

    Args:
        codes: integers from 0, rows x columns.
        cluster: the cluster of each row (integers), 0, 1, …, each of at least k rows.
        near: some rows near each row (int64 positions, rows x any number).
        k: smallest size of a cluster.
        large: whether the data are large enough to compile for.

    Returns:
        The cluster of each row (int64), 0, 1, ….
    """
    rows = len(codes)
    if k < 2 or rows < 2 * k:
        return cluster
    sizes = np.bincount(cluster)
    order = stable_order(cluster)
    # room for the largest cluster: later ones, even before they are cut in two, have less than 4k
    member = np.full((rows // k + 1, max(int(sizes.max()), 4 * k)), -1, dtype=np.int64)
    member[cluster[order], np.arange(rows) - (np.cumsum(sizes) - sizes)[cluster[order]]] = order
    size, price, changed = np.zeros((3, len(member)), dtype=np.int64)
    size[: len(sizes)] = sizes
    spread = np.zeros(rows, dtype=np.int64)
    odd, common = np.zeros((2, len(member), codes.shape[1]), dtype=np.int64)
    near = np.ascontiguousarray(near[:, : max(_TRIALS // k, 2)])
    codes = np.ascontiguousarray(codes)
    state = SearchState(
        *(codes, near, cluster.astype(np.int64)),
        *(member, size, price, spread, changed, odd, common),
    )
    choose_loop(large, _search, _compiled_search)(state, k, len(sizes), _ROUNDS)
    return state.cluster


def _search(state: SearchState, k: int, clusters: int, rounds: int) -> None:
    """Improve clusters in place, in at most `rounds` rounds over all rows; see `improve`."""
    looked = np.full(len(state.codes), -1, dtype=np.int64)  # when each row was last looked at
    space = np.empty(state.member.shape[1] * 2, dtype=np.int64)  # for the rows of two clusters
    now = NONE + 1
    for c in range(clusters):
        weigh(state, c, now)
        clusters = halve(state, k, c, clusters, now)
    for _ in range(rounds):
        before = now
        for row in range(len(state.codes)):
            # skip rows in clusters without cost, and rows near which nothing changed since a look
            if state.price[state.cluster[row]] and _stale(state, row, looked[row]):
                looked[row] = now
                other, partner = _best(state, k, row)
                if other >= 0:
                    now += 1
                    _exchange(state, row, other, partner, now)
                    clusters = halve(state, k, other, clusters, now)
                else:
                    clusters, now = _deal(state, k, row, clusters, now, space)
        if now == before:
            break


def _stale(state: SearchState, row: int, looked: int) -> bool:
    """Return True if the row's cluster or one near it has changed since the row was looked at."""
    if state.changed[state.cluster[row]] > looked:
        return True
    for other in state.near[row]:  # noqa: SIM110 - it is compiled
        if state.changed[state.cluster[other]] > looked:
            return True
    return False


def _best(state: SearchState, k: int, row: int) -> tuple[int, int]:
    """Return the best cluster for a row to move to, and the row in exchange (-1: none).

    The cluster is -1 if no move lowers the cost.
    """
    member, size, price = state.member, state.size, state.price
    a = state.cluster[row]
    gain, best, partner = 0, -1, -1
    for i in range(state.near.shape[1]):
        b = state.cluster[state.near[row, i]]
        if b == a or _is_repeat(state, row, i):
            continue
        if size[a] > k:  # the row may leave without another in exchange
            saved = size[a] * price[a] - (size[a] - 1) * state.left[row]
            saved += size[b] * price[b] - (size[b] + 1) * spread_with(state, b, row)
            if saved > gain:
                gain, best, partner = saved, b, -1
        for j in range(size[b]):
            saved = _by_swap(state, row, b, member[b, j], gain)
            if saved > gain:
                gain, best, partner = saved, b, member[b, j]
    return best, partner


def _by_swap(state: SearchState, row: int, b: int, partner: int, gain: int) -> int:
    """Return the saving if a row and the row `partner` of cluster b change places.

    Returns 0 if the saving is at most `gain`.
    """
    a = state.cluster[row]
    of_a, of_b = state.size[a], state.size[b]
    now = of_a * state.price[a] + of_b * state.price[b]
    # another row never lowers a cost, so the cost of what remains bounds the new cost from below
    remaining = of_a * state.left[row]
    if now - remaining - of_b * state.left[partner] <= gain:
        return 0
    there = of_b * spread_without(state, b, partner, row)
    if now - remaining - there <= gain:
        return 0
    here = of_a * spread_without(state, a, row, partner)
    saved: int = now - here - there
    return saved


def _is_repeat(state: SearchState, row: int, i: int) -> bool:
    """Return True if one of the first i rows near a row is in the same cluster as the i-th."""
    for j in range(i):
        if state.cluster[state.near[row, j]] == state.cluster[state.near[row, i]]:
            return True
    return False


def _exchange(state: SearchState, row: int, b: int, partner: int, now: int) -> None:
    """Put a row into cluster b, and `partner` (-1: none) into its place."""
    member, size = state.member, state.size
    a = state.cluster[row]
    place = _find(member[a], row)
    if partner >= 0:
        member[b, _find(member[b], partner)] = row
        member[a, place] = partner
    else:
        size[a] -= 1
        member[a, place] = member[a, size[a]]
        member[b, size[b]] = row
        size[b] += 1
    weigh(state, a, now)
    weigh(state, b, now)


def _find(rows: np.ndarray, row: int) -> int:
    place = 0
    while rows[place] != row:
        place += 1
    return place


def _deal(
    state: SearchState, k: int, row: int, clusters: int, now: int, space: np.ndarray
) -> tuple[int, int]:
    """Share out the rows of a row's cluster and a near cluster anew, if that lowers the cost.

    Returns:
        The new number of clusters, and the new number of steps.
    """
    member, size, price = state.member, state.size, state.price
    for i in range(state.near.shape[1]):
        a, b = state.cluster[row], state.cluster[state.near[row, i]]
        if a == b or _is_repeat(state, row, i):
            continue
        both = size[a] + size[b]
        copy_rows(space, member[a], size[a])
        copy_rows(space[size[a] :], member[b], size[b])
        cut, cost = cut_in_two(state.codes, space, both, k)
        if cost < size[a] * price[a] + size[b] * price[b]:
            now += 1
            size[a], size[b] = cut, both - cut
            copy_rows(member[a], space, cut)
            copy_rows(member[b], space[cut:], both - cut)
            weigh(state, a, now)
            weigh(state, b, now)
            clusters = halve(state, k, a, clusters, now)
            clusters = halve(state, k, b, clusters, now)
    return clusters, now


@cache
def _compiled_search() -> Loop:
    own = (_find, _exchange, _is_repeat, _by_swap, _best, _deal, _stale, _search)
    return compile_loop(*LOOPS, *LOOPS_OF_BISECTION, *own)
