"""Functions that keep the order of numbers: what they make of both ends are the ends."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import NULL, number, whole
from sfumato.tasks.query.bounds.bounds import Bounds, Value
from sfumato.tasks.query.bounds.spread import root_above, root_below

_HALF = Fraction(1, 2)


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
