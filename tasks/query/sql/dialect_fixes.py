"""Rewritten queries as the databases read them, where what they mean depends on their parts.

Bounds stand in help tables, and in common table expressions that
`tasks.query.sql.conditions` names: those of groups
in cells, and of the values in a group.
"""

from collections.abc import Callable

from sqlglot import exp

from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.query.sql.conditions.trees import BOUNDS_OF, CELLED, CHOSEN, VALUED
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.sql.dialects.dialect import Dialect, Types
from sfumato.tasks.sql.write import spell

Outwards = Callable[[exp.Expr, bool], exp.Expr]

_HELP = "help_"
_SUMS = {"l_sum": False, "u_sum": True, "sum_l": False, "sum_u": True}  # whether it is an upper one
_INEXACT = ("decimal", "float")
_KEYS = ((CELLED, "cell"), (VALUED, "v"))  # beside group_id


def write_bounds(tree: exp.Expr, dialect: Dialect, types: Types | None = None) -> str:
    """A query for bounds as a database reads it.

    Args:
        tree: the query, as DuckDB would read it.
        dialect: of the database.
        types: of the published columns; where one is not told, it counts as of integers.

    Raises:
        QueryError: naming what cannot be written for the database.
    """
    spelled = spell_bounds(tree, dialect, types)
    return spelled.sql(dialect.sqlglot, pretty=True, copy=False)


def spell_bounds(tree: exp.Expr, dialect: Dialect, types: Types | None = None) -> exp.Expr:
    """The tree that `write_bounds` writes, which another statement may have as its part."""
    changed, known, spelling = tree.copy(), types or {}, dialect.spelling
    if spelling is not None:
        if not spelling.decimals:
            _require_exact_sums(changed, known, dialect)
        if spelling.outwards is not None:
            _round_sums(changed, known, spelling.outwards)
        if spelling.groups_windows:
            _group_windows(changed)
        if not spelling.boolean_extremes and "boolean" in known.values():
            _write_booleans(changed, known)
    return spell(changed, dialect, known)


def _write_booleans(tree: exp.Expr, types: Types) -> None:
    """Write the least boolean as "all of them" and the greatest as "some of them"."""
    for extreme in list(tree.find_all(exp.Min, exp.Max)):
        if _bounded(extreme, types) == "boolean":
            kind = exp.LogicalAnd if isinstance(extreme, exp.Min) else exp.LogicalOr
            extreme.replace(kind(this=extreme.this))


def _require_exact_sums(tree: exp.Expr, types: Types, dialect: Dialect) -> None:
    """Without decimals a sum of them cannot be compared exactly.

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
            raise dialect.refusal("HAVING with a sum or mean of decimals or floats")


def _round_sums(tree: exp.Expr, types: Types, outwards: Outwards) -> None:
    """Round sums that are bounds outwards, where the database's may have been rounded."""
    for named in list(tree.find_all(exp.Alias)):
        bound = named.this
        of_help = isinstance(bound, exp.Sum) and isinstance(bound.this, exp.Column)
        name = bound.this.name if of_help else named.alias
        if name in _SUMS and _bounded(bound, types) is not None:
            named.set("this", outwards(bound, _SUMS[name]))


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
    sums = (kind.name for kind in AGGREGATES.values() if kind.adds)
    names = {f"{name}_{side}" for name in sums for side in ("l", "u")}
    return isinstance(node, exp.Column) and node.name in names


def _bounded(node: exp.Expr, types: Types) -> ColumnType | None:
    """The type of the sensitive column whose values or bounds are in an expression, if any."""
    for column in node.find_all(exp.Column):
        if column.table.startswith(_HELP):
            safe = column.table.removeprefix(_HELP)
            return next((t for name, t in types.items() if safe_name(name) == safe), None)
        number = _numbered(column)
        if number is not None:
            return _valued(column.root(), number, types)
    return None


def _numbered(column: exp.Column) -> str | None:
    """The number of the column that values, or bounds of a query on sensitive values, are of."""
    if column.table.startswith(BOUNDS_OF):
        return column.table.removeprefix(BOUNDS_OF)
    part = column.find_ancestor(exp.CTE)
    if column.name == "v" and part is not None and part.alias.startswith(BOUNDS_OF):
        return part.alias.removeprefix(BOUNDS_OF)
    return None


def _valued(root: exp.Expr, number: str, types: Types) -> ColumnType | None:
    name = _called(root, f"{VALUED}{number}", "v")
    return types.get(_called(root, CHOSEN, name) or name)


def _called(root: exp.Expr, part: str, name: str) -> str:
    """The column that a part of a query calls by a name; none is the empty one."""
    of_part = (
        named
        for of in root.find_all(exp.CTE)
        if of.alias == part
        for named in of.find_all(exp.Alias)
    )
    found = (
        named.this.name
        for named in of_part
        if named.alias == name and isinstance(named.this, exp.Column)
    )
    return next(found, "")
