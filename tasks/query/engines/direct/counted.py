"""Bounds where conditions are on sensitive values: what may count of each group's values."""

from functools import cached_property

import numpy as np

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.engines.direct.cell_values import CellValues
from sfumato.tasks.query.engines.direct.cells import (
    Hits,
    MeantRows,
    SelectedRows,
    counted_rows,
    hits_of,
    meant_rows,
)
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.group_values import (
    MatchingValues,
    count_matching,
    matching_values,
)
from sfumato.tasks.query.engines.direct.release_tables import ReleaseTables
from sfumato.tasks.query.engines.from_values import CountedRows, bounds_from_values
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Question

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
        self._matches = {
            of.columns: conditions.rows(tables.values(of.columns), of.condition)
            for of in question.matching
        }
        names = frozenset(str(a.sensitive) for a in question.aggregates if not a.kind.counts_rows)
        self._numbers = {bundle: self._number(bundle, names) for bundle in self._matches}
        self._hits = self._of_groups_that_match(hits_of(rows, len(tables.sizes)))

    @cached_property
    def rows(self) -> list[CountedRows]:
        """How many rows are meant, by cell."""
        return counted_rows(self._meant(None), estimates=self._estimates)

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
        """The hits of groups in which some value matches each condition: no others count."""
        for number in self._numbers.values():
            hits = hits.take(np.flatnonzero(number[hits.group] != 0))
        return hits

    def _meant(self, without: _Bundle | None) -> MeantRows:
        """The rows that conditions mean, but for those on the columns `without`."""
        numbers = [of for bundle, of in self._numbers.items() if bundle != without]
        return meant_rows(self._hits, self._tables.sizes, numbers)

    def _number(self, bundle: _Bundle, aggregated: frozenset[str]) -> np.ndarray:
        """How many values of each group match a condition."""
        if names := aggregated.intersection(bundle):
            return self._matching_values(min(names)).number
        table, times = self._tables.values(bundle), self._tables.times(bundle)
        return count_matching(table, self._matches[bundle], times, len(self._tables.sizes))

    def _cell_values(self, name: str) -> CellValues:
        values = self._tables.values(bundle := self._tables.bundle(name)).coded(name).values
        return CellValues(self._meant(bundle), self._matching_values(name), values.drop_null())

    def _matching_values(self, name: str) -> MatchingValues:
        """Values of a column that match; without a condition on it, those of groups with hits."""
        if name not in self._found:
            self._found[name] = self._match(name)
        return self._found[name]

    def _match(self, name: str) -> MatchingValues:
        bundle, groups = self._tables.bundle(name), len(self._tables.sizes)
        table, times = self._tables.values(bundle), self._tables.times(bundle)
        if bundle in self._matches:
            matches = np.flatnonzero(self._matches[bundle])
        else:
            selected = np.zeros(groups, dtype=bool)
            selected[self._hits.group] = True
            matches = np.flatnonzero(selected[table.group])
        column = table.coded(name)
        null = len(column.values) - column.values.null_count  # the last code, where there is one
        if column.values.null_count and (column.codes[matches] == null).any():
            raise NotDirectError
        return matching_values(table, name, matches, times, groups)
