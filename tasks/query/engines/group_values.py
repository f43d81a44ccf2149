"""The values of groups and their exact sums, and the values that match a condition."""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from math import lcm

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import as_numpy
from sfumato.expectations.shared.exact import INT64_MAX, exact
from sfumato.expectations.shared.sorting import lengths, stable_order, starts
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns

_LONG = Context(prec=60)  # enough digits for decimals of 38 digits
_FLOAT_EXACT = 1 << 53  # floats add integers exactly up to here
_HALF = 26  # bits of the lower half of units, if they are added up in two halves
_LOW = (1 << _HALF) - 1  # the greatest lower half; the sum of as many lower halves is exact, too
_LONGEST = 1 << 40  # units that can be added up quickly


@dataclass(frozen=True, eq=False)
class Units:
    """Integers, or decimals as `units / 10**digits` with the digits of their type.

    Units are int64, or Python integers; `decimal` is true for decimals.
    """

    units: np.ndarray
    digits: int
    decimal: bool = False

    @cached_property
    def largest(self) -> int:
        """The largest absolute value."""
        return largest(self.units)

    def number(self, units: int) -> int | Decimal:
        """Return the number that this many units make, as SQL has it."""
        return Decimal(units).scaleb(-self.digits, _LONG) if self.decimal else units


def units_of(numbers: pa.Array) -> Units:
    """Return integers, or decimals of 128 bits, as units (int64, or Python integers).

    >>> units_of(pa.array([1, -2])).units.tolist()
    [1, -2]

    Raises:
        NotDirectError: for other numbers, or if some are missing.
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
    # a decimal is two words; if the high one only repeats the sign, the low one is the number
    if np.array_equal(high, low >> 63):
        return Units(np.ascontiguousarray(low), numbers.type.scale, decimal=True)
    whole = high.astype(object) * (1 << 64) + low.astype(np.uint64).astype(object)
    return Units(whole, numbers.type.scale, decimal=True)


def sums_by(key: np.ndarray, keys: int, units: np.ndarray) -> np.ndarray:
    """Return the sum of the units that each key has (int64, or Python integers).

    Args:
        key: the key of each entry (integers from 0).
        keys: the number of keys.
        units: the units of each entry (int64 or Python integers).
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
    """Return units (int64 or Python integers) times numbers (int64), exactly."""
    fits = largest(units) * int(times.max(initial=0)) <= INT64_MAX
    return np.asarray((units if fits else units.astype(object)) * times)


def largest(units: np.ndarray) -> int:
    """Return the largest absolute value."""
    return max(-int(units.min()), int(units.max())) if len(units) else 0


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """The number of values of each group (int64, one per group), and their sum."""

    sizes: np.ndarray
    sums: Units

    @cached_property
    def means(self) -> "GroupMeans":
        """The mean of each group, with one common denominator if no number gets too long by it."""
        sizes = np.flatnonzero(np.bincount(self.sizes))
        denominator = lcm(*sizes.tolist())
        if denominator * max(largest(self.sums.units), 1) <= _LONGEST:
            units = self.sums.units * (denominator // np.maximum(self.sizes, 1))
            return GroupMeans(units, None, np.array([denominator]), self.sums.digits)
        rank = np.zeros(int(self.sizes.max()) + 1, dtype=np.int64)
        rank[sizes] = np.arange(len(sizes))
        return GroupMeans(self.sums.units, rank[self.sizes], sizes, self.sums.digits)


@dataclass(frozen=True, eq=False)
class GroupMeans:
    """Fractions, one per group: the units divided by 10**digits and by a denominator.

    Attributes:
        units: the numerator of each group (int64 or Python integers).
        rank: the position of each group's denominator (int64, one per group); None if all groups
            have the same one.
        denominators: the different denominators (int64).
        digits: see above.
    """

    units: np.ndarray
    rank: np.ndarray | None
    denominators: np.ndarray
    digits: int


@dataclass(frozen=True, eq=False)
class MatchingValues:
    """The values of groups that match, listed by group and ascending.

    Attributes:
        group: the group of each value (int64).
        code: the code of each value (integers).
        times: the number of times that each value occurs (int64), if it is listed once in its
            group; None if it is listed as often as it occurs.
        below: the number of matching values of its group before it (integers).
        start: the position of each group's first value, then the number of all listed values
            (int64, groups + 1).
        number: the number of values of each group that match (int64, one per group).
    """

    group: np.ndarray
    code: np.ndarray
    times: np.ndarray | None
    below: np.ndarray
    start: np.ndarray
    number: np.ndarray


class MatchingRows:
    """Matching rows of a table of values; each occurs as often as `times` says (None: once)."""

    def __init__(self, table: PublishedColumns, times: np.ndarray | None, rows: np.ndarray) -> None:
        """Take rows by their positions."""
        self._table, self._times, self._rows = table, times, rows

    @property
    def group(self) -> np.ndarray:
        """The group of each row (integers)."""
        group: np.ndarray = self._table.group[self._rows]
        return group

    @property
    def times(self) -> np.ndarray | None:
        """The number of times that each value occurs (int64); None if that is once."""
        return None if self._times is None else self._times[self._rows]

    def codes(self, name: str) -> np.ndarray:
        """Return the code of each row in a column (integers)."""
        codes: np.ndarray = self._table.coded_column(name).codes[self._rows]
        return codes


@dataclass(frozen=True, eq=False)
class RowsOfValues:
    """Rows that have some values of a column, if no other column is needed.

    Attributes:
        name: the column.
        group: the group of each row (integers).
        code: the code of each row's value (integers).
        times: None, since each row is one copy.
    """

    name: str
    group: np.ndarray
    code: np.ndarray
    times: None = None

    def codes(self, _name: str) -> np.ndarray:
        """Return the code of each row in the column (integers)."""
        return self.code


def totals_of_values(
    table: PublishedColumns, name: str, times: np.ndarray | None, sizes: np.ndarray
) -> GroupTotals:
    """Return the sums of all values of each group, from the values themselves.

    Args:
        table: the values of groups.
        name: the column.
        times: the number of times that each value occurs (int64, one per row); None for once.
        sizes: the number of values of each group (int64).
    """
    column = table.coded_column(name)
    numbers = exact(column.values, name)
    units = numbers.units[column.codes]
    whole = units if times is None else product(units, times)
    return GroupTotals(sizes, Units(sums_by(table.group, len(sizes), whole), numbers.digits))


def count_matching(rows: MatchingRows | RowsOfValues, groups: int) -> np.ndarray:
    """Return the number of values of each group in rows that match (int64, one per group)."""
    if rows.times is None:
        return np.bincount(rows.group, minlength=groups)
    return sums_by(rows.group, groups, rows.times)


def matching_values(
    rows: MatchingRows | RowsOfValues, name: str, values: int, groups: int
) -> MatchingValues:
    """Return the values of a column in the rows that match.

    Args:
        rows: the rows that match.
        name: the column.
        values: the number of different values of the column.
        groups: the number of groups.

    Raises:
        NotDirectError: if there are too many groups with their values.
    """
    times = rows.times
    if times is None:
        pairs, bits = ordered_pairs(rows, name, values, groups)
        distinct, times = _each_once(pairs)
    else:
        pairs, bits = _pairs(rows, name, values, groups)
        distinct, times = _add_up(pairs, times)
    group = (distinct >> distinct.dtype.type(bits)).astype(np.int64)
    number = np.bincount(group, minlength=groups)
    start = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(number, out=start[1:])
    if times is None:
        below = np.arange(len(group))
        below -= start[group]
    else:
        before = np.append(0, np.cumsum(times))
        below = before[:-1] - before[start[group]]
        number = np.diff(before[start])
    code = distinct & distinct.dtype.type((1 << bits) - 1)
    return MatchingValues(group, code, times, below, start, number)


def ordered_pairs(
    rows: MatchingRows | RowsOfValues, name: str, values: int, groups: int
) -> tuple[np.ndarray, int]:
    """Return keys of each row's group and code, ascending, and the bits of codes (integers).

    Raises:
        NotDirectError: if there are too many groups with their values.
    """
    pairs, bits = _pairs(rows, name, values, groups)
    pairs.sort()
    return pairs, bits


def _pairs(
    rows: MatchingRows | RowsOfValues, name: str, values: int, groups: int
) -> tuple[np.ndarray, int]:
    """Return a key of each row's group and code, and the number of bits of a code.

    A key is the group followed by the bits of the code (int32 or int64).
    """
    bits = max(values - 1, 0).bit_length()
    if groups << bits > INT64_MAX:
        raise NotDirectError
    narrow = np.int32 if groups << bits <= np.iinfo(np.int32).max else np.int64
    pairs: np.ndarray = rows.group.astype(narrow)
    pairs <<= narrow(bits)
    pairs |= rows.codes(name).astype(narrow)
    return pairs, bits


def _each_once(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return each pair once with its number of occurrences; all pairs and None if few repeat."""
    if 2 * np.count_nonzero(ordered[1:] == ordered[:-1]) <= len(ordered):
        return ordered, None
    first = starts(ordered)
    return ordered[first], lengths(first, len(ordered))


def _add_up(pairs: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair once, ascending, with its number of occurrences in all."""
    if (pairs[1:] >= pairs[:-1]).all():
        ordered = pairs
    else:
        order = stable_order(pairs)
        ordered, times = pairs[order], times[order]
    first = starts(ordered)
    return ordered[first], np.add.reduceat(times, first) if len(first) else times
