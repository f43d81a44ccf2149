"""Clusters improved by moving and exchanging rows, which never raises what they cost.

A cluster costs its rows times the columns that are not constant on it
(`tasks.partitions.cell_suppression.stars`).
"""

from functools import cache

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.cell_suppression.bisection import LOOPS as BISECTION_LOOPS
from sfumato.tasks.partitions.cell_suppression.bisection import copy_rows, cut_in_two, halve
from sfumato.tasks.partitions.cell_suppression.cluster_costs import LOOPS as COST_LOOPS
from sfumato.tasks.partitions.cell_suppression.cluster_costs import (
    NONE,
    SearchState,
    spread_with,
    spread_without,
    weigh,
)

_ROUNDS = 20
_TRIALS = 200  # rows near a row that are tried, times k: larger clusters take longer to try


def improve(
    codes: np.ndarray, cluster: np.ndarray, near: np.ndarray, k: int, large: bool = False
) -> np.ndarray:
    """Clusters of k to 2k - 1 rows that cost no more than the given ones.

    Clusters of 2k rows or more are cut in two, which never costs anything. Then rows move to, or
    change places with a row of, the cluster of a row near them wherever that lowers the cost, and
    the rows of two such clusters are shared out anew. The work is bounded: each row is looked at 20
    times at most, only if its own cluster or one near it has changed, and for large k with fewer
    near it.

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
    member = np.full((rows // k + 1, max(int(sizes.max()), 4 * k)), -1, dtype=np.int64)
    member[cluster[order], np.arange(rows) - (np.cumsum(sizes) - sizes)[cluster[order]]] = order
    size, price, changed = np.zeros((3, len(member)), dtype=np.int64)
    size[: len(sizes)] = sizes
    left = np.zeros(rows, dtype=np.int64)
    odd, common = np.zeros((2, len(member), codes.shape[1]), dtype=np.int64)
    near = np.ascontiguousarray(near[:, : max(_TRIALS // k, 2)])
    codes = np.ascontiguousarray(codes)
    state = SearchState(
        *(codes, near, cluster.astype(np.int64)),
        *(member, size, price, left, changed, odd, common),
    )
    choose_loop(large, _search, _compiled_search)(state, k, len(sizes), _ROUNDS)
    return state.cluster


def _search(state: SearchState, k: int, clusters: int, rounds: int) -> None:
    """See `improve`."""
    looked = np.full(len(state.codes), -1, dtype=np.int64)  # when each row was last looked at
    space = np.empty(state.member.shape[1] * 2, dtype=np.int64)
    now = NONE + 1
    for c in range(clusters):
        weigh(state, c, now)
        clusters = halve(state, k, c, clusters, now)
    for _ in range(rounds):
        before = now
        for row in range(len(state.codes)):
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
    """True where the row's cluster or one near it has changed since the row was looked at."""
    if state.changed[state.cluster[row]] > looked:
        return True
    for other in state.near[row]:  # noqa: SIM110 - it is compiled
        if state.changed[state.cluster[other]] > looked:
            return True
    return False


def _best(state: SearchState, k: int, row: int) -> tuple[int, int]:
    """The best cluster for a row to go to, and the row that comes in exchange (-1: none)."""
    member, size, price = state.member, state.size, state.price
    a = state.cluster[row]
    gain, best, partner = 0, -1, -1
    for i in range(state.near.shape[1]):
        b = state.cluster[state.near[row, i]]
        if b == a or _seen(state, row, i):
            continue
        if size[a] > k:
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
    """The saving of a row in place of one of cluster b; 0 where that is no more than `gain`."""
    a = state.cluster[row]
    of_a, of_b = state.size[a], state.size[b]
    now = of_a * state.price[a] + of_b * state.price[b]
    left = of_a * state.left[row]
    if now - left - of_b * state.left[partner] <= gain:
        return 0
    there = of_b * spread_without(state, b, partner, row)
    if now - left - there <= gain:
        return 0
    here = of_a * spread_without(state, a, row, partner)
    saved: int = now - here - there
    return saved


def _seen(state: SearchState, row: int, i: int) -> bool:
    """True where an earlier one of the rows near a row is in the same cluster as the i-th."""
    for j in range(i):
        if state.cluster[state.near[row, j]] == state.cluster[state.near[row, i]]:
            return True
    return False


def _exchange(state: SearchState, row: int, b: int, partner: int, now: int) -> None:
    """Put a row into cluster b, and `partner` (-1: none) into its place."""
    member, size = state.member, state.size
    a = state.cluster[row]
    at = _find(member[a], row)
    if partner >= 0:
        member[b, _find(member[b], partner)] = row
        member[a, at] = partner
    else:
        size[a] -= 1
        member[a, at] = member[a, size[a]]
        member[b, size[b]] = row
        size[b] += 1
    weigh(state, a, now)
    weigh(state, b, now)


def _find(rows: np.ndarray, row: int) -> int:
    at = 0
    while rows[at] != row:
        at += 1
    return at


def _deal(
    state: SearchState, k: int, row: int, clusters: int, now: int, space: np.ndarray
) -> tuple[int, int]:
    """Share out the rows of a row's cluster and one near it anew, where that lowers the cost."""
    member, size, price = state.member, state.size, state.price
    for i in range(state.near.shape[1]):
        a, b = state.cluster[row], state.cluster[state.near[row, i]]
        if a == b or _seen(state, row, i):
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
    own = (_find, _exchange, _seen, _by_swap, _best, _deal, _stale, _search)
    return compile_loop(*COST_LOOPS, *BISECTION_LOOPS, *own)
