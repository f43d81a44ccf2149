"""Queries as the databases read them.

Meaning is DuckDB's. Where a database says it otherwise, the query is written otherwise; what it
cannot say is refused (`tasks.sql.conditions` for the conditions of a query).
"""

from collections.abc import Set
from datetime import date, datetime
from functools import partial
from types import MappingProxyType

from sqlglot import exp

from sfumato.tasks.sql.conditions import Conditions
from sfumato.tasks.sql.dialects.dialect import Dialect, Spelling, Types

_NO_TYPES: Types = MappingProxyType({})
_MOMENTS = (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)


def write(tree: exp.Expr, dialect: Dialect, types: Types = _NO_TYPES) -> str:
    """A query over published tables as a database reads it.

    Args:
        tree: the query, as DuckDB would read it.
        dialect: of the database.
        types: of the published columns; where one is not told, it counts as of integers.

    Raises:
        QueryError: naming what cannot be written for the database.
    """
    spelled = spell(tree.copy(), dialect, types)
    return spelled.sql(dialect.sqlglot, pretty=True, copy=False)


def spell(changed: exp.Expr, dialect: Dialect, types: Types = _NO_TYPES) -> exp.Expr:
    """The tree that `write` writes, made of the given one, which it takes apart."""
    if dialect.spelling is None:
        return changed
    common = {part.alias for part in changed.root().find_all(exp.CTE)}
    for clause in list(changed.find_all(exp.Where, exp.If)):
        published = _is_of_published(clause, common)
        if published or isinstance(clause, exp.Where):
            known = types if published else _NO_TYPES
            Conditions(dialect, dialect.spelling, known).rewrite(clause)
    return changed.transform(partial(_spell, spelling=dialect.spelling), copy=False)


def _spell(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    if isinstance(node, exp.Ordered):
        # Where nulls come is of no matter in windows, and not every database lets one say it.
        node.set("nulls_first", spelling.nulls_first and not node.args.get("desc"))
        return node
    if isinstance(node, exp.Literal) and node.is_string:
        return spelling.text(node)
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return spelling.node(node)
    if node.to.this not in _MOMENTS or not node.this.is_string:
        return node
    text = _iso(node.this.name, node.to.this == exp.DataType.Type.DATE)
    return spelling.moment(exp.Literal.string(text), node.to.copy())


def _iso(text: str, is_date: bool) -> str:
    if is_date:
        return date.fromisoformat(text).isoformat()
    return datetime.fromisoformat(text).isoformat(" ", "microseconds")


def _is_of_published(clause: exp.Expr, common: Set[str]) -> bool:
    """Decide whether a condition is on published columns, not on bounds.

    Args:
        clause: the condition's.
        common: the names of the query's common table expressions.
    """
    select = clause.find_ancestor(exp.Select)
    source = select.args.get("from_") if isinstance(select, exp.Select) else None
    table = source.this if source else None
    return isinstance(table, exp.Table) and table.name not in common
