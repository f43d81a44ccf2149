"""How sensitive values go with quasi-identifiers, counted with noise.

Source: the two-sided geometric mechanism of Ghosh, Roughgarden and Sundararajan, Universally
utility-maximizing privacy mechanisms (STOC 2009). The counts of all quasi-identifiers together are
ε-differentially private in one person's sensitive value: another value lowers one count and raises
another for each quasi-identifier.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness


def count_with_noise(
    bands: Sequence[np.ndarray],
    codes: np.ndarray,
    values: int,
    epsilon: float,
    randomness: Randomness,
) -> list[np.ndarray]:
    """How many rows of each band have each value (int64, bands x values), for each column.

    Args:
        bands: of each row by each quasi-identifier (int64, one array per quasi-identifier).
        codes: the sensitive value of each row (integers from 0).
        values: the number of values.
        epsilon: of the guarantee for one row's value, over all columns together.
        randomness: where noise comes from.
    """
    found = []
    for band in bands:
        number = int(band.max(initial=-1)) + 1
        counts = np.bincount(band * values + codes, minlength=number * values)
        noise = two_sided_geometric(len(counts), epsilon / (2 * len(bands)), randomness)
        found.append((counts + noise).reshape(number, values))
    return found


def two_sided_geometric(n: int, epsilon: float, randomness: Randomness) -> np.ndarray:
    """So many draws (int64), x with a probability in proportion to exp(-epsilon |x|)."""
    first, second = ((randomness(n) >> np.uint64(11)) + np.uint64(1) for _ in range(2))
    geometric = [np.floor(np.log(u / 2.0**53) / -epsilon) for u in (first, second)]
    return np.asarray(geometric[0] - geometric[1], dtype=np.int64)
