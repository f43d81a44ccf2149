"""Bounds if conditions are on sensitive values: the values of each group that may count.

For lower bounds a group's least matching values count first, for upper bounds the greatest. The
first `sure` of them surely count, and the first `most` may count. So each value has four counts of
copies in a cell: those that surely count and those that may, for lower and for upper bounds.

An item is a matching value of a group in one cell; a group has items in each cell in which it has
hits. Counts are added up over items, by cell and value.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_indices
from sfumato.expectations.shared.exact import exact
from sfumato.tasks.arrays.compiled import Loop
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.extremes import CountedValues, Counting
from sfumato.tasks.query.engines.cells import (
    Hits,
    QualifyingRows,
    SelectedRows,
    counted_rows,
    hits_in_each,
    qualifying_rows,
)
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.group_bounds import CountedRows, bounds_from_values
from sfumato.tasks.query.engines.group_values import (
    MatchingRows,
    MatchingValues,
    RowsOfValues,
    count_matching,
    matching_values,
    ordered_pairs,
)
from sfumato.tasks.query.engines.published_columns import CodedValues, NotDirectError
from sfumato.tasks.query.engines.release_tables import ReleaseTables
from sfumato.tasks.query.question.question import Aggregate, Matching, Question

_AT_ONCE = 1 << 21  # items in memory at a time
_MOST = 1 << 22  # cells times values; beyond these SQL answers
_FEW_BINS = 1 << 16  # four times cells times values, up to which items are counted by sets
# whether a count (of four) is in a set of counts (of sixteen; the bits of its number)
_BITS = np.array([[subset >> bit & 1 for subset in range(16)] for bit in range(4)])
_SUBSETS = 16  # sets of the four counts that an item may add to
_Bundle = tuple[str, ...]  # sensitive columns that are published together


@dataclass(frozen=True, eq=False)
class CellValues:
    """The number of copies of each value of a column that count in each cell.

    Attributes:
        values: the values of the column, ascending.
        counts: the copies that surely count and all that may count, for lower bounds, then for
            upper bounds (int64, 4 x cells x values).
        expected: the expected number of copies that count (float64, cells x values).
    """

    values: pa.Array
    counts: np.ndarray
    expected: np.ndarray

    def values_of_cell(self, cell: int, *, whole: bool, estimates: bool) -> CountedValues | None:
        """Return the values of a cell of which some copy may count; None if there are none.

        With estimates, values that are only expected to count are returned as well.
        """
        counting = self.counts[:, cell].any(axis=0)
        if not counting.any():
            return None
        met = np.flatnonzero(counting | (self.expected[cell] > 0) if estimates else counting)
        low_sure, low_all, high_sure, high_all = self.counts[:, cell, met]
        chances = self.expected[cell, met]
        values = self.values.take(as_indices(met.astype(np.int32)))
        return CountedValues(
            ShownValues(values),
            partial(exact, values, "aggregated"),
            Counting(low_sure, low_all - low_sure),
            Counting(high_sure, high_all - high_sure),
            whole,
            chances if estimates else None,
            float(chances.sum()),
        )


def cell_values(
    qualifying: QualifyingRows, matching: MatchingValues, values: pa.Array
) -> CellValues:
    """Count the copies of matching values by cell.

    Args:
        qualifying: the number of each group's hits in each cell that qualify.
        matching: the values of each group that match.
        values: the values of the column, ascending.

    Raises:
        NotDirectError: if there are too many values and cells.
    """
    shape = qualifying.hits.cells, len(values)
    bins = shape[0] * shape[1]
    if bins > _MOST:
        raise NotDirectError
    counts, expected = np.zeros((4, *shape), dtype=np.int64), np.zeros(shape)
    for items in _items(qualifying, matching, shape[1]):
        counts += items.counts(bins).reshape(4, *shape)
        expected += np.bincount(items.key, items.expected, bins).reshape(shape)
    return CellValues(values, counts, expected)


@dataclass(frozen=True, eq=False)
class CountedAtOnce:
    """The rows that qualify in one cell, and the values of the column that count."""

    rows: CountedRows
    values: CellValues


def count_at_once(
    matching: RowsOfValues, hits: Hits, sizes: np.ndarray, values: pa.Array, loop: Loop
) -> CountedAtOnce:
    """Count the same as `qualifying_rows` and `cell_values`, by a compiled loop.

    Args:
        matching: the rows of values that match the only condition, none of them null.
        hits: the hits of all groups in turn, in one cell.
        sizes: the number of values of each group (int64, one per group).
        values: the values of the column.
        loop: the compiled `release_tables.count_groups`.
    """
    pairs, bits = ordered_pairs(matching, matching.name, len(values), len(sizes))
    counts, expected = np.zeros((4, len(values)), dtype=np.int64), np.zeros(len(values))
    rows = np.zeros(3)
    loop(pairs, bits, hits.hits, sizes, counts, expected, rows)
    counted = CountedRows(int(rows[0]), int(rows[1]), Fraction(float(rows[2])))
    return CountedAtOnce(counted, CellValues(values, counts[:, None], expected[None]))


@dataclass(frozen=True, eq=False)
class ShownValues:
    """Values of a column by their positions."""

    values: pa.Array

    def __getitem__(self, position: int) -> Any:
        return self.values[int(position)].as_py()


@dataclass(frozen=True, eq=False)
class _Items:
    """Matching values of groups in cells, parallel.

    Attributes:
        key: the number of the item's cell and value (integers).
        times: the number of copies; None if each item is one copy.
        below: the number of the group's matching values before it, from the least (integers).
        above: the number of the group's matching values before it, from the greatest (integers).
        sure: the number of hits of the group in the cell that surely qualify (int64).
        most: the number of hits of the group in the cell that may qualify (int64).
        expected: the expected number of copies that count (float64).
    """

    key: np.ndarray
    times: np.ndarray | None
    below: np.ndarray
    above: np.ndarray
    sure: np.ndarray
    most: np.ndarray
    expected: np.ndarray

    def counts(self, bins: int) -> np.ndarray:
        """Return the four counts of copies of each key (int64, 4 x keys).

        They are in the order of `CellValues.counts`.
        """
        sides = list(product((self.below, self.above), (self.sure, self.most)))
        if self.times is None and len(sides) * bins <= _FEW_BINS:
            # a copy counts if fewer come before it than count; the set of its counts is 4 bits
            which = np.zeros(len(self.key), dtype=np.uint8)
            for bit, (before, number) in enumerate(sides):
                which |= (number > before).view(np.uint8) << np.uint8(bit)
            together = np.bincount(self.key * _SUBSETS + which, minlength=_SUBSETS * bins)
            of_subsets: np.ndarray = _BITS @ together.reshape(bins, _SUBSETS).T
            return of_subsets
        return np.stack([self._count(number - before, bins) for before, number in sides])

    def _count(self, first: np.ndarray, bins: int) -> np.ndarray:
        """Count the copies of each key.

        The first copies of each item count, as many as `first` says, but not below 0.
        """
        copies = np.clip(first, 0, 1 if self.times is None else self.times)
        if not copies.any():
            return np.zeros(bins, dtype=np.int64)
        return np.bincount(self.key, copies, bins).astype(np.int64)


def _items(qualifying: QualifyingRows, matching: MatchingValues, values: int) -> Iterator[_Items]:
    """Yield the items of some groups in cells at a time, so that they fit in memory."""
    hits = qualifying.hits
    each = qualifying.expected / np.maximum(
        matching.number[hits.group], 1
    )  # of the matching values
    if hits.cells == 1:
        groups = len(matching.number)
        parallel = (
            _by_group(hits.group, numbers, groups)
            for numbers in (qualifying.least, qualifying.most, each)
        )
        return _items_of_one_cell(matching, *parallel)
    return _items_of_cells(qualifying, matching, each, values)


def _by_group(group: np.ndarray | slice, numbers: np.ndarray, groups: int) -> np.ndarray:
    """Return numbers, one per entry of `group`, by group, with 0 for groups without an entry.

    A slice has an entry for each group.
    """
    if isinstance(group, slice):
        return numbers
    by_group = np.zeros(groups, dtype=numbers.dtype)
    by_group[group] = numbers
    return by_group


def _items_of_one_cell(
    matching: MatchingValues, sure: np.ndarray, most: np.ndarray, each: np.ndarray
) -> Iterator[_Items]:
    """Yield all matching values, with the qualifying rows of each group (one number per group)."""
    for block in range(0, len(matching.group), _AT_ONCE):
        some = slice(block, block + _AT_ONCE)
        group, below = matching.group[some], matching.below[some]
        times = None if matching.times is None else matching.times[some]
        copies = 1 if times is None else times
        above = matching.number[group] - below - copies
        counted = sure[group], most[group], each[group] * copies
        yield _Items(matching.code[some], times, below, above, *counted)


def _items_of_cells(
    qualifying: QualifyingRows, matching: MatchingValues, each: np.ndarray, values: int
) -> Iterator[_Items]:
    """Yield the matching values of each group with each cell in which it has hits."""
    first_key = qualifying.hits.cell * values
    start = matching.start[:-1][qualifying.hits.group]
    sizes = matching.start[1:][qualifying.hits.group] - start
    # the matching values of the hits' groups one after the other, hit by hit, in blocks
    ends = np.cumsum(sizes)
    before = ends - sizes
    total = int(sizes.sum())
    for block in range(0, total, _AT_ONCE):
        first, last = np.searchsorted(ends, [block, min(block + _AT_ONCE, total)], side="right")
        if first == last:
            continue
        hit = np.repeat(np.arange(first, last), sizes[first:last])
        place = np.arange(before[first], before[first] + len(hit)) + (start - before)[hit]
        group = matching.group[place]
        times = None if matching.times is None else matching.times[place]
        copies = 1 if times is None else times
        below = matching.below[place]
        above = matching.number[group] - below - copies
        counted = qualifying.least[hit], qualifying.most[hit], each[hit] * copies
        yield _Items(first_key[hit] + matching.code[place], times, below, above, *counted)


class CountedBounds:
    """The bounds of aggregates over the rows in cells whose values match."""

    def __init__(
        self,
        tables: ReleaseTables,
        conditions: ValueConditions,
        question: Question,
        rows: SelectedRows,
        *,
        estimates: bool,
    ) -> None:
        """Count the selected rows of groups, and find the values that match.

        Raises:
            NotDirectError: if groups are not as a release numbers them, or a condition compares
                columns or cannot be evaluated on some value.
        """
        self._tables, self._estimates, self._values = tables, estimates, dict[str, CellValues]()
        self._found: dict[str, MatchingValues] = {}
        if len(tables.sizes) != tables.rows.groups:
            raise NotDirectError
        names = frozenset(str(a.sensitive) for a in question.aggregates if not a.kind.counts_rows)
        self._matches = {
            matching.columns: self._rows_of(matching, conditions, names)
            for matching in question.matching
        }
        self._hits = hits_in_each(rows, len(tables.sizes))
        self._at_once = self._count_at_once(names)
        self._numbers = {}
        if self._at_once is None:
            self._numbers = {bundle: self._number(bundle, names) for bundle in self._matches}
            self._hits = self._of_groups_that_match(self._hits)

    @cached_property
    def rows(self) -> list[CountedRows]:
        """The number of qualifying rows, by cell."""
        if self._at_once is not None:
            rows = self._at_once.rows
            return [rows if self._estimates else replace(rows, expected=None)]
        return counted_rows(self._qualifying, estimates=self._estimates)

    def bounds(self, aggregate: Aggregate, cell: int) -> Bounds:
        """Return the bounds of an aggregate in a cell.

        Raises:
            NotDirectError: if there are too many values and cells.
        """
        if aggregate.kind.counts_rows:
            return bounds_from_values(aggregate, self.rows[cell], None)
        values = self.values(str(aggregate.sensitive), cell)
        return bounds_from_values(aggregate, self.rows[cell], values)

    def values(self, name: str, cell: int) -> CountedValues | None:
        """Return the values of a column of which a copy may count in a cell; None if none may.

        Raises:
            NotDirectError: if there are too many values and cells.
        """
        if name not in self._values:
            self._values[name] = self._cell_values(name)
        whole = self._tables.is_whole(name)
        return self._values[name].values_of_cell(cell, whole=whole, estimates=self._estimates)

    def _of_groups_that_match(self, hits: Hits) -> Hits:
        """Keep the hits of groups in which some value matches each condition: no others count.

        Returns all hits if all groups are read in turn.
        """
        if isinstance(hits.group, slice):
            return hits
        for number in self._numbers.values():
            hits = hits.where(number[hits.group] != 0)
        return hits

    @cached_property
    def _qualifying(self) -> QualifyingRows:
        """The rows that satisfy all conditions."""
        return qualifying_rows(self._hits, self._tables.sizes, list(self._numbers.values()))

    def _rows_of(
        self, matching: Matching, conditions: ValueConditions, aggregated: frozenset[str]
    ) -> MatchingRows | RowsOfValues:
        """Return the rows of values on which a condition holds.

        They come from an index by value if the condition and the aggregates only need one column.
        """
        table, times = self._tables.values(matching.columns), self._tables.times(matching.columns)
        if table.groups > len(self._tables.sizes):
            raise NotDirectError
        named = {column.name for column in matching.condition.find_all(exp.Column)}
        columns = named | aggregated.intersection(matching.columns)
        by_value = table.by_value(min(columns)) if times is None and len(columns) == 1 else None
        if by_value is not None and named:
            name = min(named)
            return RowsOfValues(
                name, *by_value.groups_with(conditions.values(table, name, matching.condition))
            )
        return MatchingRows(
            table, times, np.flatnonzero(conditions.rows(table, matching.condition))
        )

    def _count_at_once(self, aggregated: frozenset[str]) -> CountedAtOnce | None:
        """Count by a compiled loop; return None if it cannot count this, or is not worth loading.

        It can if one condition on one column without nulls is all that needs sensitive values, and
        there is one cell.
        """
        rows, *others = self._matches.values() or [None]
        if others or not isinstance(rows, RowsOfValues) or not isinstance(self._hits.group, slice):
            return None
        values, sizes = self._column_of(rows.name).values, self._tables.sizes
        if not aggregated <= {rows.name} or values.null_count:
            return None
        loop = self._tables.loop.loop_after(len(rows.group) + len(sizes))
        return None if loop is None else count_at_once(rows, self._hits, sizes, values, loop)

    def _column_of(self, name: str) -> CodedValues:
        return self._tables.values(self._tables.bundle(name)).coded_column(name)

    def _number(self, bundle: _Bundle, aggregated: frozenset[str]) -> np.ndarray:
        """Return the number of values of each group that match a condition."""
        if names := aggregated.intersection(bundle):
            return self._matching_values(min(names)).number
        return count_matching(self._matches[bundle], len(self._tables.sizes))

    def _cell_values(self, name: str) -> CellValues:
        if self._at_once is not None:
            return self._at_once.values
        values = self._column_of(name).values
        return cell_values(self._qualifying, self._matching_values(name), values.drop_null())

    def _matching_values(self, name: str) -> MatchingValues:
        """Return a column's matching values, which are cached.

        Without a condition on the column, all values of groups with hits match.
        """
        if name not in self._found:
            self._found[name] = self._match(name)
        return self._found[name]

    def _match(self, name: str) -> MatchingValues:
        bundle, groups = self._tables.bundle(name), len(self._tables.sizes)
        table = self._tables.values(bundle)
        rows = self._matches[bundle] if bundle in self._matches else self._rows_of_hits(bundle)
        values = table.coded_column(name).values
        null = len(values) - values.null_count  # the last code, where there is one
        if values.null_count and (rows.codes(name) == null).any():
            raise NotDirectError
        return matching_values(rows, name, len(values), groups)

    def _rows_of_hits(self, bundle: _Bundle) -> MatchingRows:
        """Return all values of the groups that have hits."""
        table, groups = self._tables.values(bundle), len(self._tables.sizes)
        if table.groups > groups:
            raise NotDirectError
        selected = np.zeros(groups, dtype=bool)
        selected[self._hits.group] = self._hits.hits > 0
        return MatchingRows(
            table, self._tables.times(bundle), np.flatnonzero(selected[table.group])
        )
