"""Profiles: distinct combinations of the quasi-identifiers by which queries select rows.

A query selects all rows of a profile or none. Therefore sums over selected rows are sums over
selected profiles, of which large tables have far fewer than rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.shared.sorting import stable_order, starts, tally
from sfumato.tasks.query.intervals.shapes import Selection

_DENSE = 50  # cells of a matrix of profiles x codes for each pair that occurs, at most


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
        some_row: the position of a row of each profile (int64).
    """

    def __init__(self, columns: Mapping[str, SelectableColumn]) -> None:
        """Find the profiles of rows; there is at least one column."""
        keys = [column.codes.astype(np.int64) for column in columns.values()]
        packed, _ = pack(keys, [len(column.values) + 1 for column in columns.values()])
        self.of_row, self.number = dense(packed)
        self.some_row = np.empty(self.number, dtype=np.int64)
        self.some_row[self.of_row] = np.arange(len(self.of_row))
        self._columns = {
            name: SelectableColumn(column.codes[self.some_row], column.values)
            for name, column in columns.items()
        }

    @cached_property
    def rows(self) -> np.ndarray:
        """The number of rows of each profile (float64)."""
        return np.bincount(self.of_row, minlength=self.number).astype(np.float64)

    def profiles_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the profiles of some rows, and which of these each row has (both int64).

        Args:
            rows: the positions of the rows (int64).
        """
        of_rows, is_present = self.of_row[rows], np.zeros(self.number, dtype=bool)
        is_present[of_rows] = True
        return np.flatnonzero(is_present), (np.cumsum(is_present) - 1)[of_rows]

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
            profile: the profile of each pair (integers).
            code: the code of each pair (integers); each pair occurs once.
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


class Incidence:
    """Numbers of items of each kind in each set, or their weights, as a sparse matrix.

    A number of an item that is a product, of a number of its set and one of its kind, is never
    made: its sums over sets and kinds come from those numbers.
    """

    def __init__(
        self, kind: np.ndarray, first: np.ndarray, kinds: int, weight: np.ndarray | None = None
    ) -> None:
        """Take the items.

        Args:
            kind: the kind of each item (int64), set by set.
            first: where the items of each set begin, and behind the last one (int64).
            kinds: the number of kinds.
            weight: the weight of each item (float64); None for 1.
        """
        self.weight = np.ones(len(kind)) if weight is None else weight
        self._items = csr_array((self.weight, kind, first), shape=(len(first) - 1, kinds))

    def over_sets(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums of numbers of items' kinds over each set.

        Args:
            numbers: some numbers of each kind (float64, kinds x numbers).

        Returns:
            Float64, sets x numbers.
        """
        sums: np.ndarray = self._items @ numbers
        return sums

    def over_kinds(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums of numbers of items' sets over each kind.

        Args:
            numbers: some numbers of each set (float64, sets x numbers).

        Returns:
            Float64, kinds x numbers.
        """
        sums: np.ndarray = self._items.T @ numbers
        return sums

    def pairs_with(self, other: "Incidence") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs of a kind of this and one of another that some set has.

        Args:
            other: other items of the same sets.

        Returns:
            The kinds of each pair (both integers), and the sum over sets of the products of both
            weights (float64).
        """
        pairs = (self._items.T @ other._items).tocoo()
        return pairs.coords[0], pairs.coords[1], pairs.data


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

    def number_in(self, groups: np.ndarray) -> int:
        """Return the number of values of some groups; one that occurs often counts once."""
        return int((self.first[groups + 1] - self.first[groups]).sum())

    def groups_with(self, codes: np.ndarray) -> np.ndarray:
        """Return the groups of all values with some codes (int64), code by code."""
        group, first = self._by_code
        return np.asarray(group[spans(first[codes], first[codes + 1])])

    @cached_property
    def _by_code(self) -> tuple[np.ndarray, np.ndarray]:
        """The groups of values by code, and where those of each code begin."""
        times = np.bincount(self.code, minlength=self.codes)
        return self.group[stable_order(self.code)], np.append(0, np.cumsum(times))


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
