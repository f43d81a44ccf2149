"""The extremes of a quantile over values of which some surely count and others possibly do.

Of the values that may count, the lowest ones bring a quantile down furthest. For each number of
them (`added`) the quantile is looked up, and the least one is the bound. The greatest quantile is
the negative of the least quantile of the negated values. Exact, in integers.

A place counts the values below, in their order, from 0; a position is that of a distinct value.
"""

from fractions import Fraction

import numpy as np

from sfumato.tasks.query.bounds.extremes import Counting

_WORD = 62  # bits of an int64 that products may use


def quantiles(
    units: np.ndarray, low: Counting, high: Counting, share: Fraction, *, between: bool
) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest quantile of at least one value.

    Args:
        units: the distinct values, ascending (int64 or Python integers).
        low: the copies that count for lower bounds.
        high: the copies that count for upper bounds.
        share: the share of the values that are below the quantile, from 0 to 1.
        between: whether it is interpolated between two values, as PERCENTILE_CONT is, or is one of
            them, as PERCENTILE_DISC is.
    """
    if between:
        from_above = Counting(high.sure[::-1], high.maybe[::-1])
        return _least(units, low, share), -_least(-units[::-1], from_above, 1 - share)
    return _least_value(units, low, share), _greatest_value(units, high, share)


def _least(units: np.ndarray, counting: Counting, share: Fraction) -> Fraction:
    """Return the least interpolated quantile."""
    added, number = _possible_counts(counting)
    under = share.denominator
    # the quantile lies rest / under of the way from the value at `place` to the next one
    place, rest = _multiply_by_share(number - 1, share)
    first = units[_positions_at(counting, place, added)]
    second = units[_positions_at(counting, np.minimum(place + 1, number - 1), added)]
    largest = max(abs(int(units[0])), abs(int(units[-1])), 1)
    if largest.bit_length() + under.bit_length() + 1 > _WORD:
        first, second, rest = (numbers.astype(object) for numbers in (first, second, rest))
    return Fraction(int((first * under + rest * (second - first)).min()), under)


def _least_value(units: np.ndarray, counting: Counting, share: Fraction) -> Fraction:
    """Return the least quantile that is one of the values."""
    added, number = _possible_counts(counting)
    return Fraction(int(units[_positions_at(counting, _place(number, share), added)].min()))


def _greatest_value(units: np.ndarray, counting: Counting, share: Fraction) -> Fraction:
    """Return the greatest quantile that is one of the values, by counting the values from above."""
    turned = Counting(counting.sure[::-1], counting.maybe[::-1])
    added, number = _possible_counts(turned)
    place = number - 1 - _place(number, share)
    return Fraction(int(units[::-1][_positions_at(turned, place, added)].max()))


def _place(number: np.ndarray, share: Fraction) -> np.ndarray:
    """Return the place of the value up to which (included) a share of all values lies."""
    place, rest = _multiply_by_share(number, share)
    rounded: np.ndarray = np.maximum(place + (rest > 0), 1) - 1
    return rounded


def _multiply_by_share(number: np.ndarray, share: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole part of numbers times a share (int64), and the rest times its denominator.

    Shares of many digits are multiplied as Python integers, which cannot overflow.
    """
    over, under = share.numerator, share.denominator
    largest = int(number.max()) if len(number) else 0
    if max(over, under).bit_length() + largest.bit_length() > _WORD:
        exact = number.astype(object) * over
        return (exact // under).astype(np.int64), exact % under
    return over * number // under, over * number % under


def _possible_counts(counting: Counting) -> tuple[np.ndarray, np.ndarray]:
    """Return the possible numbers of added values, and of all values that then count (int64)."""
    sure = int(counting.sure.sum())
    added = np.arange(0 if sure else 1, int(counting.maybe.sum()) + 1)
    return added, added + sure


def _positions_at(counting: Counting, place: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Return the position of the value at a place, if the first `added` possible values count.

    `place` and `added` are parallel (int64).
    """
    sure, maybe = np.cumsum(counting.sure), np.cumsum(counting.maybe)
    if not counting.maybe.any():  # it is known which values count
        return np.minimum(np.searchsorted(sure, place, side="right"), len(sure) - 1)
    # a binary search for all places at once: the first value up to which more than `place` count
    low = np.zeros(len(place), dtype=np.int64)
    high = np.full(len(place), len(sure) - 1)
    while bool((low < high).any()):
        middle = (low + high) // 2
        enough = sure[middle] + np.minimum(added, maybe[middle]) > place
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return low
