"""What is calculated of aggregates, by interval arithmetic: it surely contains what it comes to.

Ends are attained where at most one operand is not known exactly, since the calculations here are
monotone in each operand while the others stay; otherwise two operands may not come to their ends
together, and the interval is said not to be attained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any, Protocol

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds.bounds import Bounds, Value
from sfumato.tasks.query.question.aggregate import Aggregate

_MOST_DECIMALS = 30
_OF_WHOLE = frozenset({"sum", "min", "max", "percentile_disc"})  # whole of whole numbers

NULL = Bounds(None, None, None)
"""No answer: an aggregate of no rows."""


@dataclass(frozen=True)
class AskedOfPart:
    """An aggregate over the rows that one of the questions means.

    Attributes:
        part: which question.
        aggregate: of that question.
    """

    part: int
    aggregate: Aggregate


Found = Mapping[AskedOfPart, Bounds]
"""The bounds of aggregates in one cell."""


class Formula(Protocol):
    """Something that comes to a number, or to another value, in each row of an answer."""

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """The aggregates that it is calculated of."""
        ...

    def bounds(self, found: Found) -> Bounds:
        """Its bounds in a cell."""
        ...


@dataclass(frozen=True)
class Plain:
    """An aggregate by itself."""

    of: AskedOfPart

    @property
    def counts_all_rows(self) -> bool:
        """True for COUNT(*) of the rows on which WHERE holds."""
        return not self.of.part and self.of.aggregate.counts_all_rows

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """The aggregate."""
        return (self.of,)

    def bounds(self, found: Found) -> Bounds:
        """Its bounds."""
        return found[self.of]


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: Fraction

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """Nothing."""
        return ()

    def bounds(self, _: Found) -> Bounds:
        """Itself."""
        return Bounds(self.value, self.value, self.value)


@dataclass(frozen=True)
class Pooled:
    """An aggregate over rows that several questions mean, no row two of them.

    Attributes:
        name: of the aggregate, one of those of `pool`.
        values: the aggregate in each part.
        counts: how many values it is of in each part.
    """

    name: str
    values: tuple[AskedOfPart, ...]
    counts: tuple[AskedOfPart, ...]

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """The aggregates, and the counts."""
        return (*self.values, *self.counts)

    def bounds(self, found: Found) -> Bounds:
        """Its bounds over all parts."""
        pairs = [
            (found[value], found[count])
            for value, count in zip(self.values, self.counts, strict=True)
        ]
        return _POOLED[self.name](pairs)


@dataclass(frozen=True)
class Calculation:
    """A function of formulas."""

    function: Callable[..., Bounds]
    operands: tuple[Formula, ...]

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """All that the operands are calculated of."""
        return tuple(dict.fromkeys(one for operand in self.operands for one in operand.asked))

    def bounds(self, found: Found) -> Bounds:
        """What the function makes of the operands' bounds."""
        operands = [operand.bounds(found) for operand in self.operands]
        if any(one.unbounded for one in operands):
            return UNBOUNDED
        result = self.function(*operands)
        open_ = [one for one in operands if one.lower != one.upper or one.may_be_empty]
        attained = len(open_) < 2 and all(one.attained for one in operands)
        return replace(result, attained=attained and result.attained)


@dataclass(frozen=True)
class Existing:
    """A formula that is null where there is no row at all."""

    value: Formula
    rows: Formula

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """All that both are calculated of."""
        return tuple(dict.fromkeys((*self.value.asked, *self.rows.asked)))

    def bounds(self, found: Found) -> Bounds:
        """Those of the formula, if there is a row."""
        value, rows = self.value.bounds(found), self.rows.bounds(found)
        if not number(rows.upper):
            return NULL
        return replace(value, may_be_empty=value.may_be_empty or not number(rows.lower))


UNBOUNDED = Bounds(None, None, None, may_be_empty=True, unbounded=True)
"""Nothing is known: something may be divided by nothing, or by next to nothing."""

Pair = tuple[Bounds, Bounds]
"""The bounds of an aggregate, and of how many values it is of, in one part."""


def _count(pairs: Sequence[Pair]) -> Bounds:
    return _total([value for value, _ in pairs], empty=False)


def _sum(pairs: Sequence[Pair]) -> Bounds:
    if all(value.lower is None for value, _ in pairs):
        return NULL
    empty = not any(number(count.lower) for _, count in pairs)
    return _total([_or_zero(value) for value, _ in pairs], empty=empty)


def _total(parts: Sequence[Bounds], *, empty: bool) -> Bounds:
    low, high = (sum(number(end) for end in ends) for ends in _ends(parts))
    known = [one.estimate for one in parts]
    estimate = None if None in known else sum(number(one) for one in known)
    open_ = sum(one.lower != one.upper for one in parts)
    attained = open_ < 2 and not (open_ and empty)
    return Bounds(whole(low), whole(high), estimate, may_be_empty=empty, attained=attained)


def _or_zero(value: Bounds) -> Bounds:
    """A sum that is 0 where it is of no values."""
    return coalesce(value, Bounds(Fraction(0), Fraction(0), Fraction(0)))


def _min(pairs: Sequence[Pair]) -> Bounds:
    return _extreme(pairs, min, max)


def _max(pairs: Sequence[Pair]) -> Bounds:
    turned = [(replace(v, lower=v.upper, upper=v.lower), count) for v, count in pairs]
    found = _extreme(turned, max, min)
    return replace(found, lower=found.upper, upper=found.lower)


def _extreme(pairs: Sequence[Pair], best: Callable[..., Any], worst: Callable[..., Any]) -> Bounds:
    """The extreme over all parts; only what surely has values keeps it from the far end."""
    some = [(value, count) for value, count in pairs if value.lower is not None]
    if not some:
        return NULL
    sure = [value for value, count in some if number(count.lower)]
    near = best(value.lower for value, _ in some)
    far = best(v.upper for v in sure) if sure else worst(value.upper for value, _ in some)
    return Bounds(near, far, None, may_be_empty=not sure, attained=len(some) == 1)


def _avg(pairs: Sequence[Pair]) -> Bounds:
    """A mean of means, weighted by how many values there are where that is known."""
    some = [(value, count) for value, count in pairs if value.lower is not None]
    if not some:
        return NULL
    empty = not any(number(count.lower) for _, count in some)
    counts = [number(count.lower) for _, count in some]
    lows, highs = (list(map(number, ends)) for ends in _ends([value for value, _ in some]))
    if all(count.lower == count.upper for _, count in some):
        low, high = (_weighted(ends, counts) for ends in (lows, highs))
    else:
        low, high = min(lows), max(highs)
    return Bounds(low, high, None, may_be_empty=empty, attained=len(some) == 1)


def _weighted(values: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    return sum((v * w for v, w in zip(values, weights, strict=True)), Fraction(0)) / sum(weights)


def _ends(parts: Sequence[Bounds]) -> tuple[list[Value], list[Value]]:
    return [one.lower for one in parts], [one.upper for one in parts]


_POOLED: Mapping[str, Callable[[Sequence[Pair]], Bounds]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _min,
    "max": _max,
}


def pool(name: str, values: tuple[AskedOfPart, ...], counts: tuple[AskedOfPart, ...]) -> Formula:
    """An aggregate over the rows of several questions.

    Raises:
        QueryError: where it is not known of parts what it is of all.
    """
    if name not in _POOLED:
        raise QueryError(
            f"{name.upper()} is not answered where OR joins conditions on columns that are "
            "published apart"
        )
    return Pooled(name, values, counts)


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


def is_whole(formula: Formula, is_integer: Callable[[str], bool]) -> bool:
    """Decide whether a formula surely comes to whole numbers.

    Args:
        formula: any.
        is_integer: tells of a column whether its values are whole.
    """
    if isinstance(formula, Constant):
        return formula.value.denominator == 1
    if isinstance(formula, Existing):
        return is_whole(formula.value, is_integer)
    if isinstance(formula, Calculation):
        return formula.function in _KEEPING_WHOLE and all(
            is_whole(operand, is_integer) for operand in formula.operands
        )
    aggregate = formula.asked[0].aggregate
    if aggregate.kind.counts_rows:
        return True
    return aggregate.function in _OF_WHOLE and is_integer(str(aggregate.sensitive))


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
    return Bounds(whole(low), whole(high), operand.estimate, attained=operand.attained)


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


_KEEPING_WHOLE = (add, subtract, multiply, negate, absolute, coalesce, null_if_whole)
