"""The 95 % ranges of many counts over rows whose values are shuffled within groups.

They are those of `counts.ShuffledGroups`. Groups of the same numbers are transformed once for all
queries.
"""

import numpy as np

from sfumato.tasks.query.intervals.counts import (
    REACH,
    WIDE,
    hypergeometric,
)
from sfumato.tasks.query.intervals.spread import Z95

_ENDS = (0.025, 0.975)
_TABLE = 1 << 20  # numbers in a table of powers, at most


def count_ranges(
    size: np.ndarray, matching: np.ndarray, selected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the 95 % range of each query's count (float64, one per query).

    Args:
        size: the number of values of each group (float64, one per group).
        matching: the number of them that match each query (float64, queries x groups).
        selected: the number of its rows that each query selects (float64, queries x groups).
    """
    mean, variance, third = _moments(size, matching, selected)
    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        lean = third / (variance * deviation) * (Z95**2 - 1) / 6
    low, high = mean + deviation * (lean - Z95), mean + deviation * (lean + Z95)
    narrow = np.flatnonzero(deviation < WIDE)
    if len(narrow):
        low[narrow], high[narrow] = _exact_ranges(size, matching[narrow], selected[narrow])
    return low, high


def _moments(
    n: np.ndarray, m: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of each count, its variance, and its third central moment."""
    mean = h * m / n
    variance = mean * (1 - m / n) * (n - h) / np.maximum(n - 1, 1)
    third = variance * (n - 2 * m) * (n - 2 * h) / (n * np.maximum(n - 2, 1))
    return mean.sum(axis=1), variance.sum(axis=1), third.sum(axis=1)


def _exact_ranges(
    size: np.ndarray, matching: np.ndarray, selected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the ranges from the exact distributions, see `count_ranges`."""
    least = np.maximum(selected + matching - size, 0).sum(axis=1).astype(np.int64)
    most = np.minimum(selected, matching).sum(axis=1).astype(np.int64)
    mean, variance, _ = _moments(size, matching, selected)
    number = most - least + 1
    length = np.minimum(number, (REACH * np.sqrt(variance)).astype(np.int64) + REACH)
    # the ring has all counts, or those around the mean; `first` is the first one, from `least`
    ring = np.left_shift(1, np.frexp(np.maximum(length - 1, 1))[1])
    first = np.where(number <= ring, 0, np.maximum(mean.astype(np.int64) - least - ring // 2, 0))
    ends = np.empty((2, len(least)))
    for size_of_ring in np.unique(ring).tolist():
        queries = np.flatnonzero(ring == size_of_ring)
        waves = _waves(size, matching[queries], selected[queries], size_of_ring)
        chances = np.maximum(np.fft.irfft(waves, size_of_ring, axis=1), 0.0)
        places = (np.arange(size_of_ring) + first[queries, None]) % size_of_ring
        below = np.cumsum(np.take_along_axis(chances, places, axis=1), axis=1)
        for end, level in zip(ends, _ENDS, strict=True):
            reached = (below < level * below[:, -1:]).sum(axis=1)
            end[queries] = (least + first)[queries] + reached
    return ends[0], ends[1]


def _waves(size: np.ndarray, matching: np.ndarray, selected: np.ndarray, length: int) -> np.ndarray:
    """Return the Fourier transform of each count's distribution around a ring of some length.

    Returns:
        One row for each query (complex128, queries x (length // 2 + 1)).
    """
    is_open = np.minimum(selected, matching) > np.maximum(selected + matching - size, 0)
    query, group = np.nonzero(is_open)
    numbers = [size[group], matching[query, group], selected[query, group]]
    most = int(size.max(initial=0)) + 1
    n, m, h = (counts.astype(np.int64) for counts in numbers)
    kinds, kind = np.unique((n * most + m) * most + h, return_inverse=True)
    pairs, times = np.unique(kind * len(matching) + query, return_counts=True)
    waves = np.ones((len(matching), length // 2 + 1), dtype=np.complex128)
    starts = np.searchsorted(pairs, np.arange(len(kinds) + 1) * len(matching))
    for place, packed in enumerate(kinds.tolist()):
        own = slice(starts[place], starts[place + 1])
        chances = hypergeometric(packed // most // most, packed // most % most, packed % most)
        around = np.bincount(np.arange(len(chances)) % length, chances, length)
        queries = pairs[own] - place * len(matching)
        waves[queries] *= _powers(np.fft.rfft(around), times[own])
    return waves


def _powers(wave: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return powers of a wave (complex128, powers x length)."""
    most = int(times.max())
    if most * len(wave) > _TABLE:
        powers: np.ndarray = wave ** times[:, None]
        return powers
    table = np.multiply.accumulate(np.tile(wave, (most, 1)), axis=0)
    return np.asarray(table[times - 1])
