"""Aggregates and calculations of columns that are published as they are.

Each group's selected rows have their part of it, and groups add up; how many different values
there are is counted by itself.
"""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from sfumato.tasks.query.question.calculations import Calculated
from sfumato.tasks.query.question.question import Aggregate, Question
from sfumato.tasks.schema.published import Schema
from sfumato.tasks.sql.conditions import TESTS
from sfumato.tasks.sql.parse import number_of
from sfumato.tasks.sql.refusals import construct

_EXTREMES = {"min": exp.Min, "max": exp.Max}
_WRITTEN = frozenset({"count", "sum", "avg", *_EXTREMES})
_VALUES = (exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Paren, exp.Coalesce)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Neg)
_CASES = (exp.Case, exp.If)
_JOINED = (exp.And, exp.Or, exp.Not, exp.Boolean)


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


def why_not_calculated(
    calculated: Iterable[Calculated], compared: Iterable[str], columns: Schema
) -> str | None:
    """Why databases cannot be given some calculated columns; None where they can.

    Args:
        calculated: the columns.
        compared: the names of those that are truth values of a condition on rows.
        columns: that are published.
    """
    in_conditions = set(compared)
    for one in calculated:
        tested = one.name in in_conditions
        fault = _fault(one.expression, columns, tested=tested)
        if fault is not None:
            return f"a calculation with {fault}"
    return None


def _fault(node: exp.Expr, columns: Schema, *, tested: bool) -> str | None:
    """What databases calculate differently, if something is."""
    for part in node.walk():
        known = (*_VALUES, *_ARITHMETIC, *(() if tested else _CASES))
        in_test = part.find_ancestor(exp.If) is not None or tested
        if not isinstance(part, (*known, *((*TESTS, *_JOINED) if in_test else ()))):
            return construct(part)
        if isinstance(part, _ARITHMETIC) and not _of_integers(part, columns):
            return "numbers that are no integers"
        if isinstance(part, exp.IntDiv) and not number_of(part.expression.unnest()):
            return "a quotient by what can be 0"
    texts = [one.name for one in node.find_all(exp.Literal) if one.is_string]
    told_apart = {text.casefold().rstrip() for text in texts}
    return None if len(told_apart) == len(set(texts)) else "texts that differ in case alone"


def _of_integers(node: exp.Expr, columns: Schema) -> bool:
    named = all(columns[one.name].type == "integer" for one in node.find_all(exp.Column))
    numbers = [one for one in node.find_all(exp.Literal) if one.find_ancestor(exp.If) is None]
    return named and all(not one.is_string and one.name.isdecimal() for one in numbers)
