"""Columns that a query calculates of published ones, put beside these in the published tables.

What is calculated of columns that are published as they are is known of every row. What is
calculated of sensitive values is known of each value, and shuffled with it: the values of a group
are those that its own values come to. So the questions that bounds answer may be about either.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Declared, Terms
from sfumato.tasks.query.engines.engine import Files, Source, read_table
from sfumato.tasks.query.inquiries.functions import require_calculation
from sfumato.tasks.query.question.ways.registry import WAYS
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.derived import DerivedColumn
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.sql.session import fetch_table, session

_TABLE = "published"
_MOST = 50


@dataclass(frozen=True)
class Calculated:
    """A column that is calculated.

    Attributes:
        name: that no published column can have.
        expression: over published columns.
        of: the columns that it is calculated of.
        type: of its values.
        scale: decimals of a decimal column.
        nulls: whether some of its values may be null.
        sensitive: whether it is calculated of sensitive values.
    """

    name: str
    expression: exp.Expr
    of: tuple[str, ...]
    type: ColumnType
    scale: int | None
    nulls: bool
    sensitive: bool

    @property
    def declared(self) -> DerivedColumn:
        """Its declaration beside those of published columns."""
        return DerivedColumn(
            role="sensitive" if self.sensitive else "insensitive",
            type=self.type,
            scale=self.scale,
            nulls=self.nulls,
            of=self.of,
        )


class Calculations:
    """The columns that a query calculates, each expression once."""

    def __init__(self, declared: Terms) -> None:
        """Calculate nothing yet."""
        self._terms = declared
        self._found: dict[str, Calculated] = {}

    @property
    def columns(self) -> tuple[Calculated, ...]:
        """All of them."""
        return tuple(self._found.values())

    def column(self, expression: exp.Expr, *, condition: bool = False) -> exp.Column:
        """The column of an expression: itself where it is one, else a calculated one.

        Args:
            expression: over published columns.
            condition: whether it has to come to true, false or null.

        Raises:
            QueryError: where it may not be calculated, or is of columns that are not published
                beside each other.
        """
        bare = expression.unnest()
        if isinstance(bare, exp.Column):
            return bare
        known = bare.sql("duckdb")
        if known not in self._found:
            self._found[known] = self._calculated(bare)
        found = self._found[known]
        if condition and found.type != "boolean":
            raise QueryError(f"not a condition: a value of type {found.type}")
        return exp.column(found.name, quoted=True)

    @property
    def terms(self) -> Terms:
        """The terms with calculated columns in them."""
        return extended(self._terms, self.columns)

    def _calculated(self, expression: exp.Expr) -> Calculated:
        require_calculation(expression)
        if len(self._found) == _MOST:
            raise QueryError(f"a query calculates at most {_MOST} columns")
        of = tuple(dict.fromkeys(column.name for column in expression.find_all(exp.Column)))
        if not of:
            raise QueryError("a calculation of no column: write what it comes to")
        sensitive = self._is_sensitive(of)
        type_, scale = self._type(expression, of)
        name = f"\x02{len(self._found)}"
        return Calculated(name, expression, of, type_, scale, nulls=True, sensitive=sensitive)

    def _is_sensitive(self, of: tuple[str, ...]) -> bool:
        """Whether values apart from rows are calculated with.

        Raises:
            QueryError: where columns are not published beside each other.
        """
        way = WAYS[self._terms.form.shows]
        bundles = way.bundles(self._terms)
        apart = [name for name in of if name in bundles]
        if apart and set(of) - set(bundles[apart[0]]):
            raise QueryError(
                "a calculation with columns whose association is not published: "
                f"{', '.join(map(quote_name, sorted(of)))}"
            )
        roles = {name: self._terms.columns[name].role for name in of}
        if hidden := [name for name, role in roles.items() if role not in way.calculable]:
            raise QueryError(
                f"column {quote_name(hidden[0])}: its values are not published as they are, and "
                "nothing is calculated of them: compare it with constants"
            )
        return bool(apart)

    def _type(self, expression: exp.Expr, of: tuple[str, ...]) -> tuple[ColumnType, int | None]:
        schema = pa.schema([(name, self._terms.columns[name].arrow_type) for name in of])
        with session({_TABLE: schema.empty_table()}) as connection:
            found = _calculate(connection, [expression])
        return _column_type(found.schema.types[0])


_Terms = TypeVar("_Terms", bound=Terms)


def extended(terms: _Terms, calculated: Iterable[Calculated]) -> _Terms:
    """The terms of a release with calculated columns in them, and without calibrated intervals."""
    more = {one.name: one.declared for one in calculated}
    update: dict[str, Any] = {"columns": {**terms.columns, **more}}
    if more and isinstance(terms, Declared):
        update["intervals"] = None
    return terms.model_copy(update=update)


def _calculate(connection: duckdb.DuckDBPyConnection, of: Iterable[exp.Expr]) -> pa.Table:
    shown = [exp.alias_(one.copy(), f"c{n}") for n, one in enumerate(of)]
    return fetch_table(connection, exp.select(*shown).from_(_TABLE))


def _column_type(type_: pa.DataType) -> tuple[ColumnType, int | None]:
    """The type of a column by that of its values in Arrow."""
    if pa.types.is_decimal(type_):
        return "decimal", int(type_.scale)
    kinds: list[tuple[Any, ColumnType]] = [
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "float"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "timestamp"),
        (pa.types.is_string, "string"),
        (pa.types.is_large_string, "string"),
    ]
    found = next((kind for is_kind, kind in kinds if is_kind(type_)), None)
    if found is None:
        raise QueryError("a calculation that comes to no number, text, moment, or truth value")
    return found, None


def with_calculated(tables: Files, calculated: Iterable[Calculated]) -> dict[str, Source]:
    """The published tables, and each column beside those that it is calculated of.

    Raises:
        QueryError: where something cannot be calculated.
        InputError: where a file is missing.
    """
    wanted = list(calculated)
    return (
        {name: _extended(table, wanted) for name, table in tables.items()} if wanted else {**tables}
    )


def _extended(source: Source, calculated: list[Calculated]) -> Source:
    table = read_table(source)
    own = [one for one in calculated if set(one.of) <= set(table.column_names)]
    if not own:
        return source
    needed = list(dict.fromkeys(name for one in own for name in one.of))
    with session({_TABLE: table.select(needed)}) as connection:
        found = _calculate(connection, [one.expression for one in own])
    for one, column in zip(own, found.columns, strict=True):
        table = table.append_column(one.name, _cast(column, one))
    return table


def _cast(column: pa.ChunkedArray, one: Calculated) -> pa.ChunkedArray:
    try:
        return column.cast(one.declared.arrow_type)
    except pa.ArrowInvalid:
        raise QueryError("a calculation that comes to numbers beyond 64 bits") from None
