"""Distributions over the values of a domain, as whole-number weights: P is weight / sum of weights.

A weight is exact if the distribution has whole-number ratios. Otherwise each weight is rounded to a
part in 10**12 of the largest, by decimal arithmetic, so that every machine computes the same; a
possible value keeps a weight of at least 1.
"""

from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.exact import Exact

_SCALE = 10**12  # parts of the largest weight, of which a rounded weight has a whole number
_DECIMALS = Context(prec=34)
_NEGLIGIBLE = -60  # the exponent of a weight far below the smallest
_FITTING = 2**62  # twice as much still fits


def weights_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return the distribution of a source, given the count of each value (integers).

    Returns:
        int64, or Python integers where their sum overflows; one per value.

    Raises:
        SpecError: if there are no values.
    """
    return whole([int(count) for count in counts])


def uniform(n: int) -> np.ndarray:
    """Return equal weights of n values (int64)."""
    return np.ones(n, dtype=np.int64)


def normal(values: Exact, mean: Decimal, variance: Decimal) -> np.ndarray:
    """Return the weight of each value, proportional to the density of a normal distribution there.

    The result is as in `whole`.
    """
    centre = Fraction(mean) * 10**values.digits
    distances = [(int(unit) - centre) ** 2 for unit in values.units]
    nearest = min(distances, default=Fraction(0))
    twice = 2 * Fraction(variance) * 10 ** (2 * values.digits)
    return whole([_density((nearest - distance) / twice) for distance in distances])


def zipf(n: int, s: Decimal) -> np.ndarray:
    """Return the weight of the r-th of n values, proportional to r**-s: Zipf's law with exponent s.

    The result is as in `whole`.
    """
    with localcontext(_DECIMALS):
        return whole([_round_weight(Decimal(rank) ** -s) for rank in range(1, n + 1)])


def weights_of_chances(distribution: Sequence[Fraction]) -> np.ndarray:
    """Return chances as whole-number weights of the same ratios (int64, or Python integers).

    >>> weights_of_chances([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]).tolist()
    [3, 2, 1]
    """
    unit = lcm(*(chance.denominator for chance in distribution))
    weights = [chance.numerator * (unit // chance.denominator) for chance in distribution]
    return np.array(weights, dtype=np.int64 if unit < _FITTING else object)


def whole(weights: Sequence[int]) -> np.ndarray:
    """Return weights without a common divisor: int64, or Python integers if their sum overflows.

    Raises:
        SpecError: if no value has a weight.
    """
    divisor = gcd(*weights)
    if not divisor:
        raise SpecError("target: at least one value needs a probability above 0")
    reduced = [weight // divisor for weight in weights]
    return np.array(reduced, dtype=np.int64 if sum(reduced) < _FITTING else object)


def _density(exponent: Fraction) -> int:
    if exponent < _NEGLIGIBLE:
        return 1
    with localcontext(_DECIMALS):
        return _round_weight((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


def _round_weight(share: Decimal) -> int:
    return max(int((share * _SCALE).to_integral_value()), 1)
