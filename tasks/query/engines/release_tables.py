"""The published tables of a release that shows exact rows, and its help tables, by columns.

A compiled loop counts faster, but takes half a second to load. So it is loaded only in sessions of
many questions, once counting without it has taken about as long.
"""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_indices
from sfumato.tasks.arrays.compiled import Loop, can_compile, compile_loop
from sfumato.tasks.forms.lineage import LINEAGE, ROWS, VACANT_ROWS
from sfumato.tasks.forms.vacancies import VACANT
from sfumato.tasks.query.aggregates.kind import HelpColumn
from sfumato.tasks.query.engines.cells import Hits
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.group_values import GroupTotals, Units, totals_of_values, units_of
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.ways import GROUP_VALUES, Relations
from sfumato.tasks.terms.terms import Declared

_EXTREMES: Mapping[type[exp.AggFunc], np.ufunc] = {exp.Min: np.minimum, exp.Max: np.maximum}
_WORTH_LOADING = 30_000_000  # values and groups, once so many were counted without the loop


class HelpRows:
    """A help table: for each group 0, 1, … a row with the bounds for each number of hits 1, 2, ….

    Hits are rows that a query selects of the group.
    """

    def __init__(self, table: PublishedColumns) -> None:
        """Take the table; columns are read when they are needed."""
        self._table = table
        self._units: dict[str, Units] = {}

    @cached_property
    def start(self) -> np.ndarray:
        """The place of each group's first row, and the number of all rows (int64, groups + 1).

        Raises:
            NotDirectError: if groups and hits are not in this order.
        """
        group, hits = self._table.group, self._table.numbers("hits")
        changed = group[1:] != group[:-1]
        start = np.concatenate(([0], np.flatnonzero(changed) + 1))[: len(group)]
        counted = np.where(changed, 1, hits[:-1] + 1)
        if not (
            np.array_equal(group[start], np.arange(len(start)))
            and (hits[:1] == 1).all()
            and np.array_equal(hits[1:], counted)
        ):
            raise NotDirectError
        return np.append(start, len(group))

    @property
    def sizes(self) -> np.ndarray:
        """The most hits of each group (int64, one per group)."""
        return np.diff(self.start)

    @property
    def totals(self) -> Units:
        """The sum of each group's values (units, one per group).

        It is the lower bound of the sum if all rows of the group are hits.
        """
        sums = self.units("l_sum")
        return Units(sums.units[self.start[1:] - 1], sums.digits)

    def places(self, hits: Hits) -> np.ndarray:
        """Return the row of the help table for each group and number of hits (int64).

        Raises:
            NotDirectError: if there is none.
        """
        start, group = self.start, hits.each_group
        if len(group) and int(group.max()) >= len(start) - 1:
            raise NotDirectError
        places = start[group] + hits.hits
        if (places > start[1:][group]).any():
            raise NotDirectError
        return np.asarray(places - 1)

    def combine(self, column: HelpColumn, places: np.ndarray, hits: Hits) -> list[Any]:
        """Combine the bounds in a column of the help table by cell.

        Args:
            column: the column, with the function that combines its bounds.
            places: the row for each group and number of hits; see `places`.
            hits: the hits of each group in each cell.

        Returns:
            A number or value for each cell; None for an extreme in a cell without hits.

        Raises:
            NotDirectError: if another function than a sum, least or greatest value combines them.
        """
        if column.function is exp.Sum:
            numbers = self.units(column.name)
            sums = hits.sums(numbers.units[places], numbers.largest)
            return [numbers.number(units) for units in sums.tolist()]
        if column.function not in _EXTREMES:
            raise NotDirectError
        coded = self._table.coded_column(column.name)
        return _extremes(coded.values, coded.codes[places], hits, _EXTREMES[column.function])

    def units(self, name: str) -> Units:
        """Return a column of numbers as units.

        Raises:
            NotDirectError: if they are not integers or decimals, or some are missing.
        """
        if name not in self._units:
            self._units[name] = units_of(self._table.read(name).combine_chunks())
        return self._units[name]


def _extremes(values: pa.Array, codes: np.ndarray, hits: Hits, extreme: np.ufunc) -> list[Any]:
    """Return the value with the extreme code in each cell; None for a cell without codes."""
    none = len(values) if extreme is np.minimum else -1
    extremes = hits.reduce_by_cell(extreme, codes.astype(np.int32), none)
    cells: list[Any] = values.take(as_indices(np.where(extremes == none, -1, extremes))).to_pylist()
    return cells


class DeferredLoop:
    """The compiled loop, which is loaded once enough was counted without it.

    Loading it takes about as long as counting `_WORTH_LOADING` groups and values without it.
    """

    def __init__(self) -> None:
        """Start with nothing counted."""
        self._counted = 0

    def loop_after(self, number: int) -> Loop | None:
        """Return the loop to count `number` more values; None if it is not worth loading yet.

        None as well where nothing can be compiled: other ways of counting give the same.
        """
        self._counted += number
        return _compile() if self._counted > _WORTH_LOADING and can_compile() else None


def count_groups(
    pairs: Any, bits: Any, hits: Any, sizes: Any, counts: Any, expected: Any, rows: Any
) -> None:
    """Count each group's values, which follow each other and ascend.

    Args:
        pairs: keys of groups and, in the last `bits`, codes, ascending (integers).
        bits: the number of bits of a code.
        hits: the number of selected rows of each group (int64).
        sizes: the number of values of each group (int64).
        counts: the result for each code: the copies that surely count and all that may count, for
            lower bounds, then for upper bounds (int64, 4 x codes).
        expected: the result for each code: the expected number of copies that count (float64).
        rows: the result: the number of rows at least, at most, and as expected (float64).
    """
    mask, start = (1 << bits) - 1, 0
    while start < len(pairs):
        group, end = pairs[start] >> bits, start + 1
        while end < len(pairs) and pairs[end] >> bits == group:
            end += 1
        matched, selected, size = end - start, hits[group], sizes[group]
        if selected > 0:
            sure, most = max(selected + matched - size, 0), min(selected, matched)
            rows[0] += sure
            rows[1] += most
            rows[2] += selected * matched / size
            for place in range(start, end):
                code, below, above = pairs[place] & mask, place - start, end - 1 - place
                counts[0, code] += below < sure
                counts[1, code] += below < most
                counts[2, code] += above < sure
                counts[3, code] += above < most
                expected[code] += selected / size
        start = end


@cache
def _compile() -> Loop:
    return compile_loop(count_groups)


class ReleaseTables:
    """The tables of a release by their purpose; columns are read once, when needed."""

    def __init__(self, tables: Files, declared: Declared, table_names: Relations) -> None:
        """Take the tables; columns are read when they are needed."""
        self._tables, self._declared, self._known = tables, declared, table_names
        self.rows = PublishedColumns(tables[table_names.rows])
        self._values: dict[str, PublishedColumns] = {table_names.rows: self.rows}
        self._helping: dict[str, HelpRows] = {}
        self._totals: dict[str, GroupTotals] = {}
        self._times: dict[tuple[str, ...], np.ndarray] = {}
        self.loop = DeferredLoop()

    def is_whole(self, name: str) -> bool:
        """Decide whether a column's values are integers."""
        return self._declared.columns[name].type == "integer"

    def bundle(self, name: str) -> tuple[str, ...]:
        """Return the sensitive columns that are published together with a column, and itself."""
        return next(columns for columns in self._known.tables if name in columns)

    def values(self, bundle: tuple[str, ...]) -> PublishedColumns:
        """Return the table with the values of groups, including those of people who left.

        `bundle` is the sensitive columns that it shows together.
        """
        name = self._known.tables[bundle]
        if name not in self._values:
            parts = [self._known.rows, VACANT] if name == GROUP_VALUES else [name]
            self._values[name] = PublishedColumns(*(self._tables[part] for part in parts))
        return self._values[name]

    def times(self, bundle: tuple[str, ...]) -> np.ndarray | None:
        """Return the number of times that each value occurs (int64, one per row); None for once."""
        if not self._known.has_counts:
            return None
        if bundle not in self._times:
            self._times[bundle] = self.values(bundle).numbers("count")
        return self._times[bundle]

    def helping(self, name: str) -> HelpRows:
        """Return the help table of a sensitive column."""
        if name not in self._helping:
            self._helping[name] = HelpRows(PublishedColumns(self._tables[help_name(name)]))
        return self._helping[name]

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of values of each group (int64, one per group).

        Raises:
            NotDirectError: if groups are not numbered 0, 1, ….
        """
        if not self._declared.is_composed:
            return np.bincount(self.rows.group)
        lineage = PublishedColumns(self._tables[LINEAGE])
        if not np.array_equal(lineage.group, np.arange(len(lineage.group))):
            raise NotDirectError
        return np.asarray(lineage.numbers(ROWS) + lineage.numbers(VACANT_ROWS))

    def totals(self, name: str) -> GroupTotals:
        """Return the number of each group's values of a column, and their sum.

        Raises:
            NotDirectError: if they cannot be read from tables in the order of a release.
        """
        if name not in self._totals:
            self._totals[name] = self._read_totals(name)
        return self._totals[name]

    def _read_totals(self, name: str) -> GroupTotals:
        if not self._declared.is_composed:
            helping = self.helping(name)
            return GroupTotals(helping.sizes, helping.totals)
        bundle = self.bundle(name)
        return totals_of_values(self.values(bundle), name, self.times(bundle), self.sizes)
