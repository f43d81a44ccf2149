"""Bounds of what some rows come to among others: their number, their sum, their proportion.

A row either counts or is one of the others. Both numbers come to opposite ends together where each
of them is of one set of rows that an engine knows: whatever makes fewer rows count can only make
more others, in all forms. So the least proportion is that of the fewest rows that count beside the
most others, and the greatest one that of the most beside the fewest.
"""

from dataclasses import replace
from fractions import Fraction

from sfumato.tasks.query.bounds.arithmetic import NULL, null_if_whole, number, whole
from sfumato.tasks.query.bounds.bounds import Bounds, within

_NOTHING = Bounds(0, 0, Fraction(0))


def proportion(part: Bounds, others: Bounds, rows: Bounds, joint: bool) -> Bounds:
    """Return the proportion of the rows that count, null where there are no rows.

    Args:
        part: how many rows count.
        others: how many do not.
        rows: how many there are.
        joint: whether both numbers come to opposite ends together.
    """
    if not number(rows.upper):
        return NULL
    few, many = number(part.lower), number(part.upper)
    fewest = max(number(others.lower), number(rows.lower) - many, Fraction(0))
    most = min(number(others.upper), number(rows.upper) - few)
    low = few / (few + most) if few + most else Fraction(1)
    high = many / (many + fewest) if many + fewest else Fraction(0)
    exact = rows.lower == rows.upper and rows.attained
    attained = part.attained and (exact or (joint and others.attained))
    guess = within(_quotient(part.estimate, rows.estimate), low, high)
    empty = not number(rows.lower)
    return Bounds(whole(low), whole(high), guess, may_be_empty=empty, attained=attained)


def _quotient(part: object, rows: object) -> Fraction | None:
    return number(part) / number(rows) if part is not None and rows else None


def count_among(part: Bounds, others: Bounds, rows: Bounds, joint: bool) -> Bounds:
    """Return the number of rows that count, null where there are no rows at all.

    The arguments are those of `proportion`.
    """
    if not number(rows.upper):
        return NULL
    if number(rows.lower):
        return part
    if not number(others.upper):
        return replace(null_if_whole(part, _NOTHING), may_be_empty=True)
    return replace(part, may_be_empty=True, attained=part.attained and joint, likely=None)


def sum_among(part: Bounds, others: Bounds, rows: Bounds, joint: bool) -> Bounds:
    """Return the sum over rows that count and others that add 0, null where there are neither.

    Args:
        part: the sum over those that count, null where they have no value.
        others: how many rows add 0.
        rows: how many rows surely make it a number: all, or the others where values can be missing.
        joint: whether the sum and the number of others come to opposite ends together.
    """
    if part.unbounded or not number(others.upper):
        return part
    empty = not number(rows.lower)
    if part.lower is None:
        return replace(_NOTHING, may_be_empty=empty)
    if not part.may_be_empty:
        return part
    low, high = min(number(part.lower), Fraction(0)), max(number(part.upper), Fraction(0))
    same = low == part.lower and high == part.upper
    known = part.attained and (same or joint or bool(number(others.lower)))
    return Bounds(whole(low), whole(high), part.estimate, may_be_empty=empty, attained=known)
