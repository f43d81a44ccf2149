"""Ratios of whole numbers compared exactly, in Python integers where int64 would overflow."""

from fractions import Fraction

import numpy as np

from sfumato.expectations.exact import INT64_MAX


def above(numerators: np.ndarray, denominators: np.ndarray, bound: Fraction) -> np.ndarray:
    """Mark where numerator / denominator > bound (bool, one per ratio); n / 0 is infinite.

    Numerators and denominators are parallel whole numbers; denominators are not negative.

    >>> above(np.array([1, 2, 1]), np.array([3, 3, 0]), Fraction(1, 3)).tolist()
    [False, True, True]
    """
    left, right = _scaled(numerators, denominators, bound)
    over: np.ndarray = left > right
    return over


def below(numerators: np.ndarray, denominators: np.ndarray, bound: Fraction) -> np.ndarray:
    """Mark where numerator / denominator < bound, for arguments as in `above`."""
    left, right = _scaled(numerators, denominators, bound)
    under: np.ndarray = left < right
    return under


def largest(numerators: np.ndarray, denominators: np.ndarray) -> Fraction | None:
    """The largest numerator / denominator, None where there is none.

    Numerators and denominators are parallel whole numbers; denominators are positive.
    """
    return _extreme(numerators, denominators, sign=1)


def smallest(numerators: np.ndarray, denominators: np.ndarray) -> Fraction | None:
    """The smallest numerator / denominator, with arguments as for `largest`."""
    return _extreme(numerators, denominators, sign=-1)


def _scaled(
    numerators: np.ndarray, denominators: np.ndarray, bound: Fraction
) -> tuple[np.ndarray, np.ndarray]:
    most = max(_most(numerators) * bound.denominator, _most(denominators) * abs(bound.numerator))
    if most > INT64_MAX:
        numerators, denominators = numerators.astype(object), denominators.astype(object)
    return numerators * bound.denominator, denominators * bound.numerator


def _most(numbers: np.ndarray) -> int:
    return max(abs(int(numbers.max())), abs(int(numbers.min()))) if len(numbers) else 0


def _extreme(numerators: np.ndarray, denominators: np.ndarray, sign: int) -> Fraction | None:
    if not len(numerators):
        return None
    ratios = sign * (numerators / denominators).astype(np.float64)
    tied = ratios >= ratios.max() - 1e-12 * abs(ratios.max())  # a quotient is off by far less
    pairs = set(zip(numerators[tied].tolist(), denominators[tied].tolist(), strict=True))
    return sign * max(sign * Fraction(n, d) for n, d in pairs)
