"""Interval arithmetic on bounds: results contain all that values within the bounds give."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds.bounds import Bounds, Value
from sfumato.tasks.query.bounds.spread import root_above, root_below

_MOST_DECIMALS = 30
NULL = Bounds(None, None, None)
"""No answer: an aggregate of no rows."""
UNBOUNDED = Bounds(None, None, None, may_be_empty=True, unbounded=True)
"""Nothing is known: something may be divided by nothing, or by next to nothing."""
_HALF = Fraction(1, 2)


def number(value: Any) -> Fraction:
    """A number, exactly.

    Raises:
        QueryError: where it is none.
    """
    if isinstance(value, int | Fraction | Decimal):
        return Fraction(value)
    raise QueryError("arithmetic takes numbers alone")


def whole(value: Fraction | int) -> int | Fraction:
    """An integer, where the number is one."""
    return int(value) if value == int(value) else value


def _of_two(
    combine: Callable[[Fraction, Fraction], Fraction], left: Bounds, right: Bounds
) -> Bounds:
    """The interval of a function that is monotone in each operand."""
    if left.lower is None or right.lower is None:
        return NULL
    ends = [
        combine(number(a), number(b))
        for a in (left.lower, left.upper)
        for b in (right.lower, right.upper)
    ]
    known = left.estimate is not None and right.estimate is not None
    estimate = combine(number(left.estimate), number(right.estimate)) if known else None
    low, high = min(ends), max(ends)
    empty = left.may_be_empty or right.may_be_empty
    inside = None if estimate is None else min(max(estimate, low), high)
    return Bounds(whole(low), whole(high), inside, may_be_empty=empty)


def add(left: Bounds, right: Bounds) -> Bounds:
    """A sum."""
    return _of_two(lambda a, b: a + b, left, right)


def subtract(left: Bounds, right: Bounds) -> Bounds:
    """A difference."""
    return _of_two(lambda a, b: a - b, left, right)


def multiply(left: Bounds, right: Bounds) -> Bounds:
    """A product."""
    return _of_two(lambda a, b: a * b, left, right)


def divide(left: Bounds, right: Bounds, *, whole_divisor: bool = False) -> Bounds:
    """A quotient, null where the divisor is 0; nothing is known where it may come close to that.

    A divisor that is a whole number, and not negative, is at least 1 elsewhere.
    """
    if left.lower is None or right.lower is None or right.lower == right.upper == 0:
        return NULL
    low, high = number(right.lower), number(right.upper)
    if low > 0 or high < 0:
        return _of_two(lambda a, b: a / b, left, right)
    if not whole_divisor or low != 0:
        return UNBOUNDED
    guess = right.estimate
    nonzero = replace(right, lower=1, estimate=guess if guess and number(guess) >= 1 else None)
    return replace(_of_two(lambda a, b: a / b, left, nonzero), may_be_empty=True, attained=False)


def negate(operand: Bounds) -> Bounds:
    """The opposite."""
    return subtract(Bounds(Fraction(0), Fraction(0), Fraction(0)), operand)


def coalesce(operand: Bounds, instead: Bounds) -> Bounds:
    """The operand, or what stands instead where it is null."""
    if operand.lower is None:
        return instead
    if not operand.may_be_empty:
        return operand
    low = min(number(operand.lower), number(instead.lower))
    high = max(number(operand.upper), number(instead.upper))
    attained = operand.attained and (low, high) == (operand.lower, operand.upper)
    return Bounds(whole(low), whole(high), operand.estimate, attained=attained)


def divide_by_whole(left: Bounds, right: Bounds) -> Bounds:
    """A quotient by a whole number."""
    return divide(left, right, whole_divisor=True)


def null_if(operand: Bounds, value: Bounds) -> Bounds:
    """The operand, null where it is a number."""
    if operand.lower is None or operand.lower == operand.upper == value.lower:
        return NULL
    inside = operand.lower <= value.lower <= operand.upper  # type: ignore[operator]
    is_end = value.lower in (operand.lower, operand.upper)
    empty, attained = operand.may_be_empty or inside, operand.attained and not is_end
    return replace(operand, may_be_empty=empty, attained=attained)


def null_if_whole(operand: Bounds, value: Bounds) -> Bounds:
    """A whole number, null where it is another: an end that it cannot have is one less, or more."""
    found = null_if(operand, value)
    if found.lower is None or value.lower not in (found.lower, found.upper):
        return found
    low, high = number(found.lower), number(found.upper)
    low += low == value.lower
    high -= high == value.lower
    guess = None if found.estimate is None else min(max(number(found.estimate), low), high)
    return replace(found, lower=whole(low), upper=whole(high), estimate=guess)


def absolute(operand: Bounds) -> Bounds:
    """The magnitude."""
    if operand.lower is None:
        return NULL
    ends = [abs(number(operand.lower)), abs(number(operand.upper))]
    around = number(operand.lower) < 0 < number(operand.upper)
    guess = None if operand.estimate is None else abs(number(operand.estimate))
    low = Fraction(0) if around else min(ends)
    empty = operand.may_be_empty
    attained = operand.attained and not around
    return Bounds(whole(low), whole(max(ends)), guess, may_be_empty=empty, attained=attained)


def round_off(operand: Bounds, decimals: Bounds) -> Bounds:
    """The operand rounded to decimals, halves away from 0, which keeps the order of numbers.

    Raises:
        QueryError: where they are too many, or no whole number.
    """
    if operand.lower is None:
        return NULL
    places = number(decimals.lower)
    if places.denominator != 1 or abs(places) > _MOST_DECIMALS:
        raise QueryError(f"ROUND takes a whole number of decimals, {_MOST_DECIMALS} at most")
    scale = Fraction(10) ** int(places)

    def one(value: Value) -> Fraction:
        exact = number(value) * scale
        half = floor(exact + Fraction(1, 2)) if exact >= 0 else ceil(exact - Fraction(1, 2))
        return Fraction(half) / scale

    guess = None if operand.estimate is None else one(operand.estimate)
    low, high = whole(one(operand.lower)), whole(one(operand.upper))
    return replace(operand, lower=low, upper=high, estimate=guess, likely=None)


def _of_ends(
    operand: Bounds,
    low: Callable[[Fraction], Fraction | int],
    high: Callable[[Fraction], Fraction | int] | None = None,
) -> Bounds:
    """What a function makes of both ends, and of the estimate."""
    if operand.lower is None:
        return NULL
    above = high or low
    guess = None if operand.estimate is None else Fraction(low(number(operand.estimate)))
    ends = low(number(operand.lower)), above(number(operand.upper))
    return replace(operand, lower=whole(ends[0]), upper=whole(ends[1]), estimate=guess, likely=None)


def round_down(operand: Bounds) -> Bounds:
    """The greatest whole number that is not above."""
    return _of_ends(operand, floor)


def round_up(operand: Bounds) -> Bounds:
    """The least whole number that is not below."""
    return _of_ends(operand, ceil)


def to_whole(operand: Bounds) -> Bounds:
    """A cast to an integer; of a half, which types round differently, either neighbour."""
    found = _of_ends(operand, _half_down, _half_up)
    ends = [end for end in (operand.lower, operand.upper) if end is not None]
    between = any((number(end) * 2).denominator == 1 != number(end).denominator for end in ends)
    return replace(found, attained=found.attained and not between)


def _half_down(value: Fraction) -> int:
    return ceil(value - _HALF)


def _half_up(value: Fraction) -> int:
    return floor(value + _HALF)


def root(operand: Bounds) -> Bounds:
    """The square root, rounded outwards where it is irrational.

    Raises:
        QueryError: of what may be negative.
    """
    if operand.lower is not None and number(operand.lower) < 0:
        raise QueryError(
            "SQRT of what may be negative, by its bounds: use GREATEST(…, 0), or ask for it alone"
        )
    found = _of_ends(operand, root_below, root_above)
    if found.estimate is None:
        return found
    return replace(found, estimate=Fraction(float(number(found.estimate))))


def greatest(*operands: Bounds) -> Bounds:
    """The greatest of several numbers, nulls left out."""
    return _best(operands, max)


def least(*operands: Bounds) -> Bounds:
    """The least of several numbers, nulls left out."""
    return _best(operands, min)


def _best(operands: tuple[Bounds, ...], best: Callable[..., Fraction]) -> Bounds:
    """The best of those that are there: one that may be null is best where it is, or missing.

    Whether one is null in some table is not always known: such bounds may be wider than need be.
    """
    some = [one for one in operands if one.lower is not None]
    if not some:
        return NULL
    sure = [one for one in some if not one.may_be_empty]
    if len(sure) == len(some):
        low, high = (best(map(number, ends)) for ends in _ends(some))
        known = [one.estimate for one in some]
        guess = None if None in known else best(map(number, known))
        return Bounds(whole(low), whole(high), guess)
    near = [best(map(number, ends)) for ends in _ends(some)]
    far = _ends(sure) if sure else _ends(some)
    worst = [best(map(number, ends)) if sure else min(map(number, ends)) for ends in far]
    if not sure:
        worst[1] = max(map(number, far[1]))
    low, high = min(near[0], worst[0]), max(near[1], worst[1])
    return Bounds(whole(low), whole(high), None, may_be_empty=not sure, attained=False)


def _ends(parts: list[Bounds]) -> tuple[list[Value], list[Value]]:
    return [one.lower for one in parts], [one.upper for one in parts]
