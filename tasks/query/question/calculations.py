"""What a query calculates of columns, each expression once, as columns of their own."""

from typing import Any

import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.calculated import Calculated, extend_terms
from sfumato.tasks.query.question.functions import may_be_null, require_calculation
from sfumato.tasks.query.question.ways.registry import WAYS
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import quote_name

_MOST = 50


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
        return extend_terms(self._terms, self.columns)

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
        columns = [self._terms.columns[one] for one in of]
        labelled = self._terms.recoded and any(c.role == "quasi-identifier" for c in columns)
        null = not labelled or any(c.nulls for c in columns) or may_be_null(expression)
        return Calculated(name, expression, of, type_, scale, null, sensitive, labelled)

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
                "nothing is calculated of them. Write the comparison as a condition: "
                "COUNT(*) FILTER (WHERE … > …)"
            )
        return bool(apart)

    def _type(self, expression: exp.Expr, of: tuple[str, ...]) -> tuple[ColumnType, int | None]:
        from sfumato.tasks.sql.session import calculate

        schema = pa.schema([(name, self._terms.columns[name].arrow_type) for name in of])
        return column_type(
            calculate(pa.Table.from_batches([], schema), [expression]).schema.types[0]
        )


def column_type(type_: pa.DataType) -> tuple[ColumnType, int | None]:
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
