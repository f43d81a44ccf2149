"""Bounds where conditions are on sensitive values: what may count of each group's values."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.engines.direct.cell_values import (
    CellValues,
    CountedAtOnce,
    cell_values,
    count_at_once,
)
from sfumato.tasks.query.engines.direct.cells import (
    Hits,
    MeantRows,
    SelectedRows,
    counted_rows,
    hits_in_each,
    meant_rows,
)
from sfumato.tasks.query.engines.direct.coded_values import CodedValues, NotDirectError
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.group_values import (
    MatchingRows,
    MatchingValues,
    RowsOfValues,
    count_matching,
    matching_values,
)
from sfumato.tasks.query.engines.direct.release_tables import ReleaseTables
from sfumato.tasks.query.engines.from_values import CountedRows, bounds_from_values
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Matching, Question

_Bundle = tuple[str, ...]


class CountedBounds:
    """The bounds of aggregates over those rows in cells whose values match."""

    def __init__(
        self,
        tables: ReleaseTables,
        conditions: ValueConditions,
        question: Question,
        rows: SelectedRows,
        *,
        estimates: bool,
    ) -> None:
        """Count the selected rows of groups, and which values match.

        Raises:
            NotDirectError: where groups are not as a release numbers them, or a condition compares
                columns or cannot be evaluated on some value.
        """
        self._tables, self._estimates, self._values = tables, estimates, dict[str, CellValues]()
        self._found: dict[str, MatchingValues] = {}
        if len(tables.sizes) != tables.rows.groups:
            raise NotDirectError
        names = frozenset(str(a.sensitive) for a in question.aggregates if not a.kind.counts_rows)
        self._matches = {
            of.columns: self._rows_of(of, conditions, names) for of in question.matching
        }
        self._hits = hits_in_each(rows, len(tables.sizes))
        self._at_once = self._count_at_once(names)
        self._numbers = {}
        if self._at_once is None:
            self._numbers = {bundle: self._number(bundle, names) for bundle in self._matches}
            self._hits = self._of_groups_that_match(self._hits)

    @cached_property
    def rows(self) -> list[CountedRows]:
        """How many rows are meant, by cell."""
        if self._at_once is not None:
            rows = self._at_once.rows
            return [rows if self._estimates else replace(rows, expected=None)]
        return counted_rows(self._meant, estimates=self._estimates)

    def bounds(self, aggregate: Aggregate, cell: int) -> Bounds:
        """The bounds of an aggregate in a cell.

        Raises:
            NotDirectError: where there are too many values and cells.
        """
        if aggregate.kind.counts_rows:
            return bounds_from_values(aggregate, self.rows[cell], None)
        values = self.values(str(aggregate.sensitive), cell)
        return bounds_from_values(aggregate, self.rows[cell], values)

    def values(self, name: str, cell: int) -> CountedValues | None:
        """The values of a column of which some copy may count in a cell; None where none may.

        Raises:
            NotDirectError: where there are too many values and cells.
        """
        if name not in self._values:
            self._values[name] = self._cell_values(name)
        whole = self._tables.is_whole(name)
        return self._values[name].counted(cell, whole=whole, estimates=self._estimates)

    def _of_groups_that_match(self, hits: Hits) -> Hits:
        """The hits of groups in which some value matches each condition: no others count.

        All of them, where all groups are looked at in turn.
        """
        if isinstance(hits.group, slice):
            return hits
        for number in self._numbers.values():
            hits = hits.where(number[hits.group] != 0)
        return hits

    @cached_property
    def _meant(self) -> MeantRows:
        """The rows that all conditions mean."""
        return meant_rows(self._hits, self._tables.sizes, list(self._numbers.values()))

    def _rows_of(
        self, of: Matching, conditions: ValueConditions, aggregated: frozenset[str]
    ) -> MatchingRows | RowsOfValues:
        """The rows of values on which a condition holds."""
        table, times = self._tables.values(of.columns), self._tables.times(of.columns)
        if table.groups > len(self._tables.sizes):
            raise NotDirectError
        named = {column.name for column in of.condition.find_all(exp.Column)}
        asked = named | aggregated.intersection(of.columns)
        known = table.by_value(min(asked)) if times is None and len(asked) == 1 else None
        if known is not None and named:
            name = min(named)
            return RowsOfValues(name, *known.among(conditions.values(table, name, of.condition)))
        return MatchingRows(table, times, np.flatnonzero(conditions.rows(table, of.condition)))

    def _count_at_once(self, aggregated: frozenset[str]) -> CountedAtOnce | None:
        """What a compiled loop counts, where it can and is worth loading."""
        rows, *others = self._matches.values() or [None]
        if others or not isinstance(rows, RowsOfValues) or not isinstance(self._hits.group, slice):
            return None
        values, sizes = self._column_of(rows.name).values, self._tables.sizes
        if not aggregated <= {rows.name} or values.null_count:
            return None
        loop = self._tables.loop.after(len(rows.group) + len(sizes))
        return None if loop is None else count_at_once(rows, self._hits, sizes, values, loop)

    def _column_of(self, name: str) -> CodedValues:
        return self._tables.values(self._tables.bundle(name)).coded(name)

    def _number(self, bundle: _Bundle, aggregated: frozenset[str]) -> np.ndarray:
        """How many values of each group match a condition."""
        if names := aggregated.intersection(bundle):
            return self._matching_values(min(names)).number
        return count_matching(self._matches[bundle], len(self._tables.sizes))

    def _cell_values(self, name: str) -> CellValues:
        if self._at_once is not None:
            return self._at_once.values
        values = self._column_of(name).values
        return cell_values(self._meant, self._matching_values(name), values.drop_null())

    def _matching_values(self, name: str) -> MatchingValues:
        """Values of a column that match; without a condition on it, those of groups with hits."""
        if name not in self._found:
            self._found[name] = self._match(name)
        return self._found[name]

    def _match(self, name: str) -> MatchingValues:
        bundle, groups = self._tables.bundle(name), len(self._tables.sizes)
        table = self._tables.values(bundle)
        rows = self._matches[bundle] if bundle in self._matches else self._rows_of_hits(bundle)
        values = table.coded(name).values
        null = len(values) - values.null_count  # the last code, where there is one
        if values.null_count and (rows.codes(name) == null).any():
            raise NotDirectError
        return matching_values(rows, name, len(values), groups)

    def _rows_of_hits(self, bundle: _Bundle) -> MatchingRows:
        """All values of the groups that have hits."""
        table, groups = self._tables.values(bundle), len(self._tables.sizes)
        if table.groups > groups:
            raise NotDirectError
        selected = np.zeros(groups, dtype=bool)
        selected[self._hits.group] = self._hits.hits > 0
        return MatchingRows(
            table, self._tables.times(bundle), np.flatnonzero(selected[table.group])
        )
