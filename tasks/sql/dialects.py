"""Queries as the databases read them: DuckDB, PostgreSQL, SQLite and MariaDB.

Meaning is DuckDB's. Where a database says it otherwise, the query is written otherwise; what it
cannot say is refused (`tasks.sql.conditions` for the conditions of a query).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from sqlglot import exp

from expectations.errors import QueryError
from tasks.forms.schema import safe_name
from tasks.microdata.schema import ColumnType
from tasks.sql.conditions import Conditions, Other, moment

Dialect = Literal["duckdb", "postgres", "sqlite", "mariadb"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
Types = Mapping[str, ColumnType]

_CALLED: Mapping[str, str] = {"mariadb": "mysql"}
_NO_TYPES: Types = MappingProxyType({})
_BOUND_OF = "help_"
_INEXACT = ("decimal", "float")
_KEYS = (("celled", "cell"), ("valued_", "v"))  # beside group_id


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
    if dialect == "sqlite":
        _require_exact_sums(changed, types)
        _group_windows(changed)
    for clause in list(changed.find_all(exp.Where)):
        known = types if _is_of_published(clause) else _NO_TYPES
        Conditions(dialect, known).rewrite(clause)
    booleans = {name for name, type_ in types.items() if type_ == "boolean"}
    if dialect == "postgres" and booleans:
        _write_booleans(changed, types)
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


def _write_booleans(tree: exp.Expr, types: Types) -> None:
    """PostgreSQL has no least and greatest boolean, but all and some."""
    for extreme in list(tree.find_all(exp.Min, exp.Max)):
        if _bounded(extreme, types) == "boolean":
            kind = exp.LogicalAnd if isinstance(extreme, exp.Min) else exp.LogicalOr
            extreme.replace(kind(this=extreme.this))


def _require_exact_sums(tree: exp.Expr, types: Types) -> None:
    """SQLite has no decimals: a sum of them cannot be compared exactly.

    Raises:
        QueryError: where HAVING compares one.
    """
    clause = tree.args.get("where")
    if clause is None:
        return
    compared = {column.name for column in clause.find_all(exp.Column)}
    for named in tree.find_all(exp.Alias):
        sums = named.find(exp.Sum) or _summed(named.this)
        if named.alias in compared and sums and _bounded(named.this, types) in _INEXACT:
            raise QueryError(
                "cannot be written for SQLite: HAVING with a sum or mean of decimals or floats"
            )


def _group_windows(tree: exp.Expr) -> None:
    """Group what window functions give by its keys, without which it is the same.

    SQLite takes the rows of a window for very few, and would join them one by one with all others,
    in quadratic time; the rows of groups it takes for many, and makes an index.
    """
    for part in tree.find_all(exp.CTE):
        key = next((key for start, key in _KEYS if part.alias.startswith(start)), None)
        if key is not None and any(column.find(exp.Window) for column in part.this.expressions):
            windowed = exp.select("*").from_(part.this.subquery("windowed"))
            part.set("this", windowed.group_by("group_id", key))


def _summed(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name in ("sum_l", "sum_u", "avg_l", "avg_u")


def _bounded(node: exp.Expr, types: Types) -> ColumnType | None:
    """The type of the sensitive column whose values or bounds are in an expression, if any."""
    for column in node.find_all(exp.Column):
        if column.table.startswith(_BOUND_OF):
            safe = column.table.removeprefix(_BOUND_OF)
            return next((t for name, t in types.items() if safe_name(name) == safe), None)
        number = _numbered(column)
        if number is not None:
            return _valued(column.root(), number, types)
    return None


def _numbered(column: exp.Column) -> str | None:
    """The number of the column that values, or bounds of a query on sensitive values, are of."""
    if column.table.startswith("bounds_"):
        return column.table.removeprefix("bounds_")
    part = column.find_ancestor(exp.CTE)
    if column.name == "v" and part is not None and part.alias.startswith("bounds_"):
        return part.alias.removeprefix("bounds_")
    return None


def _valued(root: exp.Expr, number: str, types: Types) -> ColumnType | None:
    part = next(part for part in root.find_all(exp.CTE) if part.alias == f"valued_{number}")
    for named in part.find_all(exp.Alias):
        if named.alias == "v" and isinstance(named.this, exp.Column):
            return types.get(named.this.name)
    return None
