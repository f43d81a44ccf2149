"""Exact numbers: sensitive values as integers, and ratios compared in whole numbers.

A column of numbers, dates or timestamps is an array of integers and one scale: the value is
`units / 10**digits`. Floats count as the decimal number that Python prints for them
(`Decimal(str(x))`), so .1 + .2 is .3. Dates count days, timestamps count seconds (with
microseconds as decimals), both since 1970.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.arrow import as_numpy
from sfumato.expectations.shared.errors import InputError

INT64_MAX = 2**63 - 1
_DIGITS = 38  # what a SQL DECIMAL holds
_BITS = 128  # of such a decimal in Arrow
_UNROUNDED = Context(prec=400)  # the default context would round what has more than 28 digits
_SECOND_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


class TooManyDigits(InputError):
    """A number that needs more digits than verdicts and bounds are calculated with."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Numbers as `units / 10**digits`; units are int64, or Python integers where those overflow."""

    units: np.ndarray
    digits: int

    def fraction(self, units: int) -> Fraction:
        """Return the number that this many units make."""
        return Fraction(int(units), 10**self.digits)

    def at_least(self, bound: Decimal) -> int:
        """Return the smallest number of units that is not below `bound`."""
        scaled: Fraction = Fraction(bound) * 10**self.digits
        return math.ceil(scaled)


def is_ordered(type_: pa.DataType) -> bool:
    """Return True if differences of such values mean something: numbers, dates and timestamps."""
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_date(type_)
        or pa.types.is_timestamp(type_)
    )


def is_number(type_: pa.DataType) -> bool:
    """Return True if sums of such values mean something."""
    return is_ordered(type_) and not (pa.types.is_date(type_) or pa.types.is_timestamp(type_))


def exact(values: pa.Array, name: str) -> Exact:
    """Return the values (no nulls) of column `name` as exact integers, one per value.

    Raises:
        InputError: where the values have no order, where one is not finite, or where one needs more
            than 38 digits at the column's scale.
    """
    units, digits = _units(values, name)
    return Exact(_narrow(units, name), digits)


def exact_numbers(values: Sequence[int | Decimal | float], name: str) -> Exact:
    """Return numbers of one type as exact integers, one per number.

    Raises:
        InputError: as `exact` does.
    """
    if all(isinstance(value, int) for value in values):
        units = np.array(values, dtype=np.int64 if not values else None)
        return Exact(_narrow(units, name), 0)
    units, digits = _scale([Decimal(str(value)) for value in values], name)
    return Exact(_narrow(units, name), digits)


def _units(values: pa.Array, name: str) -> tuple[np.ndarray, int]:
    type_ = values.type
    if pa.types.is_integer(type_):
        return as_numpy(values), 0
    if pa.types.is_date(type_):
        return as_numpy(pc.cast(pc.cast(values, pa.date32()), pa.int32())), 0
    if pa.types.is_timestamp(type_):
        return as_numpy(pc.cast(values, pa.int64())), _SECOND_DIGITS[type_.unit]
    if (of_decimals := _units_of_decimals(values)) is not None:
        return of_decimals
    if pa.types.is_decimal(type_) or pa.types.is_floating(type_):
        encoded = values.dictionary_encode()  # equal numbers are scaled once
        decimals = [Decimal(str(value)) for value in encoded.dictionary.to_pylist()]
        distinct, digits = _scale(decimals, name)
        return distinct[as_numpy(encoded.indices)], digits
    raise InputError(f"column {name!r}: values of type {type_} have no order and no distance")


def _units_of_decimals(values: pa.Array) -> tuple[np.ndarray, int] | None:
    """Return decimals as integers, of which Arrow holds two words each, and their digits.

    None for values of another type, and where one needs more than the lower word.
    """
    type_ = values.type
    if pa.types.is_decimal(type_) and type_.bit_width < _BITS:
        values = values.cast(type_ := pa.decimal128(type_.precision, type_.scale))
    if not pa.types.is_decimal128(type_) or not 0 <= type_.scale <= _DIGITS or not len(values):
        return None
    words = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)
    low, high = words[values.offset : values.offset + len(values)].T
    if not np.array_equal(high, low >> 63):  # a sign alone
        return None
    digits = int(type_.scale)
    while digits and not (low % 10).any():
        low, digits = low // 10, digits - 1
    return np.ascontiguousarray(low), digits


def _scale(decimals: list[Decimal], name: str) -> tuple[np.ndarray, int]:
    if not all(d.is_finite() for d in decimals):
        raise InputError(f"column {name!r}: not every value is a finite number (NaN, infinity)")
    digits = max((-int(d.normalize(_UNROUNDED).as_tuple().exponent) for d in decimals), default=0)
    digits = max(digits, 0)
    if digits > _DIGITS:
        raise TooManyDigits(f"column {name!r}: a value has more than {_DIGITS} decimals; round it")
    return np.array([int(Fraction(d) * 10**digits) for d in decimals], dtype=object), digits


def _narrow(units: np.ndarray, name: str) -> np.ndarray:
    """Return the units as int64 if differences cannot overflow, otherwise as Python integers."""
    if units.dtype == np.int64 and not len(units):
        return units
    low, high = (int(units.min()), int(units.max())) if len(units) else (0, 0)
    largest = max(abs(low), abs(high))
    if largest >= 10**_DIGITS:
        raise TooManyDigits(f"column {name!r}: a value has more than {_DIGITS} digits; round it")
    return units.astype(np.int64 if 2 * largest <= INT64_MAX else object)


def are_above(numerators: np.ndarray, denominators: np.ndarray, bound: Fraction) -> np.ndarray:
    """Mark where numerator / denominator > bound (bool, one per ratio); n / 0 is infinite.

    Numerators and denominators are parallel whole numbers; denominators are not negative.

    >>> are_above(np.array([1, 2, 1]), np.array([3, 3, 0]), Fraction(1, 3)).tolist()
    [False, True, True]
    """
    values, bounds = _scale_both(numerators, denominators, bound)
    over: np.ndarray = values > bounds
    return over


def are_below(numerators: np.ndarray, denominators: np.ndarray, bound: Fraction) -> np.ndarray:
    """Mark where numerator / denominator < bound, for arguments as in `are_above`."""
    values, bounds = _scale_both(numerators, denominators, bound)
    under: np.ndarray = values < bounds
    return under


def largest(numerators: np.ndarray, denominators: np.ndarray) -> Fraction | None:
    """Return the largest numerator / denominator, None without ratios.

    Numerators and denominators are parallel whole numbers; denominators are positive.
    """
    return _extreme(numerators, denominators, sign=1)


def smallest(numerators: np.ndarray, denominators: np.ndarray) -> Fraction | None:
    """Return the smallest numerator / denominator, with arguments as for `largest`."""
    return _extreme(numerators, denominators, sign=-1)


def _scale_both(
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
