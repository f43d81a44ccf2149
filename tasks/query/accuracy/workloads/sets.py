"""Random sets of vectors of quasi-identifiers that select enough rows."""

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness

_SPARSE = 4  # times as many numbers, and few are drawn twice


def draw_vectors(sizes: np.ndarray, level: int, randomness: Randomness) -> np.ndarray | None:
    """Vectors in random order until they select enough rows (int64); None where there are none.

    Args:
        sizes: the rows of each vector (int64).
        level: how many rows are enough.
        randomness: what is drawn from.
    """
    if not len(sizes):
        return None
    order = some_in_random_order(len(sizes), level, randomness)
    enough = int(np.searchsorted(np.cumsum(sizes[order]), level)) + 1
    return order[:enough]


def some_in_random_order(number: int, wanted: int, randomness: Randomness) -> np.ndarray:
    """So many of the numbers below `number`, or more, as a random order of all begins (int64).

    Where few are wanted, they are drawn one by one, and those that were drawn before passed over.
    """
    if _SPARSE * wanted >= number:
        return np.argsort(randomness(number), kind="stable")
    last = np.uint64(2**64 // number * number - 1)  # beyond it some would be drawn more often
    found = np.empty(0, dtype=np.int64)
    while len(found) < wanted:
        keys = randomness(2 * wanted)
        drawn = np.concatenate([found, (keys[keys <= last] % np.uint64(number)).astype(np.int64)])
        found = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return found
