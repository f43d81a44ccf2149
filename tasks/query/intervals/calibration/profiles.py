"""Profiles: distinct combinations of the quasi-identifiers by which queries select rows.

A query selects all rows of a profile or none. Therefore sums over selected rows are sums over
selected profiles, of which large tables have far fewer than rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import add_up, dense, pack
from sfumato.expectations.shared.sorting import stable_order, starts, tally
from sfumato.tasks.query.intervals.shapes import Selection

_DENSE = 50  # cells of a matrix of profiles x codes for each pair that occurs, at most
_MATRIX = 1 << 24  # cells of such a matrix in which numbers are added up
_PAIRS = 1 << 21  # pairs of rows and values of their groups that are counted together


@dataclass(frozen=True, eq=False)
class SelectableColumn:
    """A column by which queries select rows.

    Attributes:
        codes: the code of each row (unsigned); that of null follows those of values.
        values: the values by code, ascending if they have an order.
    """

    codes: np.ndarray
    values: Sequence[Any]

    def rows_in(self, selection: Selection) -> np.ndarray:
        """Return the rows whose value is selected (bool, one per row)."""
        codes = self.codes
        if selection.values is not None:
            admitted = np.zeros(len(self.values) + 1, dtype=bool)
            admitted[[self._codes[value] for value in selection.values if value in self._codes]] = (
                True
            )
            return np.asarray(admitted[codes])
        first, end = selection.range_among(self.values)
        narrow = codes.dtype.type
        within: np.ndarray = (codes - narrow(first)) < narrow(end - first)  # wraps below
        return within

    @cached_property
    def _codes(self) -> Mapping[Any, int]:
        return {value: code for code, value in enumerate(self.values)}


def selectable(codes: np.ndarray, values: Sequence[Any]) -> SelectableColumn:
    """Return a column of codes (integers); those that are no code of a value are nulls."""
    coded = np.where((codes < 0) | (codes >= len(values)), len(values), codes)
    return SelectableColumn(coded.astype(np.min_scalar_type(len(values))), values)


def selected_codes(selections: Sequence[Selection], values: Sequence[Any]) -> np.ndarray:
    """Return the values that each selection of a column selects (bool, selections x values)."""
    column = selectable(np.arange(len(values)), values)
    return np.stack([column.rows_in(selection) for selection in selections])


class Profiles:
    """The distinct combinations of the quasi-identifiers of rows.

    Attributes:
        of_row: the profile of each row (int64).
        number: the number of profiles.
    """

    def __init__(self, columns: Mapping[str, SelectableColumn]) -> None:
        """Find the profiles of rows; there is at least one column."""
        keys = [column.codes.astype(np.int64) for column in columns.values()]
        packed, _ = pack(keys, [len(column.values) + 1 for column in columns.values()])
        self.of_row, self.number = dense(packed)
        first = np.empty(self.number, dtype=np.int64)
        first[self.of_row] = np.arange(len(self.of_row))
        self._columns = {
            name: SelectableColumn(column.codes[first], column.values)
            for name, column in columns.items()
        }

    @cached_property
    def rows(self) -> np.ndarray:
        """The number of rows of each profile (float64)."""
        return self.add_up(None)

    def add_up(self, numbers: np.ndarray | None) -> np.ndarray:
        """Return the sum of rows' numbers over each profile (float64); None counts rows."""
        return np.bincount(self.of_row, numbers, self.number).astype(np.float64)

    def select(self, selections: Sequence[Sequence[Selection]]) -> np.ndarray:
        """Return the profiles that each query selects (bool, queries x profiles)."""
        chosen = np.ones((len(selections), self.number), dtype=bool)
        for of_query, parts in zip(chosen, selections, strict=True):
            for part in parts:
                of_query &= self._columns[part.name].rows_in(part)
        return chosen


class CodesOfProfiles:
    """Numbers of values of a column, by profile and code."""

    def __init__(
        self, profile: np.ndarray, code: np.ndarray, number: np.ndarray, shape: tuple[int, int]
    ) -> None:
        """Sort pairs of a profile and a code by code.

        Args:
            profile: the profile of each pair (int64).
            code: the code of each pair (int64); each pair occurs once.
            number: how many values each pair has (float64).
            shape: the number of all profiles, and that of all codes.
        """
        order = stable_order(code)
        self._profile, self._number, self._codes = profile[order], number[order], shape[1]
        ordered = code[order]
        self._first = starts(ordered) if len(ordered) else ordered
        self._present = ordered[self._first]
        self._matrix: np.ndarray | None = None
        if shape[0] * shape[1] <= _DENSE * len(order):
            self._matrix = np.zeros(shape)
            self._matrix[profile, code] = number

    def sums(self, chosen: np.ndarray) -> np.ndarray:
        """Return the numbers of values in selected profiles, by code (float64, queries x codes).

        Args:
            chosen: 1 for each selected profile, else 0, or any other weight (float64, queries x
                profiles).
        """
        if self._matrix is not None:
            product: np.ndarray = chosen @ self._matrix
            return product
        sums = np.zeros((len(chosen), self._codes))
        if len(self._first):
            numbers = chosen[:, self._profile]
            numbers *= self._number
            sums[:, self._present] = np.add.reduceat(numbers, self._first, axis=1)
        return sums


def codes_of_rows(
    profile: np.ndarray, profiles: int, codes: np.ndarray, number: int
) -> CodesOfProfiles:
    """Return how many rows of each profile have each code.

    Args:
        profile: the profile of each row (int64).
        profiles: the number of profiles.
        codes: the code of each row (integers); others than those of values are nulls.
        number: the number of codes of values.
    """
    there = np.flatnonzero((codes >= 0) & (codes < number))
    key = profile[there] * number + codes[there]
    pairs, times = tally(key, profiles * number)
    shape = (profiles, number)
    return CodesOfProfiles(pairs // number, pairs % number, times.astype(np.float64), shape)


@dataclass(frozen=True, eq=False)
class ValuesByGroup:
    """The values of groups that are not null, by group.

    Attributes:
        group: the group of each value (int64, ascending).
        code: the code of each value (int64); it may occur several times in a group.
        times: how often each value occurs (float64).
        first: where the values of each group begin, and behind the last one (int64).
        codes: the number of codes.
    """

    group: np.ndarray
    code: np.ndarray
    times: np.ndarray
    first: np.ndarray
    codes: int

    def of_groups(self, groups: np.ndarray) -> np.ndarray:
        """Return the positions of all values of some groups, group by group (int64)."""
        return spans(self.first[groups], self.first[groups + 1])


def spans(first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return all numbers from each first one to below its end (int64).

    >>> spans(np.array([3, 8]), np.array([5, 9])).tolist()
    [3, 4, 8]
    """
    length = end - first
    before = np.cumsum(length) - length
    numbers = np.arange(int(length.sum()))
    numbers += np.repeat(first - before, length)
    return numbers


def expected_codes(
    profiles: Profiles, group: np.ndarray, values: ValuesByGroup, sizes: np.ndarray
) -> CodesOfProfiles:
    """Return how often each value is expected in the rows of each profile.

    Each row is expected to have the values of its group, each as often as it occurs there, divided
    by the number of the group's values.

    Args:
        profiles: the profiles of the rows.
        group: the group of each row (integers).
        values: the values of the groups.
        sizes: the number of values of each group, nulls included (int64).
    """
    groups, codes = len(sizes), values.codes
    pairs, times = tally(profiles.of_row * groups + group, profiles.number * groups)
    profile, member = pairs // groups, pairs % groups
    share = times / np.maximum(sizes[member], 1)
    length = values.first[member + 1] - values.first[member]
    shape = (profiles.number, codes)
    matrix = np.zeros(shape[0] * codes) if shape[0] * codes <= _MATRIX else None
    parts = []
    for part in parts_of(length):
        value, repeated = values.of_groups(member[part]), length[part]
        key = np.repeat(profile[part] * codes, repeated) + values.code[value]
        number = np.repeat(share[part], repeated) * values.times[value]
        if matrix is None:
            parts.append(add_up([key], number))
        else:
            matrix += np.bincount(key, number, len(matrix))
    if matrix is not None:
        keys = np.flatnonzero(matrix)
        return CodesOfProfiles(keys // codes, keys % codes, matrix[keys], shape)
    keys, numbers = (np.concatenate(column) for column in zip(*parts, strict=True))
    key, number = add_up([keys], numbers)
    return CodesOfProfiles(key // codes, key % codes, number, shape)


def parts_of(lengths: np.ndarray) -> Iterator[slice]:
    """Yield slices of items whose lengths (int64) add up to about `_PAIRS`."""
    first = starts(np.cumsum(lengths) // _PAIRS)
    for begin, end in pairwise([*first.tolist(), len(lengths)]):
        yield slice(begin, end)
