"""Rewritten queries as the databases read them, where what they mean depends on their parts.

Bounds stand in help tables, and in common table expressions that
`tasks.query.sql.conditions` names: those of groups
in cells, and of the values in a group.
"""

from collections.abc import Iterator

from sqlglot import exp

from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.sql.trees import BOUNDS_OF, CELLED, CHOSEN, RUNS, VALUED, marked_quotients
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.sql.dialects.dialect import Dialect, Types
from sfumato.tasks.sql.dialects.outward import (
    Arithmetic,
    Numeric,
    add,
    quotient,
    sum_of_floats,
    sum_within,
)
from sfumato.tasks.sql.write import spell

_HELP = "help_"
_SUMS = {
    "l_sum": False,
    "u_sum": True,
    "sum_l": False,
    "sum_u": True,
    "low_base_sum": False,
    "low_mean_sum": False,
    "high_base_sum": True,
    "high_mean_sum": True,
}
"""The names of bounds that are sums, or that means are made of, and whether they are upper ones."""
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
    if spelling is not None and not spelling.decimals:
        _require_exact_sums(changed, known, dialect)
    _round_quotients(changed, known, dialect.arithmetic)
    _round_sums(changed, known, dialect.arithmetic)
    if spelling is not None:
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
        sums = named.find(exp.Sum) or _summed(named.this) or _is_quotient(named)
        if named.alias in compared and sums and _bounded(_summed_in(named.this), types) in _INEXACT:
            raise dialect.refusal("HAVING with a sum or mean of decimals or floats")


def _round_quotients(tree: exp.Expr, types: Types, known: Arithmetic) -> None:
    """Write quotients that are bounds, rounded outwards."""
    for mark, upper in marked_quotients(tree):
        over, under = mark.expressions
        mark.replace(quotient(over, under, _kind(mark, types, known), upper, known))


def _round_sums(tree: exp.Expr, types: Types, known: Arithmetic) -> None:
    """Round sums that are bounds outwards, where the database's may have been rounded."""
    for named in list(tree.find_all(exp.Alias)):
        bound = named.this
        of_help = isinstance(bound, exp.Sum) and isinstance(bound.this, exp.Column)
        name = bound.this.name if of_help else named.alias
        if name in _SUMS and _bounded(bound, types) is not None:
            kind = _kind(bound, types, known)
            for total, sums in list(_totals(bound)):
                total.replace(_rounded(sums, kind, known, upper=_SUMS[name]))


def _rounded(sums: list[exp.Expr], kind: Numeric, known: Arithmetic, *, upper: bool) -> exp.Expr:
    if kind == "float":
        return exp.paren(sum_of_floats(sums, upper))
    if kind == "integer" and known.total is not None:
        return known.total(sums, upper)
    copies = [of.copy() for of in sums]
    for value in (v for of in copies for v in of.find_all(exp.Column)):
        if kind == "integer" and isinstance(value.parent, exp.Mul) and value.name == "v":
            value.replace(known.factor(value))
    return add(*copies)


def _totals(node: exp.Expr) -> Iterator[tuple[exp.Expr, list[exp.Expr]]]:
    """The sums of values in a bound, those that are added as one, with what is added."""
    terms = [node.left, node.right] if isinstance(node, exp.Add) else [node]
    if all(isinstance(sum_within(term), exp.Sum) and _has_values(term) for term in terms):
        yield node, terms
        return
    for part in node.iter_expressions():
        yield from _totals(part)


def _has_values(node: exp.Expr) -> bool:
    columns = node.find_all(exp.Column)
    return any(column.name == "v" or column.table.startswith(_HELP) for column in columns)


def _kind(node: exp.Expr, types: Types, known: Arithmetic) -> Numeric:
    """The type of the numbers that a bound is made of: integers where it is not told."""
    source = _summed_in(node)
    type_ = _bounded(source, types)
    if type_ not in _INEXACT:
        return "integer"
    helped = any(column.table.startswith(_HELP) for column in source.find_all(exp.Column))
    return "decimal" if known.decimals and (helped or type_ == "decimal") else "float"


def _summed_in(node: exp.Expr) -> exp.Expr:
    """The sum that a marked quotient is of, which another query may have made for it."""
    query = node.find_ancestor(exp.Select)
    source = query.args.get("from_") if isinstance(node, exp.Anonymous) and query else None
    if source is None or not isinstance(source.this, exp.Subquery):
        return node
    made = (of for of in source.this.this.expressions if of.alias == node.expressions[0].name)
    return next((of.this for of in made if isinstance(of, exp.Alias)), node)


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


def _is_quotient(node: exp.Expr) -> bool:
    return any(True for _ in marked_quotients(node))


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
            return _valued(column, number, types)
    return None


def _numbered(column: exp.Column) -> str | None:
    """The number of the column that values, or bounds of a query on sensitive values, are of."""
    if column.table.startswith(BOUNDS_OF):
        return column.table.removeprefix(BOUNDS_OF)
    part = column.find_ancestor(exp.CTE)
    if column.name == "v" and part is not None:
        starts = (start for start in (BOUNDS_OF, RUNS) if part.alias.startswith(start))
        return next((part.alias.removeprefix(start) for start in starts), None)
    return None


def _valued(column: exp.Column, number: str, types: Types) -> ColumnType | None:
    name = _called(column, f"{VALUED}{number}", "v")
    return types.get(_called(column, CHOSEN, name) or name)


def _called(node: exp.Expr, part: str, name: str) -> str:
    """The column that the nearest part of a query calls by a name; none is the empty one."""
    of_part = _nearest(node, part)
    found = (
        named.this.name
        for named in (of_part.find_all(exp.Alias) if of_part else ())
        if named.alias == name and isinstance(named.this, exp.Column)
    )
    return next(found, "")


def _nearest(node: exp.Expr, part: str) -> exp.Expr | None:
    """The part of such a name beside a node: other questions have parts of the same names."""
    around: exp.Expr | None = node
    while around is not None:
        parts = around if isinstance(around, exp.With) else around.args.get("with_")
        found = (of for of in (parts.expressions if parts else ()) if of.alias == part)
        nearest: exp.Expr | None = next(found, None)
        if nearest is not None:
            return nearest
        around = around.parent
    return None
