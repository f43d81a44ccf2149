"""The question of an analyst about the published microdata: one SELECT, held to an allow-list.

    SELECT [columns,] COUNT(*) | AGGREGATE(s) [AS name], …
    FROM microdata [WHERE predicate] [GROUP BY columns] [HAVING comparisons of aggregates]

where AGGREGATE is COUNT, SUM, AVG, MIN, MAX or STDDEV, and s is a sensitive column. Where sensitive
values stand apart from rows, groups are of the other columns, which are published as they are; a
predicate is about these, or about sensitive columns, or joins such parts by AND. Beside labels both
are of any column, and s may be insensitive. Where every quasi-identifier stands by itself, counts
alone are asked for, and a predicate joins parts about one column each by AND.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import partial

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.query.question.conditions import read_condition
from sfumato.tasks.query.question.having import Having, on_groups, read_having
from sfumato.tasks.query.question.question import TABLE, GroupColumn, Question
from sfumato.tasks.query.question.ways.registry import WAYS
from sfumato.tasks.sql.parse import construct, parse, quote_name
from sfumato.tasks.sql.predicate import column_named

_CLAUSES = frozenset({"expressions", "from_", "where", "group", "having"})
_CALLED = {"joins": "a join", "with_": "WITH", "order": "ORDER BY", "locks": "FOR UPDATE"}


def read_question(sql: str, declared: Terms) -> Question:
    """The question that a SELECT asks.

    Raises:
        QueryError: naming what is not allowed, or the form that has no bounds.
    """
    select = parse(sql, exp.Select)
    if not isinstance(select, exp.Select):
        raise QueryError(f"not allowed: {construct(select)}")
    try:
        _require_known(select, _CLAUSES)
        _require_table(select)
        group_by = _group_by(select, declared)
        items = tuple(_shown(item, declared, group_by) for item in select.expressions)
        condition, matching = read_condition(select.args.get("where"), declared)
        having = read_having(select.args.get("having"), partial(_aggregated, declared))
        _require_comparable(having, declared)
        if having is not None and group_by:
            having = on_groups(having)
        question = Question(items, condition, group_by, matching, having)
    except RecursionError:
        raise QueryError("nested too deep") from None
    if not question.aggregates:
        raise QueryError(f"no aggregate is selected: {_any_of(AGGREGATES)}")
    _require_distinct(question, WAYS[declared.form.shows].sides)
    return question


def _any_of(kinds: Mapping[str, AggregateKind]) -> str:
    *others, last = (kind.called for kind in kinds.values())
    return f"{', '.join(others)} or {last}"


def _require_known(node: exp.Expr, allowed: frozenset[str], within: str = "") -> None:
    for key, value in node.args.items():
        if value and key not in allowed:
            called = _CALLED.get(key, key.strip("_").upper())
            raise QueryError(f"not allowed: {within}{called}")


def _require_table(select: exp.Select) -> None:
    source = select.args.get("from_")
    table = source.this if source else None
    if not isinstance(table, exp.Table):
        named = construct(table) if table else "no table"
        raise QueryError(f"the table is {TABLE}, not {named}")
    if not isinstance(table.this, exp.Identifier) or table.name.casefold() != TABLE:
        raise QueryError(f"the table is {TABLE}, and no other")
    _require_known(table, frozenset({"this"}), f"{TABLE} with ")


def _usable_column(node: exp.Expr, declared: Terms, clause: str) -> str:
    """The name of a column whose values tell rows apart."""
    if not isinstance(node, exp.Column):
        raise QueryError(f"{clause} takes columns, not {construct(node)}")
    name = column_named(node, declared.columns)
    if declared.columns[name].role == "sensitive" and not _groups_by_sensitive(declared):
        raise QueryError(
            f"column {quote_name(name)} is sensitive: {clause} cannot use it, aggregates can"
        )
    return name


def _groups_by_sensitive(declared: Terms) -> bool:
    return WAYS[declared.form.shows].groups_by_sensitive


def _group_by(select: exp.Select, declared: Terms) -> tuple[str, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    _require_known(group, frozenset({"expressions"}), "GROUP BY ")
    names = [_usable_column(node, declared, "GROUP BY") for node in group.expressions]
    return tuple(dict.fromkeys(names))


_COMPARED: Mapping[str, type] = {"date": date, "timestamp": datetime, "string": str}


def _require_comparable(having: Having | None, declared: Terms) -> None:
    """Every comparison is of an aggregate with a constant of its own kind."""
    for comparison in [] if having is None else having.comparisons:
        of = comparison.aggregate
        column = "integer" if of.sensitive is None else declared.columns[of.sensitive].type
        type_ = of.kind.returns(column)
        if type(comparison.value) is not _COMPARED.get(type_, Fraction):
            raise QueryError(
                f"HAVING: {of.kind.called} of type {type_} is not comparable with this constant"
            )


def _shown(node: exp.Expr, declared: Terms, group_by: tuple[str, ...]) -> GroupColumn | Aggregate:
    alias = node.alias if isinstance(node, exp.Alias) else None
    inner = node.this if isinstance(node, exp.Alias) else node
    if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and inner.is_star):
        raise QueryError("not allowed: SELECT *")
    if isinstance(inner, exp.Column):
        name = _usable_column(inner, declared, "SELECT")
        if name not in group_by:
            raise QueryError(f"column {quote_name(name)} is selected but not grouped by")
        return GroupColumn(name, alias or name)
    return _aggregated(declared, inner, alias)


def _aggregated(declared: Terms, node: exp.Expr, alias: str | None = None) -> Aggregate:
    kind = next((kind for kind in AGGREGATES.values() if isinstance(node, kind.parsed)), None)
    if kind is None:
        raise QueryError(f"not allowed: {construct(node)}")
    _require_known(node, frozenset({"this", "big_int"}), f"{kind.called} with ")
    if isinstance(node.this, exp.Distinct):
        raise QueryError(
            f"not allowed: {kind.called}(DISTINCT …): how many different values the selected "
            f"rows have is not bounded"
        )
    return _aggregate(kind, node.this, alias, declared)


def _aggregate(
    kind: AggregateKind, of: exp.Expr | None, alias: str | None, declared: Terms
) -> Aggregate:
    if kind.counts_rows and isinstance(of, exp.Star):
        _require_known(of, frozenset(), "* ")
        return Aggregate(kind.name, None, alias or f"{kind.name}(*)")
    if not isinstance(of, exp.Column):
        raise QueryError(f"{kind.called} takes a column, not {construct(of) if of else 'nothing'}")
    name = column_named(of, declared.columns)
    label = alias or f"{kind.name}({name})"
    found = WAYS[declared.form.shows].aggregated(kind, name, declared)
    type_ = declared.columns[name].type
    if found is not None and type_ not in kind.takes:
        raise QueryError(f"{kind.called} takes numbers, and {quote_name(name)} is of type {type_}")
    return Aggregate(kind.name, found, label)


def _require_distinct(question: Question, sides: Sequence[str]) -> None:
    """Names of what is shown, in the answer and in the rewritten query."""
    labels = [item.label for item in question.shown]
    written: list[str] = []
    for item in question.shown:
        is_key = isinstance(item, GroupColumn)
        written += [item.label] if is_key else [f"{item.label}_{side}" for side in sides]
    for names in (labels, written):
        counted = Counter(name.casefold() for name in names)
        for name in names:
            if counted[name.casefold()] > 1:
                raise QueryError(f"two columns of the answer are called {quote_name(name)}: use AS")
