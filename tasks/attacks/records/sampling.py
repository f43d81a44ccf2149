"""Whom attacks on records try, and how sure what they find is."""

from fractions import Fraction
from math import ceil

import numpy as np

ATTEMPTS = 500


def some_people(people: int, most: int, drawing: np.random.Generator) -> np.ndarray:
    """Whom an attack tries: everybody, or as many as it tries at most (positions, int64)."""
    return np.arange(people) if people <= most else drawing.choice(people, most, replace=False)


def most_likely(found: Fraction | int, of: int) -> float:
    """The one-sided 95 % limit of Clopper and Pearson (1934) on a share.

    Args:
        found: how many of the tries succeed; expected numbers are rounded up.
        of: how many tries there were.
    """
    from scipy.stats import beta  # imported where it is used: it takes long

    whole = ceil(found)
    return 1.0 if whole >= of else float(beta.ppf(0.95, whole + 1, of - whole))
