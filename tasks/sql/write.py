"""Queries in the SQL of each database.

The meaning is DuckDB's. If a database expresses it otherwise, the query is rewritten; what it
cannot express is refused (`tasks.sql.conditions` does that for the conditions of a query).
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
    """Return a query over published tables in the SQL of a database.

    Args:
        tree: the query, as DuckDB would read it.
        dialect: the dialect of the database.
        types: the types of the published columns; unknown ones count as integers.

    Raises:
        QueryError: naming what cannot be written for the database.
    """
    spelled = spell(tree.copy(), dialect, types)
    return spelled.sql(dialect.sqlglot, pretty=True, copy=False)


def spell(changed: exp.Expr, dialect: Dialect, types: Types = _NO_TYPES) -> exp.Expr:
    """Return the tree that `write` writes, made of the given one, which is changed in place."""
    if dialect.spelling is None:
        return changed
    common = {part.alias for part in changed.root().find_all(exp.CTE)}
    for clause in list(changed.find_all(exp.Where, exp.If)):
        published = _is_of_published(clause, common)
        if published or isinstance(clause, exp.Where):
            clause_types = types if published else _NO_TYPES
            Conditions(dialect, dialect.spelling, clause_types).rewrite(clause)
    return changed.transform(partial(_spell, spelling=dialect.spelling), copy=False)


def _spell(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    if isinstance(node, exp.Ordered):
        # The place of nulls does not matter in windows, and not every database allows to choose it.
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
    """Return whether a condition is on published columns, not on bounds.

    Args:
        clause: the condition's.
        common: the names of the query's common table expressions.
    """
    select = clause.find_ancestor(exp.Select)
    source = select.args.get("from_") if isinstance(select, exp.Select) else None
    table = source.this if source else None
    return isinstance(table, exp.Table) and table.name not in common
