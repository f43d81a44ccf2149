"""Whole numbers of units, and their exact sums by small keys."""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_numpy
from sfumato.expectations.exact import INT64_MAX
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError

_LONG = Context(prec=60)
_FLOAT_EXACT = 1 << 53  # floats add integers exactly up to here
_HALF = 26
_LOW = (1 << _HALF) - 1


@dataclass(frozen=True, eq=False)
class Units:
    """Integers, or decimals: `units / 10**digits`, the digits being those of their type."""

    units: np.ndarray
    digits: int
    decimal: bool = False

    @cached_property
    def largest(self) -> int:
        """The largest absolute value."""
        return largest(self.units)

    def number(self, units: int) -> int | Decimal:
        """The number that this many units make, as SQL has it."""
        return Decimal(units).scaleb(-self.digits, _LONG) if self.decimal else units


def units_of(numbers: pa.Array) -> Units:
    """Integers, or decimals of 128 bits, as units (int64, or Python integers).

    >>> units_of(pa.array([1, -2])).units.tolist()
    [1, -2]

    Raises:
        NotDirectError: for other numbers, or where some are missing.
    """
    if numbers.null_count:
        raise NotDirectError
    if pa.types.is_integer(numbers.type):
        return Units(as_numpy(numbers), 0)
    if not pa.types.is_decimal128(numbers.type):
        raise NotDirectError
    words = np.frombuffer(numbers.buffers()[1] or b"", np.int64).reshape(-1, 2)
    words = words[numbers.offset : numbers.offset + len(numbers)]
    low, high = words[:, 0], words[:, 1]
    if np.array_equal(high, low >> 63):
        return Units(np.ascontiguousarray(low), numbers.type.scale, decimal=True)
    whole = high.astype(object) * (1 << 64) + low.astype(np.uint64).astype(object)
    return Units(whole, numbers.type.scale, decimal=True)


def sums_by(key: np.ndarray, keys: int, units: np.ndarray) -> np.ndarray:
    """The sum of the units that each key has (int64, or Python integers).

    Args:
        key: of each unit (integers from 0).
        keys: above every key.
        units: integers (int64 or Python's), one per key.
    """
    if largest(units) * len(units) <= _FLOAT_EXACT:
        return np.bincount(key, units.astype(np.float64), keys).astype(np.int64)
    if units.dtype == np.int64 and len(units) <= _LOW:
        halves = units >> _HALF, units & _LOW
        if largest(halves[0]) * len(units) <= _FLOAT_EXACT:
            upper, lower = (sums_by(key, keys, half).astype(object) for half in halves)
            return np.asarray(upper * (1 << _HALF) + lower)
    totals = np.zeros(keys, dtype=object)
    np.add.at(totals, key, units.astype(object))
    return totals


def product(units: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Units (int64 or Python integers) that many times (int64), exactly."""
    fits = largest(units) * int(times.max(initial=0)) <= INT64_MAX
    return np.asarray((units if fits else units.astype(object)) * times)


def largest(units: np.ndarray) -> int:
    """The largest absolute value."""
    return max(-int(units.min()), int(units.max())) if len(units) else 0
