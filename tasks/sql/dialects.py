"""Queries as the databases read them: DuckDB, PostgreSQL, SQLite and MariaDB.

Meaning is DuckDB's: comparisons of texts are by code points, LIKE tells letters' case apart, and
quotients are not cut off. Where a database says it otherwise, the query is written otherwise.
"""

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from sqlglot import exp

Dialect = Literal["duckdb", "postgres", "sqlite", "mariadb"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

_CALLED: Mapping[str, str] = {"mariadb": "mysql"}


def written(tree: exp.Expr, dialect: Dialect) -> str:
    """A query over published tables as a database reads it."""
    changed: exp.Expr = tree.copy()
    if dialect in _DIFFERENT:
        changed = changed.transform(_DIFFERENT[dialect])
    text: str = changed.sql(_CALLED.get(dialect, dialect), pretty=True)
    return text


def _for_sqlite(node: exp.Expr) -> exp.Expr:
    """LIKE knows no case there, and moments are texts."""
    if isinstance(node, exp.Like):
        return exp.Glob(this=node.this, expression=_globbed(node.expression))
    if isinstance(node, exp.Cast) and node.to.this in _MOMENTS:
        text: exp.Expr = node.this
        return text
    return node


_MOMENTS = (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)
_GLOB = str.maketrans({"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"})


def _globbed(pattern: exp.Expr) -> exp.Expr:
    return exp.Literal.string(pattern.name.translate(_GLOB))


def _for_mariadb(node: exp.Expr) -> exp.Expr:
    """A quotient of whole numbers has four decimals there."""
    if isinstance(node, exp.Div) and not isinstance(node.this, exp.Cast):
        double = exp.Cast(this=node.this, to=exp.DataType.build("double"))
        return exp.Div(this=double, expression=node.expression, typed=False, safe=False)
    return node


_DIFFERENT: Mapping[str, Callable[[exp.Expr], exp.Expr]] = {
    "sqlite": _for_sqlite,
    "mariadb": _for_mariadb,
}
