"""Queries as the databases read them: DuckDB, PostgreSQL, SQLite and MariaDB.

Meaning is DuckDB's. Where a database says it otherwise, the query is written otherwise; what it
cannot say is refused (`tasks.sql.conditions` for the conditions of a query).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from sqlglot import exp

from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.conditions import Conditions, Other, moment

Dialect = Literal["duckdb", "postgres", "sqlite", "mariadb"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
Types = Mapping[str, ColumnType]

_CALLED: Mapping[str, str] = {"mariadb": "mysql"}
_NO_TYPES: Types = MappingProxyType({})


def written(tree: exp.Expr, dialect: Dialect, types: Types = _NO_TYPES) -> str:
    """A query over published tables as a database reads it.

    Args:
        tree: the query, as DuckDB would read it.
        dialect: of the database.
        types: of the published columns; where one is not told, it counts as of integers.

    Raises:
        QueryError: naming what cannot be written for the database.
    """
    if dialect == "duckdb":
        return tree.sql(dialect, pretty=True)
    changed = tree.copy()
    for clause in list(changed.find_all(exp.Where)):
        known = types if _is_of_published(clause) else _NO_TYPES
        Conditions(dialect, known).rewrite(clause)
    return changed.transform(_written, dialect).sql(_CALLED.get(dialect, dialect), pretty=True)


def _written(node: exp.Expr, dialect: Other) -> exp.Expr:
    if isinstance(node, exp.Ordered):
        # Where nulls come is of no matter in windows, and not every database lets one say it.
        node.set("nulls_first", dialect in ("sqlite", "mariadb") and not node.args.get("desc"))
        return node
    if dialect == "mariadb" and isinstance(node, exp.Div) and not isinstance(node.this, exp.Cast):
        # A quotient of whole numbers has four decimals there.
        double = exp.Cast(this=node.this, to=exp.DataType.build("double"))
        return exp.Div(this=double, expression=node.expression, typed=False, safe=False)
    return moment(node, dialect)


def _is_of_published(clause: exp.Where) -> bool:
    """Whether a condition is on published columns, not on bounds."""
    select = clause.parent
    source = select.args.get("from_") if isinstance(select, exp.Select) else None
    table = source.this if source else None
    return isinstance(table, exp.Table) and table.name not in _common(clause)


def _common(node: exp.Expr) -> set[str]:
    root = node.root()
    return {part.alias for part in root.find_all(exp.CTE)}
