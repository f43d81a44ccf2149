"""Interval arithmetic on bounds: results contain all values that operands in bounds can give.

Operands are treated as independent. Whether a result's ends are attained also depends on whether
its operands reach their ends together; `question.formulas` decides that.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.bounds import Bounds, Value
from sfumato.tasks.query.bounds.spread import root_above, root_below

_MOST_DECIMALS = 30  # to which ROUND rounds
NULL = Bounds(None, None, None)
"""No answer: an aggregate of no rows."""
UNBOUNDED = Bounds(None, None, None, may_be_empty=True, unbounded=True)
"""Nothing is known: a divisor may be 0, or arbitrarily close to 0."""
_HALF = Fraction(1, 2)


def number(value: Any) -> Fraction:
    """Return a number, exactly.

    Raises:
        QueryError: if the value is not a number.
    """
    if isinstance(value, int | Fraction | Decimal):
        return Fraction(value)
    raise QueryError("arithmetic needs numbers")


def whole(value: Fraction | int) -> int | Fraction:
    """Return the number as an integer if it is one."""
    return int(value) if value == int(value) else value


def _combine(
    combine: Callable[[Fraction, Fraction], Fraction], first: Bounds, second: Bounds
) -> Bounds:
    """Return the interval of a function that is monotone in each operand.

    Returns `NULL` if an operand has no answer. The estimate is that of the operands' estimates,
    moved within the interval; None if an operand has none.
    """
    if first.lower is None or second.lower is None:
        return NULL
    ends = [
        combine(number(a), number(b))
        for a in (first.lower, first.upper)
        for b in (second.lower, second.upper)
    ]
    has_estimates = first.estimate is not None and second.estimate is not None
    estimate = combine(number(first.estimate), number(second.estimate)) if has_estimates else None
    low, high = min(ends), max(ends)
    empty = first.may_be_empty or second.may_be_empty
    inside = None if estimate is None else min(max(estimate, low), high)
    return Bounds(whole(low), whole(high), inside, may_be_empty=empty)


def add(first: Bounds, second: Bounds) -> Bounds:
    """Bound a sum."""
    return _combine(lambda a, b: a + b, first, second)


def subtract(first: Bounds, second: Bounds) -> Bounds:
    """Bound a difference."""
    return _combine(lambda a, b: a - b, first, second)


def multiply(first: Bounds, second: Bounds) -> Bounds:
    """Bound a product."""
    return _combine(lambda a, b: a * b, first, second)


def divide(first: Bounds, second: Bounds, *, whole_divisor: bool = False) -> Bounds:
    """Bound a quotient, which is null if the divisor is 0.

    Args:
        first: the dividend.
        second: the divisor.
        whole_divisor: whether the divisor is a whole number; one that is not negative is at least 1
            unless it is 0.

    Returns:
        The bounds; `NULL` if an operand has no answer, or the divisor is 0; `UNBOUNDED` if it may
        be 0 or arbitrarily close to 0, unless it is such a whole number.
    """
    if first.lower is None or second.lower is None or second.lower == second.upper == 0:
        return NULL
    low, high = number(second.lower), number(second.upper)
    if low > 0 or high < 0:
        return _combine(lambda a, b: a / b, first, second)
    if not whole_divisor or low != 0:
        return UNBOUNDED
    guess = second.estimate
    nonzero = replace(second, lower=1, estimate=guess if guess and number(guess) >= 1 else None)
    return replace(_combine(lambda a, b: a / b, first, nonzero), may_be_empty=True, attained=False)


def negate(operand: Bounds) -> Bounds:
    """Bound the negative of the operand."""
    return subtract(Bounds(Fraction(0), Fraction(0), Fraction(0)), operand)


def coalesce(operand: Bounds, instead: Bounds) -> Bounds:
    """Bound the operand, or `instead` where the operand is null."""
    if operand.lower is None:
        return instead
    if not operand.may_be_empty:
        return operand
    low = min(number(operand.lower), number(instead.lower))
    high = max(number(operand.upper), number(instead.upper))
    attained = operand.attained and (low, high) == (operand.lower, operand.upper)
    return Bounds(whole(low), whole(high), operand.estimate, attained=attained)


def divide_by_whole(first: Bounds, second: Bounds) -> Bounds:
    """Bound a quotient whose divisor is a whole number."""
    return divide(first, second, whole_divisor=True)


def null_if(operand: Bounds, value: Bounds) -> Bounds:
    """Bound the operand, which becomes null if it equals `value`, an exactly known number."""
    if operand.lower is None or operand.lower == operand.upper == value.lower:
        return NULL
    inside = operand.lower <= value.lower <= operand.upper  # type: ignore[operator]
    is_end = value.lower in (operand.lower, operand.upper)
    empty, attained = operand.may_be_empty or inside, operand.attained and not is_end
    return replace(operand, may_be_empty=empty, attained=attained)


def null_if_whole(operand: Bounds, value: Bounds) -> Bounds:
    """Bound a whole number, null if it equals `value`; an end that equals it moves by one."""
    bounds = null_if(operand, value)
    if bounds.lower is None or value.lower not in (bounds.lower, bounds.upper):
        return bounds
    low, high = number(bounds.lower), number(bounds.upper)
    low += low == value.lower
    high -= high == value.lower
    guess = None if bounds.estimate is None else min(max(number(bounds.estimate), low), high)
    return replace(bounds, lower=whole(low), upper=whole(high), estimate=guess)


def absolute(operand: Bounds) -> Bounds:
    """Bound the magnitude of the operand."""
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
    """Bound the operand rounded to decimals (halves away from 0); this keeps the order.

    Raises:
        QueryError: if there are too many decimals, or not a whole number of them.
    """
    if operand.lower is None:
        return NULL
    places = number(decimals.lower)
    if places.denominator != 1 or abs(places) > _MOST_DECIMALS:
        raise QueryError(f"ROUND needs a whole number of decimals, at most {_MOST_DECIMALS}")
    scale = Fraction(10) ** int(places)

    def round_value(value: Value) -> Fraction:
        exact = number(value) * scale
        half = floor(exact + Fraction(1, 2)) if exact >= 0 else ceil(exact - Fraction(1, 2))
        return Fraction(half) / scale

    guess = None if operand.estimate is None else round_value(operand.estimate)
    low, high = whole(round_value(operand.lower)), whole(round_value(operand.upper))
    return replace(operand, lower=low, upper=high, estimate=guess, likely=None)


def _map_ends(
    operand: Bounds,
    low: Callable[[Fraction], Fraction | int],
    high: Callable[[Fraction], Fraction | int] | None = None,
) -> Bounds:
    """Apply functions that keep the order: `low` to the lower end and the estimate.

    `high` is for the upper end; if it is None, `low` is.
    """
    if operand.lower is None:
        return NULL
    above = high or low
    guess = None if operand.estimate is None else Fraction(low(number(operand.estimate)))
    ends = low(number(operand.lower)), above(number(operand.upper))
    return replace(operand, lower=whole(ends[0]), upper=whole(ends[1]), estimate=guess, likely=None)


def round_down(operand: Bounds) -> Bounds:
    """Bound the greatest whole number that is not above the operand."""
    return _map_ends(operand, floor)


def round_up(operand: Bounds) -> Bounds:
    """Bound the least whole number that is not below the operand."""
    return _map_ends(operand, ceil)


def to_whole(operand: Bounds) -> Bounds:
    """Bound a cast to an integer; a half may become either neighbour, depending on the type."""
    bounds = _map_ends(operand, _half_down, _half_up)
    ends = [end for end in (operand.lower, operand.upper) if end is not None]
    between = any((number(end) * 2).denominator == 1 != number(end).denominator for end in ends)
    return replace(bounds, attained=bounds.attained and not between)


def _half_down(value: Fraction) -> int:
    return ceil(value - _HALF)


def _half_up(value: Fraction) -> int:
    return floor(value + _HALF)


def root(operand: Bounds) -> Bounds:
    """Bound the square root, rounded outwards if it is irrational.

    Raises:
        QueryError: if the operand may be negative.
    """
    if operand.lower is not None and number(operand.lower) < 0:
        raise QueryError(
            "SQRT of a number that may be negative, according to its bounds. Use "
            "GREATEST(…, 0), or ask for the number without SQRT"
        )
    bounds = _map_ends(operand, root_below, root_above)
    if bounds.estimate is None:
        return bounds
    return replace(bounds, estimate=Fraction(float(number(bounds.estimate))))


def greatest(*operands: Bounds) -> Bounds:
    """Bound the greatest of several numbers, ignoring nulls."""
    return _best(operands, max)


def least(*operands: Bounds) -> Bounds:
    """Bound the least of several numbers, ignoring nulls."""
    return _best(operands, min)


def _best(operands: tuple[Bounds, ...], best: Callable[..., Fraction]) -> Bounds:
    """Bound the best (`max` or `min`) of the numbers that are not null.

    A number that may be null may be the best one, or missing. So the bounds are those of two cases:
    all numbers are there, or only those that surely are. They may be wider than necessary.
    """
    some = [operand for operand in operands if operand.lower is not None]
    if not some:
        return NULL
    sure = [operand for operand in some if not operand.may_be_empty]
    if len(sure) == len(some):
        low, high = (best(map(number, ends)) for ends in _ends(some))
        estimates = [operand.estimate for operand in some]
        guess = None if None in estimates else best(map(number, estimates))
        return Bounds(whole(low), whole(high), guess)
    near = [best(map(number, ends)) for ends in _ends(some)]
    # the other case; if no number is surely there, any single one of them may be the best
    far = _ends(sure) if sure else _ends(some)
    worst = [best(map(number, ends)) if sure else min(map(number, ends)) for ends in far]
    if not sure:
        worst[1] = max(map(number, far[1]))
    low, high = min(near[0], worst[0]), max(near[1], worst[1])
    return Bounds(whole(low), whole(high), None, may_be_empty=not sure, attained=False)


def _ends(parts: list[Bounds]) -> tuple[list[Value], list[Value]]:
    return [part.lower for part in parts], [part.upper for part in parts]
