"""Queries over published rows and help tables, for bounds and for whole sums of groups."""

from collections.abc import Mapping
from typing import Literal

from sqlglot import exp

from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.aggregate import Aggregate, Function
from sfumato.tasks.query.question.question import TABLE, GroupColumn, Question, sides

_SELECTED = "selected"


_GROUP_ID = "group_id"


_HITS = "hits"


_COMBINED: Mapping[Function, tuple[type[exp.AggFunc], str]] = {
    "sum": (exp.Sum, "sum"),
    "avg": (exp.Sum, "sum"),
    "min": (exp.Min, "min"),
    "max": (exp.Max, "max"),
}


Side = Literal["l", "u"]


def bounds_query(question: Question, rows: str = TABLE) -> exp.Select:
    """The query that returns the bounds."""
    keys, columns = _keys(question), []
    for item in question.shown:
        if isinstance(item, GroupColumn):
            columns.append(_named(keys[item.name], item.label))
        else:
            lower, upper = sides(item.label)
            columns.append(_named(_bound(item, "l", bool(keys)), lower))
            columns.append(_named(_bound(item, "u", bool(keys)), upper))
    query = exp.select(*columns).from_(_SELECTED)
    for name in question.helped_by:
        query = query.join(help_name(name), using=[_GROUP_ID, _HITS])
    return query.group_by(*keys.values()).with_(_SELECTED, as_=_selected(question, rows))


def totals_query(question: Question, sensitive: str, rows: str = TABLE) -> exp.Select:
    """Per group columns, group size and hits: the sum of all values of the groups concerned."""
    helping, whole, size = help_name(sensitive), "whole", "size"
    hits = _column(_HITS, helping)
    total = exp.ArgMax(this=_column("l_sum", helping), expression=hits)
    groups = (
        exp.select(
            _column(_GROUP_ID, helping),
            _named(exp.Max(this=hits.copy()), size, quoted=False),
            _named(total, "total", quoted=False),
        )
        .from_(helping)
        .group_by(_column(_GROUP_ID, helping))
    )
    keys = [*_keys(question).values(), _column(size, whole), _column(_HITS, _SELECTED)]
    return (
        exp.select(*keys, exp.Sum(this=_column("total", whole)))
        .from_(_SELECTED)
        .join(whole, using=[_GROUP_ID])
        .group_by(*keys)
        .with_(_SELECTED, as_=_selected(question, rows))
        .with_(whole, as_=groups)
    )


def _selected(question: Question, rows: str) -> exp.Select:
    """How many rows of each group are selected, for each combination of the group columns."""
    keys = [_column(name, rows) for name in (*question.group_by, _GROUP_ID)]
    renamed = [
        key if key.name == inner.name else _named(key, inner.name)
        for key, inner in zip(keys[:-1], _keys(question).values(), strict=True)
    ]
    count = _named(exp.Count(this=exp.Star()), _HITS, quoted=False)
    query = exp.select(*renamed, keys[-1], count).from_(rows).group_by(*keys)
    return query.where(question.condition) if question.condition is not None else query


def _keys(question: Question) -> dict[str, exp.Column]:
    """The group columns among the selected rows, where no other column may be called hits."""
    taken = {name.casefold() for name in question.group_by}
    other = _HITS
    while other in taken:
        other += "_"
    inner = {name: other if name.casefold() == _HITS else name for name in question.group_by}
    return {name: _column(called, _SELECTED) for name, called in inner.items()}


def _bound(aggregate: Aggregate, side: Side, grouped: bool) -> exp.Expr:
    """A bound of the help table, combined over groups; the number of rows is known exactly.

    Without selected rows all bounds but those of COUNT are null, as in SQL.
    """
    hits = exp.Sum(this=_column(_HITS, _SELECTED))
    if aggregate.function == "count":
        return hits if grouped else exp.Coalesce(this=hits, expressions=[exp.Literal.number(0)])
    combine, bound = _COMBINED[aggregate.function]
    over_groups = combine(this=_column(f"{side}_{bound}", help_name(str(aggregate.sensitive))))
    if aggregate.function == "avg":
        return exp.Div(this=over_groups, expression=hits, typed=False, safe=False)
    return over_groups


def _column(name: str, table: str) -> exp.Column:
    """A published column, which can have any name, or one of this module's and the help table's."""
    plain = table not in (TABLE, "qit", _SELECTED) or name in (_GROUP_ID, _HITS)
    return exp.column(exp.to_identifier(name, quoted=not plain), table=exp.to_identifier(table))


def _named(expression: exp.Expr, name: str, quoted: bool = True) -> exp.Alias:
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=quoted))
