"""Queries over published rows and help tables, for bounds and for whole sums of groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.calculations import put_calculated
from sfumato.tasks.query.question.having import Comparison, Having, Joined, Reading
from sfumato.tasks.query.question.question import TABLE, Aggregate, GroupColumn, Question, sides
from sfumato.tasks.query.question.ways import Relations
from sfumato.tasks.query.sql.exact_columns import (
    counted_if,
    distinct_name,
    distinct_of,
    exact_of,
    names_of_groups,
    of_all,
    of_group,
    parts_of_mean,
)
from sfumato.tasks.query.sql.sensitive_conditions import group_parts, group_sums
from sfumato.tasks.query.sql.trees import (
    alias,
    over_sums,
    plain_quotient,
    quotient_bound,
    select,
    with_parts,
)

Means = Literal["outward", "nearest", "sums"]
"""Bounds of means: quotients rounded outwards, or to the nearest, or their sums in their place."""
_COMPARISONS: Mapping[str, type[exp.Expr]] = {
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


_SELECTED, _GROUP_ID, _HITS = "selected", "group_id", "hits"


def bounds_query(question: Question, rows: str = TABLE, means: Means = "outward") -> exp.Select:
    """The query that returns the bounds.

    Args:
        question: without conditions on sensitive values.
        rows: the table of the rows.
        means: as they are written. Where they are rounded outwards, the query is over one that
            returns sums and numbers of rows under names of its own.

    Raises:
        QueryError: where a help table does not hold the bounds of an aggregate.
    """
    keys, columns = _keys(question), []
    for item in question.shown:
        if isinstance(item, GroupColumn):
            columns.append(alias(keys[item.name], item.label, quoted=True))
        else:
            bounds = zip(_bounds(item, question, means), sides(item.label), strict=True)
            columns += [alias(of, side, quoted=True) for of, side in bounds]
    query = exp.select(*columns).from_(_SELECTED)
    for name in question.helped_by:
        query = query.join(help_name(name), using=[_GROUP_ID, _HITS])
    query = query.group_by(*keys.values()).with_(_SELECTED, as_=_selected(question, rows))
    return over_sums(_with_distinct(query, question, rows))


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
    by, renamed = _by(question, rows)
    group = _published(_GROUP_ID, rows)
    count = alias(exp.Count(this=exp.Star()), _HITS)
    exact = [
        column
        for number, aggregate in enumerate(exact_of(question))
        for column in of_group(question, number, _meant(question, aggregate, rows))
    ]
    query = exp.select(*renamed, group, count, *exact).from_(rows).group_by(*by, group.copy())
    return _of_meant_rows(query, question)


def _by(question: Question, rows: str) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The group columns over the rows, and the same under their names among selected rows."""
    by: list[exp.Expr] = [
        put_calculated(_published(name, rows), question.calculated) for name in question.group_by
    ]
    renamed = [
        key if key.name == inner.name else alias(key, inner.name, quoted=True)
        for key, inner in zip(by, _keys(question).values(), strict=True)
    ]
    return by, renamed


def _meant(question: Question, aggregate: Aggregate, rows: str) -> exp.Expr:
    """What an exact aggregate is of, null in rows that FILTER leaves out."""
    name = aggregate.sensitive
    of = exp.Literal.number(1) if name is None else _published(name, rows)
    return put_calculated(counted_if(of, aggregate.where), question.calculated)


def _of_meant_rows(query: exp.Select, question: Question) -> exp.Select:
    if question.condition is None:
        return query
    return query.where(put_calculated(question.condition, question.calculated))


def _with_distinct(query: exp.Select, question: Question, rows: str) -> exp.Select:
    """A query with the numbers of different values that it asks for, beside its groups."""
    for number, aggregate in enumerate(exact_of(question)):
        if not aggregate.distinct:
            continue
        by, renamed = _by(question, rows)
        name, column = distinct_name(number), _meant(question, aggregate, rows)
        counted = _of_meant_rows(distinct_of(renamed, by, column, rows), question)
        same = [
            exp.NullSafeEQ(this=key.copy(), expression=_published(key.name, name))
            for key in _keys(question).values()
        ]
        on = exp.and_(*same) if same else exp.true()
        query = query.join(name, on=on, join_type="LEFT").with_(name, as_=counted)
    return query


def _keys(question: Question) -> dict[str, exp.Column]:
    """The group columns among the selected rows, where no other may be called as ours are."""
    reserved = {_HITS, *names_of_groups(question)}
    taken = {name.casefold() for name in question.group_by} | reserved
    inner = {}
    for number, name in enumerate(question.group_by):
        own = f"calculated_{number}" if name in question.calculated else name
        inner[name] = _free(own, taken) if own != name or name.casefold() in reserved else name
        taken.add(inner[name].casefold())
    return {name: _published(called, _SELECTED) for name, called in inner.items()}


def _free(name: str, taken: set[str]) -> str:
    """A name that no group column has."""
    while name in taken:
        name += "_"
    return name


def _bounds(aggregate: Aggregate, question: Question, means: Means) -> tuple[exp.Expr, exp.Expr]:
    """Bounds of the help table, combined over groups; the number of rows is known exactly.

    Without selected rows all bounds but those of COUNT are null, as in SQL.
    """
    hits, of = exp.Sum(this=_column(_HITS, _SELECTED)), aggregate.kind.help
    if aggregate.exact and aggregate.function == "avg":
        return _divided(*parts_of_mean(question, aggregate, _SELECTED))
    if aggregate.exact:
        known = of_all(question, aggregate, _SELECTED)
        return known, known.copy()
    if aggregate.kind.counts_rows:
        rows = exp.Coalesce(this=hits, expressions=[exp.Literal.number(0)])
        return (hits, hits.copy()) if question.group_by else (rows, rows.copy())
    if of is None:
        raise QueryError(f"{aggregate.kind.called} is not written in SQL: ask with `sfumato query`")
    table = help_name(str(aggregate.sensitive))
    low, high = (end.function(this=_column(end.name, table)) for end in (of.lower, of.upper))
    if not of.per_row or means == "sums":
        return low, high
    if means == "nearest":
        return plain_quotient(low, hits), plain_quotient(high, hits.copy())
    return _divided(low, high, hits)


def _divided(low: exp.Expr, high: exp.Expr, rows: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    lower = quotient_bound(low, rows, upper=False)
    return lower, quotient_bound(high, rows.copy(), upper=True)


def _column(name: str, table: str) -> exp.Column:
    """A column of this module or of a help table."""
    return exp.column(exp.to_identifier(name), table=exp.to_identifier(table))


def _published(name: str, table: str) -> exp.Column:
    """A published column, which can have any name, by the name it has in a table."""
    quoted = name not in (_GROUP_ID, _HITS)
    return exp.column(exp.to_identifier(name, quoted=quoted), table=exp.to_identifier(table))


def of_help_tables(
    question: Question, rows: str, shown_as: Sequence[str], reading: Reading
) -> exp.Select:
    """The query for bounds that help tables hold, where no condition is on sensitive values."""
    if question.having is None:
        return bounds_query(question, rows)
    inner = bounds_query(question.with_aggregates(_numbered(question)), rows)
    keys = enumerate(inner.expressions[: len(question.group_by)])
    numbered = [exp.alias_(key.unalias(), f"k{n}") for n, key in keys]
    renamed = inner.select(*numbered, *inner.expressions[len(numbered) :], append=False)
    return AnswerColumns(question, renamed, sides("{}"), tuple(shown_as)).read(reading)


def _numbered(question: Question) -> list[Aggregate]:
    return [replace(a, label=str(number)) for number, a in enumerate(question.aggregates)]


@dataclass(frozen=True)
class AnswerColumns:
    """A query for the bounds of a question, with group columns k0, k1, ….

    `names` are those of its columns for aggregate number {}, parallel to `shown_as`, the ends of
    the names that are shown. Its column `least` says how many rows are meant at least, where that
    may be none though there is a row of the answer.
    """

    question: Question
    tree: exp.Select
    names: tuple[str, ...]
    shown_as: tuple[str, ...]
    least: str | None = None

    def read(self, reading: Reading) -> exp.Select:
        """The columns as they were asked for, rows as HAVING wants them."""
        question, columns = self.question, []
        for item in question.shown:
            if isinstance(item, GroupColumn):
                key = exp.column(f"k{question.group_by.index(item.name)}")
                columns.append(alias(key, item.label, quoted=True))
            else:
                ends = zip(self._columns(item), self.shown_as, strict=True)
                columns += [
                    alias(column, f"{item.label}_{end}", quoted=True) for column, end in ends
                ]
        kept = self._kept(question.having, reading)
        return select(columns, self.tree.subquery("answer", copy=False), where=[kept])

    def _columns(self, aggregate: Aggregate) -> list[exp.Column]:
        number = self.question.aggregates.index(aggregate)
        names = (name.format(number) for name in self.names)
        return [exp.column(exp.to_identifier(name, quoted=name[0].isdigit())) for name in names]

    def _kept(self, having: Having | None, reading: Reading) -> exp.Expr | None:
        """The condition on returned rows: a group that is wanted for certain surely has rows."""
        wanted = None if having is None else self._wanted(having, reading)
        return self._and_some(wanted) if reading == "certain" and self.question.group_by else wanted

    def _and_some(self, wanted: exp.Expr | None) -> exp.Expr | None:
        """A condition, and that some row is surely meant."""
        if self.least is None:
            return wanted
        some = exp.GT(this=exp.column(self.least), expression=exp.Literal.number(0))
        return some if wanted is None else exp.and_(wanted, some)

    def _wanted(self, having: Having, reading: Reading) -> exp.Expr:
        """A condition on bounds, see `tasks.query.question.having`."""
        if isinstance(having, Joined):
            parts = [exp.paren(self._wanted(part, reading)) for part in having.parts]
            return exp.and_(*parts) if having.kind == "and" else exp.or_(*parts)
        wanted = self._compared(having, reading)
        null = not self.question.group_by and not having.aggregate.kind.counts_rows
        some = self._and_some(wanted) if reading == "certain" and null else None
        return some or wanted

    def _compared(self, having: Comparison, reading: Reading) -> exp.Expr:
        low, high = self._columns(having.aggregate)[:2]
        constant = having.literal
        if having.operator in ("=", "<>"):
            inside = exp.and_(
                exp.LTE(this=low, expression=constant.copy()),
                exp.GTE(this=high, expression=constant.copy()),
            )
            alone = exp.and_(
                exp.EQ(this=low.copy(), expression=constant.copy()),
                exp.EQ(this=high.copy(), expression=constant.copy()),
            )
            equal = having.operator == "="
            wanted = inside if equal == (reading == "possible") else alone
            return wanted if equal else exp.not_(wanted)
        end = (low, high)[(having.operator[0] == ">") == (reading == "possible")]
        return _COMPARISONS[having.operator](this=end, expression=constant.copy())
