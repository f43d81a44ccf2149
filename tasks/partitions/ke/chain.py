"""Chains of groups of sorted values in which only neighbours overlap, found by recursion.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
Whether groups within some range exist is decided over pairs of the least value of a group and the
greatest value of the group before. For each pair it suffices to know how many different values the
overlap can give the group at most; of several that lead to the same choice, the one in which the
group has the most values is the best. O(d w²) for d distinct values, w of them within the range.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop

_STEPS_WORTH_COMPILING = 10**5


class Chain(NamedTuple):
    """The least and greatest value of each group, and the values that pass to the next (int64).

    `passed` are values that a group and the next could both have: of those with copies one is
    passed, of those without the value itself.
    """

    least: np.ndarray
    greatest: np.ndarray
    passed: np.ndarray


def chain_within(first: np.ndarray, last: np.ndarray, twice: np.ndarray, k: int) -> Chain | None:
    """A chain of groups of k distinct values that has all values, None where there is none.

    Args:
        first: for each value as the least of a group, the first that may be its greatest (int64);
            the number of values where there is none.
        last: the last that may be (int64).
        twice: how many of the values before each one occur more than once, and how many in all
            (int64).
        k: smallest number of distinct values in a group.
    """
    d = len(first)
    offset = np.append(0, np.cumsum(last - np.arange(d) + 2))
    value = np.full(offset[-1] + 1, -1, dtype=np.int32)
    before = np.zeros(offset[-1] + 1, dtype=np.int32)
    best = np.zeros(int(np.diff(offset).max()), dtype=np.int64)
    large = float((np.diff(offset).astype(np.float64) ** 2).sum()) >= _STEPS_WORTH_COMPILING
    decide = _compiled_decide() if large else _decide
    if not decide(first, last, twice, k, offset, value, before, best):
        return None
    return _read(twice, k, offset, value, before)


def _decide(
    first: Any, last: Any, twice: Any, k: int, offset: Any, value: Any, before: Any, best: Any
) -> bool:
    """Fill `value` and `before` of each state; return whether a chain reaches the end.

    A state is the least value a of a group and the number `over` of values from there to the
    greatest of the group before, at `offset[a] + over`. `value` is the largest number of different
    values that the overlap gives the group, -1 where the state is not reached; `before` is the
    least value of the group before. `best[t]` is the most that `value - over` can be where over is
    at most t.
    """
    value[0] = 0
    for a in range(len(first)):
        most = -1 - len(first)
        for over in range(last[a] - a + 1):
            at = value[offset[a] + over]
            if at >= 0 and at - over > most:
                most = at - over
            best[over] = most
        for b in range(first[a], last[a] + 1):
            if best[b - a] + b - a + 1 >= k and value[offset[b + 1]] < 0:
                value[offset[b + 1]] = 0
                before[offset[b + 1]] = a
            _overlap(a, b, twice, k, offset, value, before, best)
    return bool(value[offset[len(first)]] >= 0)


def _overlap(
    a: int, b: int, twice: Any, k: int, offset: Any, value: Any, before: Any, best: Any
) -> None:
    """Enter all states that overlap a group from a to b."""
    single = 1 - (twice[b + 1] - twice[b])
    for then in range(a + 1, b + 1 - single):
        doubled = twice[b + 1] - twice[then]
        passed = 1 - (twice[then + 1] - twice[then])
        spare = b - then + 1 - doubled - single - passed
        missing = max(0, k - best[then - a] - (then - a) - doubled - single)
        given = doubled + passed + spare - missing
        state = offset[then] + b - then + 1
        if missing <= spare and given > value[state]:
            value[state] = given
            before[state] = a


def _read(
    twice: np.ndarray, k: int, offset: np.ndarray, value: np.ndarray, before: np.ndarray
) -> Chain:
    """The chain, read backwards from its end."""
    then, over = len(offset) - 1, 0
    least, greatest, passed = [], [], []
    while then > 0:
        a, b = int(before[offset[then] + over]), then + over - 1
        widest = then - a if over else b - a
        states = value[offset[a] : offset[a] + widest + 1]
        gains = np.where(states >= 0, states - np.arange(len(states)), np.iinfo(np.int64).min)
        if over:
            had = int(gains.max()) + then - a
            passed.append(_passed(twice, then, b, k - had))
        then, over = a, int(gains.argmax())
        least.append(a)
        greatest.append(b)
    every = np.concatenate(passed) if passed else np.array([], dtype=np.int64)
    return Chain(np.array(least[::-1]), np.array(greatest[::-1]), every)


def _passed(twice: np.ndarray, least: int, greatest: int, wanted: int) -> np.ndarray:
    """The values from `least` to `greatest` that a group passes on, still wanting `wanted`."""
    shared = np.arange(least, greatest + 1)
    single = np.diff(twice[least : greatest + 2]) == 0
    wanted -= int((~single).sum()) + int(single[-1])
    keeps = np.zeros(len(shared), dtype=bool)
    keeps[-1] = single[-1]
    free = np.flatnonzero(single[1:-1]) + 1
    keeps[free[: max(wanted, 0)]] = True
    return shared[~keeps]


def pieces(chain: Chain, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of the sorted multiset: the number of rows and the group of each (both int64).

    `counts` is the number of rows of each value (int64, ascending in the value).
    """
    values = np.arange(len(counts))
    group = np.searchsorted(chain.greatest, values)  # the first that may have the value
    right = np.zeros(len(counts), dtype=np.int64)
    right[chain.passed] = 1
    sizes = np.stack([counts - right, right], axis=1).ravel()
    groups = np.stack([group, group + 1], axis=1).ravel()
    return sizes[sizes > 0], groups[sizes > 0]


@cache
def _compiled_decide() -> Loop:
    return compile_loop(_overlap, _decide)
