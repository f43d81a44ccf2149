"""Columns that a query calculates of published ones, beside which they stand.

What is calculated of columns that are published as they are is known of every row. What is
calculated of sensitive values is known of each value, and shuffled with it: the values of a group
are those that its own values come to. So the questions that bounds answer may be about either.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from sqlglot import exp, parse_one

from sfumato.tasks.declaration.terms import Declared, Terms
from sfumato.tasks.query.question.joined import JoinedTable
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.published import DerivedColumn, Schema


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
        labelled: whether it is calculated of labels, so that no table can have its values.
    """

    name: str
    expression: exp.Expr
    of: tuple[str, ...]
    type: ColumnType
    scale: int | None
    nulls: bool
    sensitive: bool
    labelled: bool = False

    @property
    def columns(self) -> Mapping[str, DerivedColumn]:
        """Its declaration beside those of published columns."""
        role: Literal["sensitive", "insensitive", "quasi-identifier"]
        role = "sensitive" if self.sensitive else "insensitive"
        found = DerivedColumn(
            role="quasi-identifier" if self.labelled else role,
            type=self.type,
            scale=self.scale,
            nulls=self.nulls,
            of=self.of,
            formula=self.expression.sql("duckdb") if self.labelled else None,
        )
        return {self.name: found}


def expressions_of(columns: Schema) -> dict[str, exp.Expr]:
    """What columns are calculated by of which no table has the values, by their names."""
    return {
        name: parse_one(column.formula, read="duckdb")
        for name, column in columns.items()
        if isinstance(column, DerivedColumn) and column.formula is not None
    }


def put_calculated(node: exp.Expr, known: Mapping[str, exp.Expr]) -> exp.Expr:
    """An expression with calculated columns as what they are calculated by."""

    def put(part: exp.Expr) -> exp.Expr:
        found = known.get(part.name) if isinstance(part, exp.Column) else None
        return part if found is None else exp.paren(found.copy())

    return node.copy().transform(put, copy=False) if known else node


_Terms = TypeVar("_Terms", bound=Terms)


def extend_terms(terms: _Terms, more: Iterable[Calculated | JoinedTable]) -> _Terms:
    """The terms of a release with further columns in them, and without calibrated intervals."""
    columns = {name: column for one in more for name, column in one.columns.items()}
    update: dict[str, Any] = {"columns": {**terms.columns, **columns}}
    if columns and isinstance(terms, Declared):
        update["intervals"] = None
    return terms.model_copy(update=update)
