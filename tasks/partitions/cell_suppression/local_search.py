"""Clusters bettered by moving and exchanging rows, which never raises what they cost.

A cluster costs its rows times the columns that are not constant on it
(`tasks.partitions.cell_suppression.stars`).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop

_ROUNDS = 20
_TRIALS = 200  # rows near a row that are tried, times k: larger clusters take longer to try
_NONE: Any = np.int64(-1)  # in compiled loops a literal would be a type of its own


def improve(
    codes: np.ndarray, cluster: np.ndarray, near: np.ndarray, k: int, large: bool = False
) -> np.ndarray:
    """Clusters of k to 2k - 1 rows that cost no more than the given ones.

    Clusters of 2k rows or more are cut in two, which never costs anything. Then rows move to, or
    change places with a row of, the cluster of a row near them wherever that lowers the cost, and
    two such clusters are dealt out anew. The work is bounded: each row is looked at 20 times at
    most, only if its own cluster or one near it has changed, and for large k with fewer near it.

    Args:
        codes: rows x columns, integers from 0.
        cluster: the cluster of each row, 0, 1, …, each of k rows at least.
        near: for each row some rows near it (positions), rows x any number.
        k: smallest size of a cluster.
        large: whether the data are large enough to compile for.

    Returns:
        The cluster of each row, 0, 1, ….
    """
    rows = len(codes)
    if k < 2 or rows < 2 * k:
        return cluster
    sizes = np.bincount(cluster)
    order = np.argsort(cluster, kind="stable")
    member = np.full((rows // k + 1, max(int(sizes.max()), 4 * k)), -1, dtype=np.int64)
    member[cluster[order], np.arange(rows) - (np.cumsum(sizes) - sizes)[cluster[order]]] = order
    size, price, changed = np.zeros((3, len(member)), dtype=np.int64)
    size[: len(sizes)] = sizes
    left = np.zeros(rows, dtype=np.int64)
    odd, common = np.zeros((2, len(member), codes.shape[1]), dtype=np.int64)
    near = np.ascontiguousarray(near[:, : max(_TRIALS // k, 2)])
    codes = np.ascontiguousarray(codes)
    found = _FoundMove(
        *(codes, near, cluster.astype(np.int64)),
        *(member, size, price, left, changed, odd, common),
    )
    choose_loop(large, _search, _compiled_search)(found, k, len(sizes), _ROUNDS)
    return found.cluster


class _FoundMove(NamedTuple):
    """Clusters while they are bettered.

    The rows of cluster c are `member[c, : size[c]]`, it is not constant on `price[c]` columns, and
    was last changed at the step `changed[c]`; without a row, its cluster would not be constant on
    `left[row]` columns. All rows of c but the row `odd[c, column]` (-1: none at all, -2: there is
    no such row) have the code `common[c, column]`.
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


def _search(found: _FoundMove, k: int, clusters: int, rounds: int) -> None:
    """See `improve`."""
    looked = np.full(len(found.codes), -1, dtype=np.int64)  # when each row was last looked at
    space = np.empty(found.member.shape[1] * 2, dtype=np.int64)
    now = _NONE + 1
    for c in range(clusters):
        _weigh(found, c, now)
        clusters = _halve(found, k, c, clusters, now)
    for _ in range(rounds):
        before = now
        for row in range(len(found.codes)):
            if found.price[found.cluster[row]] and _stale(found, row, looked[row]):
                looked[row] = now
                other, partner = _best(found, k, row)
                if other >= 0:
                    now += 1
                    _exchange(found, row, other, partner, now)
                    clusters = _halve(found, k, other, clusters, now)
                else:
                    clusters, now = _deal(found, k, row, clusters, now, space)
        if now == before:
            break


def _stale(found: _FoundMove, row: int, looked: int) -> bool:
    """Whether the row's cluster or one near it has changed since the row was looked at."""
    if found.changed[found.cluster[row]] > looked:
        return True
    for other in found.near[row]:  # noqa: SIM110 - it is compiled
        if found.changed[found.cluster[other]] > looked:
            return True
    return False


def _weigh(found: _FoundMove, c: int, now: int) -> None:
    """Note what a cluster that has changed costs, with and without each of its rows."""
    rows, size, odd = found.member[c], found.size[c], found.odd[c]
    for column in range(found.codes.shape[1]):
        odd[column] = _odd(found.codes, rows, size, column)
        usual = rows[0] if odd[column] != rows[0] else rows[1]
        found.common[c, column] = found.codes[usual, column]
    price = 0
    for column in range(len(odd)):
        price += odd[column] != -1
    found.price[c], found.changed[c] = price, now
    for i in range(size):
        found.cluster[rows[i]] = c
        found.left[rows[i]] = _without(found, c, rows[i], _NONE)


def _odd(codes: np.ndarray, rows: np.ndarray, size: int, column: int) -> int:
    """The one row that differs from all others, which are equal; -1: all are; -2: neither."""
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


def _without(found: _FoundMove, c: int, row: int, extra: int) -> int:
    """On how many columns a cluster without a row, and with another (-1: none), is not constant."""
    spread = 0
    for column in range(found.codes.shape[1]):
        odd, value = found.odd[c, column], found.common[c, column]
        if odd >= 0 and found.size[c] == 2:  # either row is the odd one
            usual = found.member[c, 0] if found.member[c, 1] == row else found.member[c, 1]
            odd, value = row, found.codes[usual, column]
        if odd == -1 or odd == row:
            spread += extra >= 0 and found.codes[extra, column] != value
        else:
            spread += 1
    return spread


def _with(found: _FoundMove, c: int, row: int) -> int:
    """On how many columns a cluster with another row is not constant."""
    spread = 0
    for column in range(found.codes.shape[1]):
        same = found.codes[row, column] == found.common[c, column]
        spread += found.odd[c, column] != -1 or not same
    return spread


def _best(found: _FoundMove, k: int, row: int) -> tuple[int, int]:
    """The cluster to which a row goes best (-1: none), and the row that comes for it (-1: none)."""
    member, size, price = found.member, found.size, found.price
    a = found.cluster[row]
    gain, best, partner = 0, -1, -1
    for i in range(found.near.shape[1]):
        b = found.cluster[found.near[row, i]]
        if b == a or _seen(found, row, i):
            continue
        if size[a] > k:
            saved = size[a] * price[a] - (size[a] - 1) * found.left[row]
            saved += size[b] * price[b] - (size[b] + 1) * _with(found, b, row)
            if saved > gain:
                gain, best, partner = saved, b, -1
        for j in range(size[b]):
            saved = _by_swap(found, row, b, member[b, j], gain)
            if saved > gain:
                gain, best, partner = saved, b, member[b, j]
    return best, partner


def _by_swap(found: _FoundMove, row: int, b: int, partner: int, gain: int) -> int:
    """What a row saves in the place of one of cluster b, or 0 where that is no more than `gain`."""
    a = found.cluster[row]
    of_a, of_b = found.size[a], found.size[b]
    now = of_a * found.price[a] + of_b * found.price[b]
    left = of_a * found.left[row]
    if now - left - of_b * found.left[partner] <= gain:
        return 0
    there = of_b * _without(found, b, partner, row)
    if now - left - there <= gain:
        return 0
    here = of_a * _without(found, a, row, partner)
    saved: int = now - here - there
    return saved


def _seen(found: _FoundMove, row: int, i: int) -> bool:
    """Whether an earlier one of the rows near a row is in the same cluster as the i-th."""
    for j in range(i):
        if found.cluster[found.near[row, j]] == found.cluster[found.near[row, i]]:
            return True
    return False


def _exchange(found: _FoundMove, row: int, b: int, partner: int, now: int) -> None:
    """Put a row into cluster b, and `partner` (-1: none) into its place."""
    member, size = found.member, found.size
    a = found.cluster[row]
    at = _find(member[a], row)
    if partner >= 0:
        member[b, _find(member[b], partner)] = row
        member[a, at] = partner
    else:
        size[a] -= 1
        member[a, at] = member[a, size[a]]
        member[b, size[b]] = row
        size[b] += 1
    _weigh(found, a, now)
    _weigh(found, b, now)


def _find(rows: np.ndarray, row: int) -> int:
    at = 0
    while rows[at] != row:
        at += 1
    return at


def _halve(found: _FoundMove, k: int, c: int, clusters: int, now: int) -> int:
    """Cut a cluster, and its parts, while they have 2k rows; the number of clusters after that."""
    member, size = found.member, found.size
    at, made = c, clusters
    while True:
        while size[at] >= 2 * k:
            cut, _ = _cut(found.codes, member[at], size[at], k)
            size[clusters] = size[at] - cut
            _copy(member[clusters], member[at, cut:], size[clusters])
            size[at] = cut
            _weigh(found, at, now)
            _weigh(found, clusters, now)
            clusters += 1
        if made == clusters:
            return clusters
        at = made
        made += 1


def _copy(into: np.ndarray, rows: np.ndarray, size: int) -> None:
    for i in range(size):  # compiling an assignment of slices takes seconds
        into[i] = rows[i]


def _cut(codes: np.ndarray, rows: np.ndarray, size: int, k: int) -> tuple[int, int]:
    """Order rows from one far row to another: where to cut them in two, and the least cost."""
    one = _farthest(codes, rows, size, rows[0])
    _order(codes, rows, size, one, _farthest(codes, rows, size, one))
    columns = codes.shape[1]
    begins, ends = np.full(columns, size), np.full(columns, -1)  # where a column first, last varies
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


def _order(codes: np.ndarray, rows: np.ndarray, size: int, one: int, other: int) -> None:
    """Order rows by how much nearer they are to one row than to another."""
    old, nearer = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for i in range(size):
        old[i] = rows[i]
        nearer[i] = _apart(codes, rows[i], one) - _apart(codes, rows[i], other)
    filled = 0
    for wanted in range(-codes.shape[1], codes.shape[1] + 1):
        for i in range(size):
            if nearer[i] == wanted:
                rows[filled] = old[i]
                filled += 1


def _farthest(codes: np.ndarray, rows: np.ndarray, size: int, row: int) -> int:
    far, most = row, 0
    for i in range(size):
        apart = _apart(codes, rows[i], row)
        if apart > most:
            far, most = rows[i], apart
    return far


def _apart(codes: np.ndarray, row: int, other: int) -> int:
    apart = 0
    for column in range(codes.shape[1]):
        if codes[row, column] != codes[other, column]:
            apart += 1
    return apart


def _deal(
    found: _FoundMove, k: int, row: int, clusters: int, now: int, space: np.ndarray
) -> tuple[int, int]:
    """Deal out anew the rows of a row's cluster and of one near it, where that lowers the cost."""
    member, size, price = found.member, found.size, found.price
    for i in range(found.near.shape[1]):
        a, b = found.cluster[row], found.cluster[found.near[row, i]]
        if a == b or _seen(found, row, i):
            continue
        both = size[a] + size[b]
        _copy(space, member[a], size[a])
        _copy(space[size[a] :], member[b], size[b])
        cut, cost = _cut(found.codes, space, both, k)
        if cost < size[a] * price[a] + size[b] * price[b]:
            now += 1
            size[a], size[b] = cut, both - cut
            _copy(member[a], space, cut)
            _copy(member[b], space[cut:], both - cut)
            _weigh(found, a, now)
            _weigh(found, b, now)
            clusters = _halve(found, k, a, clusters, now)
            clusters = _halve(found, k, b, clusters, now)
    return clusters, now


@cache
def _compiled_search() -> Loop:
    return compile_loop(
        globals(),
        *(
            _copy,
            _odd,
            _without,
            _with,
            _weigh,
            _apart,
            _farthest,
            _order,
            _cut,
            _halve,
            _find,
            _exchange,
            _seen,
        ),
        *(_by_swap, _best, _deal, _stale, _search),
    )
