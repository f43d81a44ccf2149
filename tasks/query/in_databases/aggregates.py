"""Aggregates of columns that are published as they are, beside bounds of sensitive ones.

Each group's selected rows have their part of it, and groups add up; how many different values
there are is counted by itself.
"""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Question

_EXTREMES = {"min": exp.Min, "max": exp.Max}
_WRITTEN = frozenset({"count", "sum", "avg", *_EXTREMES})


def why_not_written(aggregate: Aggregate, type_: str) -> str | None:
    """Why databases cannot be given an aggregate; None where they can."""
    if aggregate.weight is not None:
        return "a product with a sensitive column"
    if aggregate.distinct:
        return None
    if aggregate.function not in _WRITTEN:
        return f"{aggregate.kind.called} of a column published as it is"
    if type_ == "boolean":
        return f"{aggregate.kind.called} of truth values"
    if aggregate.function not in _EXTREMES and type_ != "integer":
        return f"{aggregate.kind.called} of numbers that are no integers"
    return None


def exact_of(question: Question) -> list[Aggregate]:
    """The aggregates of columns that are published as they are."""
    return [one for one in question.aggregates if one.exact]


def names_of_groups(question: Question) -> list[str]:
    """The names that columns have by which groups tell of their rows."""
    return [f"{name}{number}" for number in range(len(exact_of(question))) for name in "xn"]


def of_group(question: Question, number: int, column: exp.Expr) -> list[exp.Expr]:
    """What each group's selected rows tell of one of them, under names of its number."""
    aggregate = exact_of(question)[number]
    if aggregate.distinct:
        return []
    if aggregate.kind.counts_rows:
        return [exp.alias_(exp.Count(this=column), f"x{number}")]
    extreme = _EXTREMES.get(aggregate.function)
    if extreme is not None:
        return [exp.alias_(extreme(this=column), f"x{number}")]
    total, counted = exp.Sum(this=column), exp.Count(this=column.copy())
    return [exp.alias_(total, f"x{number}"), exp.alias_(counted, f"n{number}")]


def counted_if(column: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """A column where a condition holds, null elsewhere."""
    return column if where is None else exp.Case(ifs=[exp.If(this=where, true=column)])


def of_all(question: Question, aggregate: Aggregate, table: str) -> exp.Expr:
    """An aggregate over all groups, of what each told."""
    number = exact_of(question).index(aggregate)
    if aggregate.distinct:
        found = exp.Max(this=exp.column("x", table=distinct_name(number)))
        zero = exp.Literal.number(0)
        return found if question.group_by else exp.Coalesce(this=found, expressions=[zero])
    value = exp.column(f"x{number}", table=table)
    extreme = _EXTREMES.get(aggregate.function)
    if extreme is not None:
        return extreme(this=value)
    total = exp.Sum(this=value)
    if aggregate.kind.counts_rows:
        zero = exp.Literal.number(0)
        return total if question.group_by else exp.Coalesce(this=total, expressions=[zero])
    return total


def parts_of_mean(
    question: Question, aggregate: Aggregate, table: str
) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
    """The sum of all groups' values, twice, and their number, null where there are none."""
    number = exact_of(question).index(aggregate)
    total, counted = (exp.Sum(this=exp.column(f"{of}{number}", table=table)) for of in "xn")
    divisor = exp.Nullif(this=counted, expression=exp.Literal.number(0))
    return total, total.copy(), divisor


def distinct_name(number: int) -> str:
    """The name of the query that counts different values."""
    return f"distinct_{number}"


def distinct_of(
    keys: Sequence[exp.Expr], by: Sequence[exp.Expr], column: exp.Expr, rows: str
) -> exp.Select:
    """The query that counts different values by the values of group columns."""
    counted = exp.Count(this=exp.Distinct(expressions=[column]))
    query = exp.select(*keys, exp.alias_(counted, "x")).from_(rows)
    return query.group_by(*by) if by else query
