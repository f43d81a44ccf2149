"""Columns calculated of others that are published as they are, as databases calculate them."""

from collections.abc import Iterable

from sqlglot import exp

from sfumato.tasks.query.question.calculated import Calculated
from sfumato.tasks.schema.published import Schema
from sfumato.tasks.sql.conditions import TESTS
from sfumato.tasks.sql.constructs.names import construct
from sfumato.tasks.sql.parse import number_of

_VALUES = (exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Paren, exp.Coalesce)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Neg)
_CASES = (exp.Case, exp.If)
_JOINED = (exp.And, exp.Or, exp.Not, exp.Boolean)


def why_not_written(
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
