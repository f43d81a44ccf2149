"""Groups that share out the sorted values: what the methods for (k,e)-anonymity have in common."""

import numpy as np

from tasks.microdata.randomness import Randomness

WORTH_COMPILING = 20_000  # values: below, interpreting takes less time than loading the compiled


def feasible(values: np.ndarray, k: int, e: int) -> bool:
    """Whether all values (distinct, ascending) together are k distinct ones spanning e."""
    return len(values) >= k and int(values[-1]) - int(values[0]) >= e


def bounds_of(starts: np.ndarray, copies: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Where runs begin in the whole multiset, given where they begin among the first copies."""
    ends = np.cumsum(copies)
    value = np.searchsorted(ends, starts, side="right")
    inner = starts - (ends[value] - copies[value])
    below = np.cumsum(counts)
    return np.append(below[value] - counts[value] + inner, below[-1])


def starts_of(start: np.ndarray) -> np.ndarray:
    """Where the runs of an optimum begin, read backwards from where the last run before each end is."""
    chain = [int(start[-1])]
    while chain[-1]:
        chain.append(int(start[chain[-1]]))
    return np.array(chain[::-1])


def assign(
    codes: np.ndarray, values: int, bounds: np.ndarray, randomness: Randomness
) -> np.ndarray:
    """The run of each row, given where runs begin among the sorted codes.

    Only rows whose value two runs share need an order, and get a random one.

    Args:
        codes: the value of each row, below `values`.
        values: how many values there are.
        bounds: where runs begin among the sorted codes, and the number of rows.
        randomness: where the order of rows with equal values comes from.
    """
    below = np.append(0, np.cumsum(np.bincount(codes, minlength=values)))
    first = np.searchsorted(bounds, below[:-1], side="right") - 1
    last = np.searchsorted(bounds, below[1:] - 1, side="right") - 1
    group: np.ndarray = first[codes]
    shared = np.flatnonzero((first < last)[codes])
    order = shared[np.lexsort((randomness(len(shared)), codes[shared]))]
    ordered = codes[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    group[order] = np.searchsorted(bounds, below[ordered] + rank, side="right") - 1
    return group
