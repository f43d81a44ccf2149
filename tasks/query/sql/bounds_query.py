"""Queries over published rows and help tables, for bounds and for whole sums of groups."""

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import TABLE, GroupColumn, Question, sides
from sfumato.tasks.query.question.relations import Relations
from sfumato.tasks.query.sql.conditions.sensitive_values import group_parts, group_sums
from sfumato.tasks.query.sql.conditions.trees import alias, with_parts

_SELECTED, _GROUP_ID, _HITS = "selected", "group_id", "hits"


def bounds_query(question: Question, rows: str = TABLE, *, divided: bool = True) -> exp.Select:
    """The query that returns the bounds.

    Args:
        question: without conditions on sensitive values.
        rows: the table of the rows.
        divided: whether means are, or are left as the sums that they are quotients of.

    Raises:
        QueryError: where a help table does not hold the bounds of an aggregate.
    """
    keys, columns = _keys(question), []
    for item in question.shown:
        if isinstance(item, GroupColumn):
            columns.append(alias(keys[item.name], item.label, quoted=True))
        else:
            lower, upper = sides(item.label)
            low, high = _bounds(item, bool(keys), divided)
            columns += [alias(low, lower, quoted=True), alias(high, upper, quoted=True)]
    query = exp.select(*columns).from_(_SELECTED)
    for name in question.helped_by:
        query = query.join(help_name(name), using=[_GROUP_ID, _HITS])
    return query.group_by(*keys.values()).with_(_SELECTED, as_=_selected(question, rows))


def totals_query(question: Question, sensitive: str, known: Relations) -> exp.Select:
    """Per group columns, group size and hits: the sum of all values of the groups concerned."""
    whole, size = "whole", "size"
    keys = [*_keys(question).values(), _column(size, whole), _column(_HITS, _SELECTED)]
    query = (
        exp.select(*keys, exp.Sum(this=_column("total", whole)))
        .from_(_SELECTED)
        .join(whole, using=[_GROUP_ID])
        .group_by(*keys)
        .with_(_SELECTED, as_=_selected(question, known.rows))
    )
    if known.declared.composed:
        columns = next(of for of in known.tables if sensitive in of)
        parts = [*group_parts(known), (whole, group_sums(sensitive, columns, known))]
        return with_parts(parts, query)
    return query.with_(whole, as_=_whole_groups(help_name(sensitive), size))


def _whole_groups(helping: str, size: str) -> exp.Select:
    """The query of the sum of each group's values, which its last row in the help table has."""
    hits = _column(_HITS, helping)
    total = exp.ArgMax(this=_column("l_sum", helping), expression=hits)
    return (
        exp.select(
            _column(_GROUP_ID, helping),
            alias(exp.Max(this=hits.copy()), size),
            alias(total, "total"),
        )
        .from_(helping)
        .group_by(_column(_GROUP_ID, helping))
    )


def _selected(question: Question, rows: str) -> exp.Select:
    """The query that counts each group's selected rows by the values of the group columns."""
    keys = [_published(name, rows) for name in (*question.group_by, _GROUP_ID)]
    renamed = [
        key if key.name == inner.name else alias(key, inner.name, quoted=True)
        for key, inner in zip(keys[:-1], _keys(question).values(), strict=True)
    ]
    count = alias(exp.Count(this=exp.Star()), _HITS)
    query = exp.select(*renamed, keys[-1], count).from_(rows).group_by(*keys)
    return query.where(question.condition) if question.condition is not None else query


def _keys(question: Question) -> dict[str, exp.Column]:
    """The group columns among the selected rows, where no other column may be called hits."""
    taken = {name.casefold() for name in question.group_by}
    other = _HITS
    while other in taken:
        other += "_"
    inner = {name: other if name.casefold() == _HITS else name for name in question.group_by}
    return {name: _published(called, _SELECTED) for name, called in inner.items()}


def _bounds(aggregate: Aggregate, grouped: bool, divided: bool) -> tuple[exp.Expr, exp.Expr]:
    """Bounds of the help table, combined over groups; the number of rows is known exactly.

    Without selected rows all bounds but those of COUNT are null, as in SQL.
    """
    hits, of = exp.Sum(this=_column(_HITS, _SELECTED)), aggregate.kind.help
    if aggregate.kind.counts_rows:
        rows = exp.Coalesce(this=hits, expressions=[exp.Literal.number(0)])
        return (hits, hits.copy()) if grouped else (rows, rows.copy())
    if of is None:
        raise QueryError(f"{aggregate.kind.called} is not written in SQL: ask with `sfumato query`")
    table = help_name(str(aggregate.sensitive))
    low, high = (end.function(this=_column(end.name, table)) for end in (of.lower, of.upper))
    if of.per_row and divided:
        return _quotient(low, hits), _quotient(high, hits.copy())
    return low, high


def _quotient(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    return exp.Div(this=over, expression=under, typed=False, safe=False)


def _column(name: str, table: str) -> exp.Column:
    """A column of this module or of a help table."""
    return exp.column(exp.to_identifier(name), table=exp.to_identifier(table))


def _published(name: str, table: str) -> exp.Column:
    """A published column, which can have any name, by the name it has in a table."""
    quoted = name not in (_GROUP_ID, _HITS)
    return exp.column(exp.to_identifier(name, quoted=quoted), table=exp.to_identifier(table))
