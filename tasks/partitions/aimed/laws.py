"""Chances of what is dealt: some rows of a table get values of its multiset at random."""

from functools import cache
from typing import Any

import numpy as np

_MANY = 4096  # distinct values, beyond which a bound takes the place of the law


def log_choose(n: Any, k: Any) -> np.ndarray:
    """The logarithm of the number of ways to choose k of n (integers, arrays); -inf for none."""
    n, k = np.asarray(n, dtype=np.int64), np.asarray(k, dtype=np.int64)
    possible = (k >= 0) & (k <= n)
    n, k = np.maximum(n, 0), np.where(possible, k, 0)
    logs = _log_factorials(int(n.max(initial=0)).bit_length())
    return np.where(possible, logs[n] - logs[k] - logs[n - k], -np.inf)


@cache
def _log_factorials(bits: int) -> np.ndarray:
    """The logarithm of the factorial of every integer below 2**bits (float64)."""
    return np.append(0.0, np.cumsum(np.log(np.arange(1, 2**bits))))


def chance_of_too_few(values: np.ndarray, counts: np.ndarray, rows: int, k: int, e: int) -> float:
    """A bound on the chance that rows dealt at random have fewer than k values, or span below e.

    Args:
        values: distinct, ascending, int64 or Python integers.
        counts: how often each occurs (int64).
        rows: how many of all are dealt.
        k: smallest number of distinct values.
        e: smallest range.
    """
    total = int(counts.sum())
    if rows >= total:
        return float(len(values) < k or int(values[-1]) - int(values[0]) < e)
    alike = 0.0 if _differ_surely(counts, rows, k) else _too_alike(counts, rows / total, k)
    return min(1.0, _too_narrow(values, counts, rows, e) + alike)


def _too_narrow(values: np.ndarray, counts: np.ndarray, rows: int, e: int) -> float:
    """The chance that the values span less than e: all lie within e of the least one."""
    if e <= 0:
        return 0.0
    before = np.append(0, np.cumsum(counts))
    end = np.searchsorted(values, values + e, side="left")
    within = before[end] - before[:-1]
    all_ways = log_choose(before[-1], rows)
    least = np.exp(log_choose(within, rows) - all_ways)
    return float((least - np.exp(log_choose(within - counts, rows) - all_ways)).sum())


def _differ_surely(counts: np.ndarray, rows: int, k: int) -> bool:
    """Decide whether the k - 1 values that occur most often are fewer than the rows."""
    others = max(len(counts) - max(k - 1, 0), 0)
    return len(counts) >= k and int(np.partition(counts, others - 1)[others:].sum()) < rows


def _too_alike(counts: np.ndarray, share: float, k: int) -> float:
    """A bound on the chance of fewer than k distinct values.

    Were each row dealt by itself with this chance, the number of rows would be binomial, whose
    median is its whole mean. Fewer rows have fewer values, so the chance given that mean is at most
    twice that of the independent ones.
    """
    if k <= 1:
        return 0.0
    there = 1 - (1 - share) ** counts
    mean = float(there.sum())
    if len(counts) > _MANY:  # Chernoff's bound of a sum of independent ones
        return 1.0 if mean < k else 2 * float(np.exp(-((mean - k + 1) ** 2) / (2 * mean)))
    law = np.zeros(k)
    law[0] = 1.0
    for chance in there.tolist():
        law[1:] = law[1:] * (1 - chance) + law[:-1] * chance
        law[0] *= 1 - chance
    return 2 * float(law.sum())
