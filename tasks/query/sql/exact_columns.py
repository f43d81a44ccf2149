"""Aggregates of, and calculations with, columns that are published as they are.

Each group's selected rows contribute a part, and groups add up; numbers of different values are
counted separately.
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
    """Return the reason why databases cannot be given an exact aggregate; None if they can.

    Args:
        aggregate: an aggregate of a column that is published as it is.
        type_: the type of the column.
    """
    if aggregate.weight is not None:
        return "a product with a sensitive column"
    if aggregate.distinct:
        return None
    if aggregate.function not in _WRITTEN:
        return f"{aggregate.kind.sql_name} of a column published as it is"
    if type_ == "boolean":
        return f"{aggregate.kind.sql_name} of truth values"
    if aggregate.function not in _EXTREMES and type_ != "integer":
        return f"{aggregate.kind.sql_name} of numbers that are not integers"
    return None


def exact_of(question: Question) -> list[Aggregate]:
    """Return the aggregates of columns that are published as they are."""
    return [aggregate for aggregate in question.aggregates if aggregate.exact]


def names_of_groups(question: Question) -> list[str]:
    """Return the names of the columns with the groups' parts of exact aggregates."""
    return [f"{name}{number}" for number in range(len(exact_of(question))) for name in "xn"]


def of_group(question: Question, number: int, column: exp.Expr) -> list[exp.Expr]:
    """Return the columns with each group's part of an exact aggregate.

    They are named by its number: x for a sum, count or extreme, and n for the number of values.
    Numbers of different values have none.

    Args:
        question: the question.
        number: the number of the aggregate among the exact ones.
        column: the operand of the aggregate.
    """
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
    """Return a column where a condition holds, null elsewhere."""
    return column if where is None else exp.Case(ifs=[exp.If(this=where, true=column)])


def of_all(question: Question, aggregate: Aggregate, table: str) -> exp.Expr:
    """Return an aggregate over all groups, from the part of each."""
    number = exact_of(question).index(aggregate)
    if aggregate.distinct:
        count = exp.Max(this=exp.column("x", table=distinct_name(number)))
        zero = exp.Literal.number(0)
        return count if question.group_by else exp.Coalesce(this=count, expressions=[zero])
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
    """Return the sum of all groups' values, twice, and their number, null if there are none."""
    number = exact_of(question).index(aggregate)
    total, counted = (exp.Sum(this=exp.column(f"{letter}{number}", table=table)) for letter in "xn")
    divisor = exp.Nullif(this=counted, expression=exp.Literal.number(0))
    return total, total.copy(), divisor


def distinct_name(number: int) -> str:
    """Return the name of the query that counts different values."""
    return f"distinct_{number}"


def distinct_of(
    keys: Sequence[exp.Expr], group_by: Sequence[exp.Expr], column: exp.Expr, rows: str
) -> exp.Select:
    """Return the query that counts different values by the values of group columns."""
    counted = exp.Count(this=exp.Distinct(expressions=[column]))
    query = exp.select(*keys, exp.alias_(counted, "x")).from_(rows)
    return query.group_by(*group_by) if group_by else query


def why_not_calculated(
    calculated: Iterable[Calculated], compared: Iterable[str], columns: Schema
) -> str | None:
    """Return the reason why databases cannot be given some calculated columns; None if they can.

    Args:
        calculated: the columns.
        compared: the names of the columns in conditions on rows.
        columns: the published columns.
    """
    in_conditions = set(compared)
    for column in calculated:
        tested = column.name in in_conditions
        fault = _fault(column.expression, columns, tested=tested)
        if fault is not None:
            return f"a calculation with {fault}"
    return None


def _fault(node: exp.Expr, columns: Schema, *, tested: bool) -> str | None:
    """Return the part that databases may calculate differently; None if there is none."""
    for part in node.walk():
        allowed = (*_VALUES, *_ARITHMETIC, *(() if tested else _CASES))
        in_test = part.find_ancestor(exp.If) is not None or tested
        if not isinstance(part, (*allowed, *((*TESTS, *_JOINED) if in_test else ()))):
            return construct(part)
        if isinstance(part, _ARITHMETIC) and not _of_integers(part, columns):
            return "numbers that are not integers"
        if isinstance(part, exp.IntDiv) and not number_of(part.expression.unnest()):
            return "a quotient with a divisor that can be 0"
    texts = [literal.name for literal in node.find_all(exp.Literal) if literal.is_string]
    told_apart = {text.casefold().rstrip() for text in texts}
    return (
        None
        if len(told_apart) == len(set(texts))
        else "texts that differ only in upper and lower case"
    )


def _of_integers(node: exp.Expr, columns: Schema) -> bool:
    named = all(columns[column.name].type == "integer" for column in node.find_all(exp.Column))
    numbers = [
        literal for literal in node.find_all(exp.Literal) if literal.find_ancestor(exp.If) is None
    ]
    return named and all(not number.is_string and number.name.isdecimal() for number in numbers)
