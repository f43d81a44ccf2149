"""Calculations with columns in a query, each expression once, as columns of their own.

A calculation with columns that are published as they are is known of every row. A calculation with
sensitive values is known of each value, and shuffled with it: the calculated values of a group are
those of its own values. Questions that bounds answer may be about either kind.

A row of the microdata matches one row of a joined table, or none. The columns of that table are
therefore known of every row, like the columns by which it is joined.

DuckDB calculates the expressions and checks the types of their arguments. Nothing here draws a
random number, asks for the time, or reads anything other than its arguments.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeVar

import pyarrow as pa
from sqlglot import exp, parse_one

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.published import DerivedColumn, Schema
from sfumato.tasks.sql.parse import number_of, quote_name
from sfumato.tasks.sql.refusals import construct, refusal
from sfumato.tasks.terms.terms import Declared, Terms

OwnTables = Mapping[str, pa.Table]
"""An analyst's own tables by their names."""
_BINARY = frozenset({"this", "expression"})
_MANY = frozenset({"this", "expressions"})
_ONE = frozenset({"this"})
_ALLOWED: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Column: _ONE,
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: _ONE,
    exp.Null: frozenset(),
    exp.Paren: _ONE,
    exp.Neg: _ONE,
    exp.Not: _ONE,
    exp.Div: frozenset({"this", "expression", "typed", "safe"}),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Pow), _BINARY),
    **dict.fromkeys((exp.And, exp.Or, exp.Is), _BINARY),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), _BINARY),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BINARY),
    **dict.fromkeys((exp.Like, exp.ILike), frozenset({"this", "expression", "negate"})),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: _MANY,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _ONE,
    **dict.fromkeys((exp.Abs, exp.Sign, exp.Sqrt, exp.Exp, exp.Ln), _ONE),
    exp.Round: frozenset({"this", "decimals"}),
    **dict.fromkeys((exp.Floor, exp.Ceil), _ONE),
    **dict.fromkeys((exp.Lower, exp.Upper), _ONE),
    exp.Length: frozenset({"this", "binary", "encoding"}),
    exp.Trim: _ONE,
    exp.Substring: frozenset({"this", "start", "length"}),
    **dict.fromkeys((exp.Left, exp.Right, exp.StartsWith), _BINARY),
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Coalesce: frozenset({"this", "expressions", "is_nvl", "is_null"}),
    exp.Nullif: _BINARY,
    **dict.fromkeys((exp.Greatest, exp.Least), frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Extract: _BINARY,
    exp.Var: _ONE,
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Week), _ONE),
    **dict.fromkeys((exp.DayOfWeek, exp.DayOfYear), _ONE),
    exp.DateTrunc: frozenset({"unit", "this", "zone"}),
    exp.TimestampTrunc: frozenset({"this", "unit", "zone"}),
}
_KINDS = frozenset(
    {"INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "DECIMAL", "TEXT", "VARCHAR"}
    | {"DATE", "TIMESTAMP", "TIMESTAMPNTZ", "BOOLEAN", "UNKNOWN"}
)
_LISTED = 1_000
_NEVER_NULL = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Paren, exp.Var),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Floor, exp.Ceil, exp.Abs, exp.Round, exp.Sign),
    *(exp.Not, exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Like, exp.ILike),
    *(exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring, exp.Left, exp.Right),
    *(exp.StartsWith, exp.Concat, exp.DPipe, exp.Coalesce, exp.Greatest, exp.Least),
    *(exp.Extract, exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Week, exp.If),
    *(exp.Cast, exp.DataType, exp.DataTypeParam),
)
_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)
_SAME_WAY = (exp.Paren, exp.Floor, exp.Ceil, exp.Round, exp.Sqrt, exp.Exp, exp.Ln, exp.Year)
_MOST = 50


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """A table of the analyst's.

    Attributes:
        table: with the columns that are asked for, and those of the key under published names.
        keys: the published columns by which it is joined.
        columns: the declarations of its columns, by the names that the query uses for them.
        matched: the name of the column of truth values: whether a row of the microdata has a match.
    """

    table: pa.Table
    keys: tuple[str, ...]
    columns: Mapping[str, DerivedColumn]
    matched: str


@dataclass(frozen=True)
class Calculated:
    """A calculated column.

    Attributes:
        name: one that no published column can have.
        expression: over published columns.
        sources: the columns in the expression.
        type: of its values.
        scale: decimals of a decimal column.
        nulls: whether some of its values may be null.
        sensitive: whether the expression contains sensitive values.
        labelled: whether it contains labels, so that no table can have its values.
    """

    name: str
    expression: exp.Expr
    sources: tuple[str, ...]
    type: ColumnType
    scale: int | None
    nulls: bool
    sensitive: bool
    labelled: bool = False

    @property
    def columns(self) -> Mapping[str, DerivedColumn]:
        """Its declaration by its name, like those of published columns."""
        role: Literal["sensitive", "insensitive", "quasi-identifier"]
        role = "sensitive" if self.sensitive else "insensitive"
        column = DerivedColumn(
            role="quasi-identifier" if self.labelled else role,
            type=self.type,
            scale=self.scale,
            nulls=self.nulls,
            of=self.sources,
            formula=self.expression.sql("duckdb") if self.labelled else None,
        )
        return {self.name: column}


def expressions_of(columns: Schema) -> dict[str, exp.Expr]:
    """Return the expressions of the calculated columns that no table has, by their names."""
    return {
        name: parse_one(column.formula, read="duckdb")
        for name, column in columns.items()
        if isinstance(column, DerivedColumn) and column.formula is not None
    }


def put_calculated(node: exp.Expr, expressions: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return an expression with calculated columns replaced by their expressions."""

    def put(part: exp.Expr) -> exp.Expr:
        expression = expressions.get(part.name) if isinstance(part, exp.Column) else None
        return part if expression is None else exp.paren(expression.copy())

    return node.copy().transform(put, copy=False) if expressions else node


_Terms = TypeVar("_Terms", bound=Terms)


def extend_terms(terms: _Terms, extensions: Iterable[Calculated | JoinedTable]) -> _Terms:
    """Return the terms of a release with further columns, and without calibrated intervals."""
    columns = {
        name: column for extension in extensions for name, column in extension.columns.items()
    }
    update: dict[str, Any] = {"columns": {**terms.columns, **columns}}
    if columns and isinstance(terms, Declared):
        update["intervals"] = None
    return terms.model_copy(update=update)


def require_calculation(node: exp.Expr) -> None:
    """Require that an expression contains only what may be calculated of a row.

    Raises:
        QueryError: naming what is not allowed.
    """
    for part in node.walk():
        allowed = _ALLOWED.get(type(part))
        if allowed is None:
            raise refusal(part)
        for key, value in part.args.items():
            if value and key not in allowed:
                raise refusal(key, f" in {construct(part)}")
        if isinstance(part, exp.DataType) and part.this.value not in _KINDS:
            raise QueryError(
                "not allowed: a CAST to this type. Use CAST to INTEGER, DECIMAL, "
                "DOUBLE, VARCHAR, DATE or TIMESTAMP"
            )
        if isinstance(part, exp.In) and len(part.expressions) > _LISTED:
            raise QueryError(f"IN needs 1 to {_LISTED:,} constants")


def may_be_null(node: exp.Expr) -> bool:
    """Decide whether a calculation may be null where none of its columns is null.

    >>> import sqlglot
    >>> texts = "age / 10", "10 / age", "NULLIF(age, 0)"
    >>> [may_be_null(sqlglot.parse_one(text)) for text in texts]
    [False, True, True]
    """
    return any(map(_makes_null, node.walk()))


def _makes_null(part: exp.Expr) -> bool:
    """Decide whether a part of a calculation may be null where none of its own parts is."""
    if isinstance(part, exp.Case):
        return part.args.get("default") is None
    if isinstance(part, _DIVISIONS):
        return not number_of(part.expression.unnest())
    if isinstance(part, exp.If) and not isinstance(part.parent, exp.Case):
        return part.args.get("false") is None
    return not isinstance(part, _NEVER_NULL)


def direction(node: exp.Expr) -> int:
    """Return 1 if a calculation never falls as its one column grows, -1 if it never rises, else 0.

    Returns 0 also if the direction is not known.

    >>> import sqlglot
    >>> [direction(sqlglot.parse_one(text)) for text in ("FLOOR(age / 10)", "5 - age", "age % 2")]
    [1, -1, 0]
    """
    if isinstance(node, exp.Column):
        return 1
    if isinstance(node, _SAME_WAY):
        return direction(node.this)
    if isinstance(node, exp.Neg):
        return -direction(node.this)
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.IntDiv):
        return 0
    first_operand, second_operand = node.this, node.expression
    first, second = number_of(first_operand.unnest()), number_of(second_operand.unnest())
    if second is not None:
        scaled = isinstance(node, exp.Mul | exp.Div | exp.IntDiv)
        return direction(first_operand) * (_sign(second) if scaled else 1)
    if first is None or isinstance(node, exp.Div | exp.IntDiv):
        return 0
    times = _sign(first) if isinstance(node, exp.Mul) else -1 if isinstance(node, exp.Sub) else 1
    return direction(second_operand) * times


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


class Calculations:
    """The columns that a query calculates, each expression once."""

    def __init__(self, declared: Terms) -> None:
        """Calculate nothing yet."""
        self._terms = declared
        self._found: dict[str, Calculated] = {}

    @property
    def columns(self) -> tuple[Calculated, ...]:
        """All calculated columns."""
        return tuple(self._found.values())

    def column(self, expression: exp.Expr, *, condition: bool = False) -> exp.Column:
        """Return the column of an expression: itself if it is a column, else a calculated one.

        Args:
            expression: over published columns.
            condition: whether it must be true, false or null.

        Raises:
            QueryError: if it may not be calculated, or its columns are not published beside each
                other.
        """
        bare = expression.unnest()
        if isinstance(bare, exp.Column):
            return bare
        text = bare.sql("duckdb")
        if text not in self._found:
            self._found[text] = self._calculate(bare)
        column = self._found[text]
        if condition and column.type != "boolean":
            raise QueryError(
                f"a condition is needed here, but this is a value of type {column.type}"
            )
        return exp.column(column.name, quoted=True)

    @property
    def terms(self) -> Terms:
        """The terms with the calculated columns added."""
        return extend_terms(self._terms, self.columns)

    def _calculate(self, expression: exp.Expr) -> Calculated:
        require_calculation(expression)
        if len(self._found) == _MOST:
            raise QueryError(f"a query may calculate at most {_MOST} columns")
        sources = tuple(dict.fromkeys(column.name for column in expression.find_all(exp.Column)))
        if not sources:
            raise QueryError("a calculation without a column. Write its result")
        sensitive = self._is_sensitive(sources)
        type_, scale = self._type(expression, sources)
        name = f"\x02{len(self._found)}"
        columns = [self._terms.columns[source] for source in sources]
        labelled = self._terms.is_recoded and any(c.role == "quasi-identifier" for c in columns)
        null = not labelled or any(c.nulls for c in columns) or may_be_null(expression)
        return Calculated(name, expression, sources, type_, scale, null, sensitive, labelled)

    def _is_sensitive(self, sources: tuple[str, ...]) -> bool:
        """Decide whether the columns have values that are published apart from rows.

        Raises:
            QueryError: if the columns are not published beside each other.
        """
        way = WAYS[self._terms.form.shows]
        bundles = way.bundles(self._terms)
        apart = [name for name in sources if name in bundles]
        if apart and set(sources) - set(bundles[apart[0]]):
            raise QueryError(
                "a calculation must not combine these columns, because the release "
                "does not show which of their values belong together: "
                f"{', '.join(map(quote_name, sorted(sources)))}"
            )
        roles = {name: self._terms.columns[name].role for name in sources}
        if hidden := [name for name, role in roles.items() if role not in way.calculable]:
            raise QueryError(
                f"column {quote_name(hidden[0])}: its values are not published as they "
                "are, so nothing can be calculated with them. Write the comparison as "
                "a condition: COUNT(*) FILTER (WHERE … > …)"
            )
        return bool(apart)

    def _type(
        self, expression: exp.Expr, sources: tuple[str, ...]
    ) -> tuple[ColumnType, int | None]:
        from sfumato.tasks.sql.session import calculate

        schema = pa.schema([(name, self._terms.columns[name].arrow_type) for name in sources])
        return column_type(
            calculate(pa.Table.from_batches([], schema), [expression]).schema.types[0]
        )


def column_type(type_: pa.DataType) -> tuple[ColumnType, int | None]:
    """Return the type of a column by the type of its values in Arrow."""
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
    type_name = next((kind for is_kind, kind in kinds if is_kind(type_)), None)
    if type_name is None:
        raise QueryError("a calculation must give a number, text, date, time, or truth value")
    return type_name, None
