"""The columns of a release as they are published, each read when it is first needed."""

import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import finalize

import pyarrow.compute as pc
from sqlglot import exp

from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.query.engines.engine import Files, Source
from sfumato.tasks.query.published.columns import LabelledColumn, PublishedColumn, ValueColumn
from sfumato.tasks.query.published.comparisons import ColumnComparison
from sfumato.tasks.query.published.lookup import Lookup, batches, row_count
from sfumato.tasks.query.question.question import BOUNDS, TABLE
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.names import COUNT, TARGETS
from sfumato.tasks.sql.parse import number_of
from sfumato.tasks.sql.session import open_session
from sfumato.tasks.terms.tables import form_of, schemas
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    import duckdb

_ORDER: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


def is_plainly_met(
    comparison: ColumnComparison, type_: ColumnType, column: PublishedColumn
) -> bool:
    """Decide whether some value surely meets a comparison; False if SQL must decide.

    Args:
        comparison: the comparison.
        type_: of the values of its column.
        column: the published column.
    """
    constants = [_constant(node, type_) for node in comparison.constants]
    if None in constants:
        return False
    if comparison.kind == "equality":
        return constants[0] in column.sample
    if comparison.kind == "range":
        low, high = constants
        return any(value is not None and low <= value <= high for value in column.sample)
    ends = column.ends if comparison.kind == "order" else None
    if ends is None or ends[0] is None:
        return False
    holds = _ORDER[type(comparison.condition)]
    if isinstance(comparison.condition.this.unnest(), exp.Column):
        return any(holds(end, constants[0]) for end in ends)
    return any(holds(constants[0], end) for end in ends)


def _constant(node: exp.Expr, type_: ColumnType) -> Fraction | str | None:
    """Return a constant of its column's type; None for other types, and types that SQL rounds."""
    if type_ == "integer":
        return number_of(node)
    is_text = type_ == "string" and isinstance(node, exp.Literal) and node.is_string
    return node.name if is_text else None


class PublishedValues:
    """The columns of the published tables, with all rows and without a reader's own tables."""

    def __init__(
        self,
        tables: Files,
        declared: Declared,
        connection: "duckdb.DuckDBPyConnection | None" = None,
    ) -> None:
        """Read nothing yet.

        Args:
            tables: by their names; missing ones are ignored.
            declared: the terms of the release.
            connection: to compare values with; if it is None, one is opened when it is needed.
        """
        self._tables, self._declared, self._connection = tables, declared, connection
        self._columns: dict[str, PublishedColumn | None] = {}
        self._known: dict[str, bool] = {}

    @cached_property
    def rows(self) -> int | None:
        """The most rows that a query can count; None if no table gives their number."""
        if WAYS[self._declared.form.shows].without_rows:
            return max((_total(source) for source in self._tables_with(COUNT)), default=None)
        form = self._declared.form
        names = [form.rows_table or TABLE]
        if self._declared.has_related_rows:
            names = [form.table_of_rows, form.related_table]
        tables = [self._tables[name] for name in names if name in self._tables]
        return max(map(row_count, tables), default=None)

    @cached_property
    def lookup(self) -> Lookup:
        """The lookup that compares values."""
        if self._connection is None:
            self._connection = open_session({})
            finalize(self, self._connection.close)
        return Lookup(self._connection)

    def column(self, name: str) -> PublishedColumn | None:
        """Return a published column; None if it does not exist or its table is missing."""
        if name not in self._columns:
            self._columns[name] = self._column(name) if name in self._declared.columns else None
        return self._columns[name]

    def admits(self, comparisons: list[ColumnComparison]) -> list[bool]:
        """Return whether a row can meet each of some comparisons of one published column.

        Raises:
            QueryError: if they cannot be evaluated.
        """
        name = comparisons[0].column
        column, type_ = self.column(name), self._declared.columns[name].type
        if column is None:
            return [True] * len(comparisons)
        texts = {
            comparison: comparison.condition.sql("duckdb")
            for comparison in comparisons
            if not is_plainly_met(comparison, type_, column)
        }
        unknown = {
            text: comparison for comparison, text in texts.items() if text not in self._known
        }
        if unknown:
            admitted = column.admitted_comparisons(list(unknown.values()), self.lookup)
            self._known |= {text: comparison in admitted for text, comparison in unknown.items()}
        return [
            comparison not in texts or self._known[texts[comparison]] for comparison in comparisons
        ]

    def _column(self, name: str) -> PublishedColumn | None:
        declared = self._declared.columns[name]
        shows, sensitive = self._declared.form.shows, declared.role == "sensitive"
        if shows == "labels" and declared.role == "quasi-identifier":
            read = reader_for(form_of(self._declared))(name, declared)
            table = self._tables.get(TABLE)
            return None if table is None else LabelledColumn(table, name, declared, read)
        if shows == "subdomains" and sensitive:
            targets = self._tables.get(TARGETS)
            sources = [] if targets is None else [(targets, end) for end in BOUNDS]
        else:
            sources = [(source, name) for source in self._tables_with(name)]
        return ValueColumn(tuple(sources), declared) if sources else None

    def _tables_with(self, name: str) -> Iterator[Source]:
        """Yield the published tables that have a column."""
        for table, schema in schemas(self._declared).items() if self._tables else ():
            if name in schema.names and table in self._tables:
                yield self._tables[table]


def _total(source: Source) -> int:
    return sum(int(pc.sum(values).as_py() or 0) for values in batches(source, COUNT))
