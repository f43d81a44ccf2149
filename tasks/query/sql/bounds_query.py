"""Queries over published rows and help tables, for bounds and for sums of whole groups.

A help table has the bounds of aggregates for each group and each number of its rows that a query
selects, its `hits`. So a query counts the hits of each group (`selected`), reads the bounds for
them, and combines these over groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
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
"""Bounds of means: quotients rounded outwards or to the nearest, or only their sums."""
_COMPARISONS: Mapping[str, type[exp.Expr]] = {
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


_SELECTED, _GROUP_ID, _HITS = "selected", "group_id", "hits"


def bounds_query(question: Question, rows: str = TABLE, means: Means = "outward") -> exp.Select:
    """Return the query for the bounds of a question.

    Args:
        question: a question without conditions on sensitive values.
        rows: the name of the table of the rows.
        means: how means are written. If they are rounded outwards, the query reads an inner one
            that returns sums and numbers of rows under names of its own.

    Raises:
        QueryError: if a help table does not contain the bounds of an aggregate.
    """
    keys, columns = _keys(question), []
    for item in question.shown:
        if isinstance(item, GroupColumn):
            columns.append(alias(keys[item.name], item.label, quoted=True))
        else:
            bounds = zip(_bounds(item, question, means), sides(item.label), strict=True)
            columns += [alias(bound, side, quoted=True) for bound, side in bounds]
    query = exp.select(*columns).from_(_SELECTED)
    for name in question.helped_by:
        query = query.join(help_name(name), using=[_GROUP_ID, _HITS])
    query = query.group_by(*keys.values()).with_(_SELECTED, as_=_count_selected(question, rows))
    return over_sums(_with_distinct(query, question, rows))


def totals_query(question: Question, sensitive: str, relations: Relations) -> exp.Select:
    """Return the query of the sums of all values of groups with hits, by keys, size and hits.

    Args:
        question: a question without conditions on sensitive values; its group columns are the keys.
        sensitive: the column with the values.
        relations: the tables of the release.
    """
    whole, size = "whole", "size"
    keys = [*_keys(question).values(), _column(size, whole), _column(_HITS, _SELECTED)]
    query = (
        exp.select(*keys, exp.Sum(this=_column("total", whole)))
        .from_(_SELECTED)
        .join(whole, using=[_GROUP_ID])
        .group_by(*keys)
        .with_(_SELECTED, as_=_count_selected(question, relations.rows))
    )
    if relations.declared.is_composed:
        columns = next(names for names in relations.tables if sensitive in names)
        parts = [*group_parts(relations), (whole, group_sums(sensitive, columns, relations))]
        return with_parts(parts, query)
    return query.with_(whole, as_=_whole_groups(help_name(sensitive), size))


def _whole_groups(helping: str, size: str) -> exp.Select:
    """Return the query for the sum of each group's values, from its last row in the help table."""
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


def _count_selected(question: Question, rows: str) -> exp.Select:
    """Return the query that counts each group's selected rows by the group columns."""
    keys, renamed = _group_columns(question, rows)
    group = _published_column(_GROUP_ID, rows)
    count = alias(exp.Count(this=exp.Star()), _HITS)
    exact = [
        column
        for number, aggregate in enumerate(exact_of(question))
        for column in of_group(question, number, _operand(question, aggregate, rows))
    ]
    query = exp.select(*renamed, group, count, *exact).from_(rows).group_by(*keys, group.copy())
    return _where_selected(query, question)


def _group_columns(question: Question, rows: str) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the group columns over the rows, and the same under their names in `selected`."""
    keys: list[exp.Expr] = [
        put_calculated(_published_column(name, rows), question.calculated)
        for name in question.group_by
    ]
    renamed = [
        key if key.name == inner.name else alias(key, inner.name, quoted=True)
        for key, inner in zip(keys, _keys(question).values(), strict=True)
    ]
    return keys, renamed


def _operand(question: Question, aggregate: Aggregate, rows: str) -> exp.Expr:
    """Return the operand of an exact aggregate, null in rows that FILTER leaves out."""
    name = aggregate.sensitive
    value = exp.Literal.number(1) if name is None else _published_column(name, rows)
    return put_calculated(counted_if(value, aggregate.where), question.calculated)


def _where_selected(query: exp.Select, question: Question) -> exp.Select:
    if question.condition is None:
        return query
    return query.where(put_calculated(question.condition, question.calculated))


def _with_distinct(query: exp.Select, question: Question, rows: str) -> exp.Select:
    """Return a query joined with the exact numbers of different values that are asked for."""
    for number, aggregate in enumerate(exact_of(question)):
        if not aggregate.distinct:
            continue
        keys, renamed = _group_columns(question, rows)
        name, column = distinct_name(number), _operand(question, aggregate, rows)
        counted = _where_selected(distinct_of(renamed, keys, column, rows), question)
        same = [
            exp.NullSafeEQ(this=key.copy(), expression=_published_column(key.name, name))
            for key in _keys(question).values()
        ]
        on = exp.and_(*same) if same else exp.true()
        query = query.join(name, on=on, join_type="LEFT").with_(name, as_=counted)
    return query


def _keys(question: Question) -> dict[str, exp.Column]:
    """Return the columns of `selected` with the group columns, by the names of these.

    They are renamed if their name is reserved, or if they are calculated.
    """
    reserved = {_HITS, *names_of_groups(question)}
    taken = {name.casefold() for name in question.group_by} | reserved
    inner = {}
    for number, name in enumerate(question.group_by):
        own = f"calculated_{number}" if name in question.calculated else name
        inner[name] = _free(own, taken) if own != name or name.casefold() in reserved else name
        taken.add(inner[name].casefold())
    return {name: _published_column(called, _SELECTED) for name, called in inner.items()}


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no group column has."""
    while name in taken:
        name += "_"
    return name


def _bounds(aggregate: Aggregate, question: Question, means: Means) -> tuple[exp.Expr, exp.Expr]:
    """Return the bounds of an aggregate, combined over groups.

    Those of COUNT and of exact aggregates are equal. Without selected rows all bounds except those
    of COUNT are null, as in SQL.

    Raises:
        QueryError: if the help table does not contain the bounds.
    """
    hits, helped = exp.Sum(this=_column(_HITS, _SELECTED)), aggregate.kind.help
    if aggregate.exact and aggregate.function == "avg":
        return _divide(*parts_of_mean(question, aggregate, _SELECTED))
    if aggregate.exact:
        exact = of_all(question, aggregate, _SELECTED)
        return exact, exact.copy()
    if aggregate.kind.counts_rows:
        rows = exp.Coalesce(this=hits, expressions=[exp.Literal.number(0)])
        return (hits, hits.copy()) if question.group_by else (rows, rows.copy())
    if helped is None:
        raise QueryError(
            f"{aggregate.kind.sql_name} cannot be written in SQL. Ask with `sfumato query`"
        )
    table = help_name(str(aggregate.sensitive))
    low, high = (
        end.function(this=_column(end.name, table)) for end in (helped.lower, helped.upper)
    )
    if not helped.per_row or means == "sums":
        return low, high
    if means == "nearest":
        return plain_quotient(low, hits), plain_quotient(high, hits.copy())
    return _divide(low, high, hits)


def _divide(low: exp.Expr, high: exp.Expr, rows: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    lower = quotient_bound(low, rows, upper=False)
    return lower, quotient_bound(high, rows.copy(), upper=True)


def _column(name: str, table: str) -> exp.Column:
    """Return a column of this module's queries or of a help table."""
    return exp.column(exp.to_identifier(name), table=exp.to_identifier(table))


def _published_column(name: str, table: str) -> exp.Column:
    """Return a published column, which can have any name, by the name it has in a table."""
    quoted = name not in (_GROUP_ID, _HITS)
    return exp.column(exp.to_identifier(name, quoted=quoted), table=exp.to_identifier(table))


def of_help_tables(
    question: Question, rows: str, shown_as: Sequence[str], reading: Reading
) -> exp.Select:
    """Return the query for bounds from help tables, for questions without sensitive conditions.

    Args:
        question: the question.
        rows: the name of the table of the rows.
        shown_as: the ends of the names of the answer's columns.
        reading: whether rows are returned on which HAVING certainly holds, or possibly.
    """
    if question.having is None:
        return bounds_query(question, rows)
    inner = bounds_query(question.with_aggregates(_number_aggregates(question)), rows)
    keys = enumerate(inner.expressions[: len(question.group_by)])
    numbered = [exp.alias_(key.unalias(), f"k{n}") for n, key in keys]
    renamed = inner.select(*numbered, *inner.expressions[len(numbered) :], append=False)
    return AnswerColumns(question, renamed, sides("{}"), tuple(shown_as)).read(reading)


def _number_aggregates(question: Question) -> list[Aggregate]:
    return [replace(a, label=str(number)) for number, a in enumerate(question.aggregates)]


@dataclass(frozen=True)
class AnswerColumns:
    """A query for the bounds of a question, with group columns k0, k1, ….

    Attributes:
        question: the question.
        tree: the query.
        names: the names of its columns for aggregate number {}, parallel to `shown_as`.
        shown_as: the ends of the names of the answer's columns.
        least: the column with the least number of matching rows, if this may be 0 in a row of the
            answer; None if each row of the answer surely has matching rows.
    """

    question: Question
    tree: exp.Select
    names: tuple[str, ...]
    shown_as: tuple[str, ...]
    least: str | None = None

    def read(self, reading: Reading) -> exp.Select:
        """Return the query with the columns that were asked for, and the rows that HAVING keeps."""
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
        condition = self._condition(question.having, reading)
        return select(columns, self.tree.subquery("answer", copy=False), where=[condition])

    def _columns(self, aggregate: Aggregate) -> list[exp.Column]:
        """Return the columns with the bounds of an aggregate, the lower and the upper one first."""
        number = self.question.aggregates.index(aggregate)
        names = (name.format(number) for name in self.names)
        return [exp.column(exp.to_identifier(name, quoted=name[0].isdigit())) for name in names]

    def _condition(self, having: Having | None, reading: Reading) -> exp.Expr | None:
        """Return the condition on returned rows; None if all are returned.

        A certain row of the answer surely has matching rows.
        """
        condition = None if having is None else self._having_condition(having, reading)
        return (
            self._and_some(condition)
            if reading == "certain" and self.question.group_by
            else condition
        )

    def _and_some(self, condition: exp.Expr | None) -> exp.Expr | None:
        """Return a condition joined with the condition that some row surely matches."""
        if self.least is None:
            return condition
        some = exp.GT(this=exp.column(self.least), expression=exp.Literal.number(0))
        return some if condition is None else exp.and_(condition, some)

    def _having_condition(self, having: Having, reading: Reading) -> exp.Expr:
        """Return HAVING as a condition on bounds, see `tasks.query.question.having`."""
        if isinstance(having, Joined):
            parts = [exp.paren(self._having_condition(part, reading)) for part in having.parts]
            return exp.and_(*parts) if having.kind == "and" else exp.or_(*parts)
        condition = self._comparison(having, reading)
        null = not self.question.group_by and not having.aggregate.kind.counts_rows
        some = self._and_some(condition) if reading == "certain" and null else None
        return some or condition

    def _comparison(self, having: Comparison, reading: Reading) -> exp.Expr:
        """Return a comparison of HAVING as a condition on the bounds of its aggregate."""
        low, high = self._columns(having.aggregate)[:2]
        constant = having.literal
        if having.operator in ("=", "<>"):
            inside = exp.and_(
                exp.LTE(this=low, expression=constant.copy()),
                exp.GTE(this=high, expression=constant.copy()),
            )
            exactly = exp.and_(
                exp.EQ(this=low.copy(), expression=constant.copy()),
                exp.EQ(this=high.copy(), expression=constant.copy()),
            )
            equal = having.operator == "="
            condition = inside if equal == (reading == "possible") else exactly
            return condition if equal else exp.not_(condition)
        end = (low, high)[(having.operator[0] == ">") == (reading == "possible")]
        return _COMPARISONS[having.operator](this=end, expression=constant.copy())
