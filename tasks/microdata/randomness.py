"""Sources of randomness: always an argument, never a seed of anything published.

`Randomness` takes n and returns n fresh unsigned 64-bit keys; a random order is a sort by them.
"""

import os
from collections.abc import Callable

import numpy as np

Randomness = Callable[[int], np.ndarray]


def operating_system(n: int) -> np.ndarray:
    """Keys from the operating system (uint64, n of them), from which all published is drawn."""
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


def seeded_keys(seed: int) -> Randomness:
    """Keys that can be drawn again, for tests and experiments."""
    generator = np.random.default_rng(seed)
    return generator.bit_generator.random_raw  # the keys that `integers` gives, in less time
