"""Rewritten queries in the dialects of databases, where the meaning of a part depends on others.

Databases round quotients and sums in different ways, so these are written to round outwards. That
depends on the type of the sensitive column, which has to be found in the query. Bounds are read
from help tables, and from common table expressions that `tasks.query.sql.trees` names: of the cells
of groups, and of the values in a group.
"""

from collections.abc import Iterator

from sqlglot import exp

from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.sql.trees import (
    BOUNDS_OF,
    CELLED,
    CHOSEN,
    FEWEST,
    PIECES,
    RANKED,
    RUNS,
    SUMS_OF,
    VALUED,
    marked_quotients,
    own,
    select,
)
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
    "low_sum": False,
    "high_sum": True,
    "low_gap_sum": False,
    "high_gap_sum": True,
    "low_few_sum": False,
    "high_few_sum": True,
    "low_hull_sum": False,
    "high_hull_sum": True,
}
"""The names of bounds that are sums or the sums of means, and whether they are upper bounds."""
_OF_GAPS = {"low_sum": 4, "high_sum": 4, "low_hull_sum": 4, "high_hull_sum": 4}
"""Sums that choose terms by sums of others, which may be rounded; and by how many times of what a
sum of floats can lose they are moved outwards (see `related_values`)."""
_OF_VALUES = (BOUNDS_OF, RUNS, PIECES, SUMS_OF, FEWEST)
_INEXACT = ("decimal", "float")  # types whose sums a database may round
_KEYS = ((CELLED, "cell"), (VALUED, "v"))  # that are unique in these parts, together with group_id
_BY_ALL = (RANKED,)  # parts in which all columns but windows are unique together


def write_bounds(tree: exp.Expr, dialect: Dialect, types: Types | None = None) -> str:
    """Return a query for bounds as the text that a database reads.

    Args:
        tree: the query in DuckDB's dialect.
        dialect: the dialect of the database.
        types: the types of the published columns; a column without a type counts as integer.

    Raises:
        QueryError: if something in it cannot be written for the database.
    """
    spelled = spell_bounds(tree, dialect, types)
    return spelled.sql(dialect.sqlglot, pretty=True, copy=False)


def spell_bounds(tree: exp.Expr, dialect: Dialect, types: Types | None = None) -> exp.Expr:
    """Return the tree that `write_bounds` writes, which can be part of another statement.

    The arguments and errors are those of `write_bounds`.
    """
    changed, column_types, spelling = tree.copy(), types or {}, dialect.spelling
    if spelling is not None and not spelling.decimals:
        _require_exact_sums(changed, column_types, dialect)
    _round_quotients(changed, column_types, dialect.arithmetic)
    _round_sums(changed, column_types, dialect.arithmetic)
    if spelling is not None:
        if spelling.groups_windows:
            _group_windows(changed)
        if not spelling.boolean_extremes and "boolean" in column_types.values():
            _write_booleans(changed, column_types)
    return spell(changed, dialect, column_types)


def _write_booleans(tree: exp.Expr, types: Types) -> None:
    """Write the least boolean as "all of them" and the greatest one as "some of them"."""
    for extreme in list(tree.find_all(exp.Min, exp.Max)):
        if _type_of_bound(extreme, types) == "boolean":
            kind = exp.LogicalAnd if isinstance(extreme, exp.Min) else exp.LogicalOr
            extreme.replace(kind(this=extreme.this))


def _require_exact_sums(tree: exp.Expr, types: Types, dialect: Dialect) -> None:
    """Refuse to compare sums of decimals in a database that has no decimals.

    Raises:
        QueryError: if HAVING compares one.
    """
    clause = tree.args.get("where")
    if clause is None:
        return
    compared = {column.name for column in clause.find_all(exp.Column)}
    for named in tree.find_all(exp.Alias):
        sums = named.find(exp.Sum) or _is_sum_column(named.this) or _is_quotient(named)
        if (
            named.alias in compared
            and sums
            and _type_of_bound(_summed_in(named.this), types) in _INEXACT
        ):
            raise dialect.refusal("HAVING with a sum or mean of decimals or floats")


def _round_quotients(tree: exp.Expr, types: Types, arithmetic: Arithmetic) -> None:
    """Replace the marks of quotients by quotients that are rounded outwards."""
    for mark, upper in marked_quotients(tree):
        over, under = mark.expressions
        mark.replace(quotient(over, under, _kind(mark, types, arithmetic), upper, arithmetic))


def _round_sums(tree: exp.Expr, types: Types, arithmetic: Arithmetic) -> None:
    """Round sums that are bounds outwards if the database may have rounded them."""
    for named in list(tree.find_all(exp.Alias)):
        bound = named.this
        of_help = isinstance(bound, exp.Sum) and isinstance(bound.this, exp.Column)
        name = bound.this.name if of_help else named.alias
        if name in _SUMS and _type_of_bound(bound, types) is not None:
            kind = _kind(bound, types, arithmetic)
            for total, sums in list(_totals(bound)):
                spare = _OF_GAPS.get(name, 1)
                total.replace(_round_total(sums, kind, arithmetic, spare, upper=_SUMS[name]))


def _round_total(
    sums: list[exp.Expr], kind: Numeric, arithmetic: Arithmetic, spare: int, *, upper: bool
) -> exp.Expr:
    if kind == "float":
        return exp.paren(sum_of_floats(sums, upper, spare))
    if kind == "integer" and arithmetic.total is not None:
        return arithmetic.total(sums, upper)
    copies = [total.copy() for total in sums]
    for value in (v for copy in copies for v in copy.find_all(exp.Column)):
        if kind == "integer" and isinstance(value.parent, exp.Mul) and value.name == "v":
            value.replace(arithmetic.factor(value))
    return add(*copies)


def _totals(node: exp.Expr) -> Iterator[tuple[exp.Expr, list[exp.Expr]]]:
    """Yield the sums of values in a bound, each with its terms; two added sums are one with two."""
    terms = [node.left, node.right] if isinstance(node, exp.Add) else [node]
    if all(isinstance(sum_within(term), exp.Sum) and _has_values(term) for term in terms):
        yield node, terms
        return
    for part in node.iter_expressions():
        yield from _totals(part)


def _has_values(node: exp.Expr) -> bool:
    """Decide whether an expression is of values, or of bounds in a help table, not of counts."""
    columns = node.find_all(exp.Column)
    return any(column.name == "v" or column.table.startswith(_HELP) for column in columns)


def _kind(node: exp.Expr, types: Types, arithmetic: Arithmetic) -> Numeric:
    """Return the type of the numbers that a bound is computed from; integers if it is not known."""
    source = _summed_in(node)
    type_ = _type_of_bound(source, types)
    if type_ not in _INEXACT:
        return "integer"
    helped = any(column.table.startswith(_HELP) for column in source.find_all(exp.Column))
    return "decimal" if arithmetic.decimals and (helped or type_ == "decimal") else "float"


def _summed_in(node: exp.Expr) -> exp.Expr:
    """Return the sum in a marked quotient, which an inner query may have computed.

    Other expressions are returned unchanged.
    """
    query = node.find_ancestor(exp.Select)
    source = query.args.get("from_") if isinstance(node, exp.Anonymous) and query else None
    if source is None or not isinstance(source.this, exp.Subquery):
        return node
    candidates = (
        column
        for column in source.this.this.expressions
        if column.alias == node.expressions[0].name
    )
    return next((column.this for column in candidates if isinstance(column, exp.Alias)), node)


def _group_windows(tree: exp.Expr) -> None:
    """Group the rows of window functions by keys that are unique already.

    SQLite estimates few rows for a window, and would join them one by one with all others, in
    quadratic time. For the rows of groups it estimates many, and builds an index.
    """
    for part in tree.find_all(exp.CTE):
        keys = _unique_columns(part)
        if keys and any(column.find(exp.Window) for column in part.this.expressions):
            windowed = part.this.subquery("windowed", copy=False)
            part.set("this", select([exp.Star()], windowed, group_by=keys))


def _unique_columns(part: exp.CTE) -> list[exp.Expr]:
    """Return the columns that are unique in a part, if its rows are to be grouped; else none."""
    if part.alias.startswith(_BY_ALL):
        plain = [column for column in part.this.expressions if not column.find(exp.Window)]
        return [own(column.alias_or_name) for column in plain]
    keys = [own(key) for start, key in _KEYS if part.alias.startswith(start)]
    return [own("group_id"), *keys] if keys else []


def _is_quotient(node: exp.Expr) -> bool:
    return any(True for _ in marked_quotients(node))


def _is_sum_column(node: exp.Expr) -> bool:
    sums = (kind.name for kind in AGGREGATES.values() if kind.adds)
    names = {f"{name}_{side}" for name in sums for side in ("l", "u")}
    return isinstance(node, exp.Column) and node.name in names


def _type_of_bound(node: exp.Expr, types: Types) -> ColumnType | None:
    """Return the type of the sensitive column with values or bounds in an expression.

    Returns None if there is none, or its type is not known.
    """
    for column in node.find_all(exp.Column):
        if column.table.startswith(_HELP):
            safe = column.table.removeprefix(_HELP)
            return next((t for name, t in types.items() if safe_name(name) == safe), None)
        number = _column_number(column)
        if number is not None:
            return _type_of_value(column, number, types)
    return None


def _column_number(column: exp.Column) -> str | None:
    """Return the number of the aggregated column whose values or bounds a column contains.

    It ends the names of the parts of a query for this column (see `trees`); None for other columns.
    """
    if column.table.startswith(BOUNDS_OF):
        return column.table.removeprefix(BOUNDS_OF)
    part = column.find_ancestor(exp.CTE)
    if column.name == "v" and part is not None:
        starts = (start for start in _OF_VALUES if part.alias.startswith(start))
        return next((part.alias.removeprefix(start) for start in starts), None)
    return None


def _type_of_value(column: exp.Column, number: str, types: Types) -> ColumnType | None:
    name = _column_called(column, f"{VALUED}{number}", "v")
    return types.get(_column_called(column, CHOSEN, name) or name)


def _column_called(node: exp.Expr, part: str, name: str) -> str:
    """Return the column that the nearest part of a query calls by a name; "" if there is none."""
    of_part = _nearest(node, part)
    names = (
        named.this.name
        for named in (of_part.find_all(exp.Alias) if of_part else ())
        if named.alias == name and isinstance(named.this, exp.Column)
    )
    return next(names, "")


def _nearest(node: exp.Expr, part: str) -> exp.Expr | None:
    """Return the nearest part with a name above a node, since names of parts recur."""
    around: exp.Expr | None = node
    while around is not None:
        parts = around if isinstance(around, exp.With) else around.args.get("with_")
        candidates = (
            candidate
            for candidate in (parts.expressions if parts else ())
            if candidate.alias == part
        )
        nearest: exp.Expr | None = next(candidates, None)
        if nearest is not None:
            return nearest
        around = around.parent
    return None
