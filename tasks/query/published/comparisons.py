"""Comparisons of published columns with constants in the conditions of a query."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sfumato.tasks.query.question.inquiry import InquiredPart

Kind = Literal["equality", "order", "range", "pattern"]

_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_LONGEST = 60  # characters of a constant in a note
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ColumnComparison:
    """A comparison of a published column with constants, without negation.

    Attributes:
        column: the name of the column.
        kind: `equality` with one constant, `order` (less, greater), `range` (BETWEEN), or
            `pattern` (LIKE, ILIKE).
        condition: the comparison itself; for IN one member, and for `<>` the equality.
        constants: with which the column is compared.
    """

    column: str
    kind: Kind
    condition: exp.Expr
    constants: tuple[exp.Expr, ...]

    @property
    def text(self) -> str:
        """The comparison as notes repeat it to the reader."""
        condition = self.condition.copy()
        for column in list(condition.find_all(exp.Column)):
            quoted = not _PLAIN_NAME.fullmatch(column.name)
            column.replace(exp.column(column.name, quoted=quoted))
        for constant in list(condition.find_all(exp.Cast, exp.Literal)):
            if constant is not condition and not isinstance(constant.parent, exp.Cast):
                constant.replace(exp.Var(this=constant_text(constant)))
        return condition.sql("duckdb")


def constant_text(node: exp.Expr) -> str:
    """Return a constant as a reader writes it, shortened if it is long."""
    if isinstance(node, exp.Cast):
        kind = "DATE" if node.to.this == exp.DataType.Type.DATE else "TIMESTAMP"
        return f"{kind} {node.this.sql('duckdb')}"
    text = node.sql("duckdb")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def comparisons(parts: Iterable[InquiredPart], columns: Collection[str]) -> list[ColumnComparison]:
    """Return the comparisons of some columns in the conditions of an inquiry, each once.

    Comparisons with NULL, of columns with each other and of calculations are left out.
    """
    distinct: dict[str, ColumnComparison] = {}
    for part in parts:
        for condition in (part.condition, *(comparison.condition for comparison in part.matching)):
            for node in () if condition is None else condition.walk(bfs=False):
                for comparison in _comparisons_in(node):
                    if comparison.column in columns:
                        distinct.setdefault(comparison.condition.sql("duckdb"), comparison)
    return list(distinct.values())


def _comparisons_in(node: exp.Expr) -> Iterator[ColumnComparison]:
    if isinstance(node, exp.EQ | exp.NEQ):
        yield from _comparison_with_constants(node, "equality", node.this, node.expression)
    elif isinstance(node, _ORDER):
        yield from _comparison_with_constants(node, "order", node.this, node.expression)
    elif isinstance(node, exp.In):
        for member in node.expressions:
            yield from _comparison_with_constants(node, "equality", node.this, member)
    elif isinstance(node, exp.Between):
        yield from _comparison_with_constants(
            node, "range", node.this, node.args["low"], node.args["high"]
        )
    elif isinstance(node, exp.Like | exp.ILike):
        yield from _comparison_with_constants(node, "pattern", node.this, node.expression)


def _comparison_with_constants(
    node: exp.Expr, kind: Kind, *sides: exp.Expr
) -> Iterator[ColumnComparison]:
    """Yield the comparison of a column, on either side, with constants that are not NULL."""
    bare = [side.unnest() for side in sides]
    names = [side.name for side in bare if isinstance(side, exp.Column)]
    constants = tuple(side for side in bare if not isinstance(side, exp.Column))
    if len(names) != 1 or any(side.find(exp.Column, exp.Null) for side in constants):
        return
    if kind != "equality" and kind != "order" and not isinstance(bare[0], exp.Column):
        return
    yield ColumnComparison(names[0], kind, _affirmative(node, kind, names[0], constants), constants)


def _affirmative(
    node: exp.Expr, kind: Kind, name: str, constants: tuple[exp.Expr, ...]
) -> exp.Expr:
    if kind == "equality":
        column = exp.column(name, quoted=True)
        return exp.EQ(this=column, expression=constants[0].copy())
    copy = node.copy()
    copy.set("negate", None)
    return copy
