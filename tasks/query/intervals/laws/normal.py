"""The normal distribution in logarithms, so that far tails keep their digits."""

import math
from statistics import NormalDist

Z95 = NormalDist().inv_cdf(0.975)
"""How many standard deviations from the middle 95 % of a normal distribution end."""

_FAR = 35.0  # standard deviations, beyond which the tail is no float
_TINY = math.log(1e-280)


def log_tail(z: float) -> float:
    """The logarithm of the probability beyond `z` standard deviations above the middle."""
    if z < _FAR:
        return math.log(0.5 * math.erfc(z / math.sqrt(2)))
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi))


def deviations_of(log_probability: float) -> float:
    """How many standard deviations above the middle a tail begins; 0 where it is a half or more.

    >>> round(deviations_of(log_tail(3.0)), 6), round(deviations_of(log_tail(60.0)), 1)
    (3.0, 60.0)
    """
    if log_probability >= math.log(0.5):
        return 0.0
    if log_probability == -math.inf:
        return math.inf
    if log_probability > _TINY:
        return -NormalDist().inv_cdf(math.exp(log_probability))
    z = math.sqrt(-2 * log_probability)
    for _ in range(8):
        z = math.sqrt(-2 * (log_probability + math.log(z * math.sqrt(2 * math.pi))))
    return z
