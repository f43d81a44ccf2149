"""Aggregates over the rows of several parts, and of some rows among others.

A row either counts or is one of the others. Both numbers come to opposite ends together where each
of them is of one set of rows that an engine knows: whatever makes fewer rows count can only make
more others, in all forms. So the least proportion is that of the fewest rows that count beside the
most others, and the greatest one that of the most beside the fewest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from sfumato.tasks.query.bounds.arithmetic import (
    NULL,
    coalesce,
    null_if_whole,
    number,
    subtract,
    whole,
)
from sfumato.tasks.query.bounds.bounds import Bounds, Value, within

Pair = tuple[Bounds, Bounds]
"""The bounds of an aggregate, and of how many values it is of, in one part."""
_NOTHING = Bounds(0, 0, Fraction(0))


def _count(pairs: Sequence[Pair]) -> Bounds:
    return _total([value for value, _ in pairs], empty=False)


def _sum(pairs: Sequence[Pair]) -> Bounds:
    if all(value.lower is None for value, _ in pairs):
        return NULL
    empty = not any(map(_is_sure, pairs))
    return _total([_or_zero(value) for value, _ in pairs], empty=empty)


def _is_sure(pair: Pair) -> bool:
    """Decide whether a part surely has a value."""
    value, count = pair
    return value.lower is not None and not value.may_be_empty and bool(number(count.lower))


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
    sure = [pair[0] for pair in some if _is_sure(pair)]
    near = best(value.lower for value, _ in some)
    far = best(v.upper for v in sure) if sure else worst(value.upper for value, _ in some)
    return Bounds(near, far, None, may_be_empty=not sure, attained=len(some) == 1)


def _avg(pairs: Sequence[Pair]) -> Bounds:
    """A mean of means, weighted by how many values there are where that is known."""
    some = [(value, count) for value, count in pairs if value.lower is not None]
    if not some:
        return NULL
    empty = not any(map(_is_sure, some))
    counts = [number(count.lower) for _, count in some]
    lows, highs = (list(map(number, ends)) for ends in _ends([value for value, _ in some]))
    if all(_is_sure(pair) and pair[1].lower == pair[1].upper for pair in some):
        low, high = (_weighted(ends, counts) for ends in (lows, highs))
    else:
        low, high = min(lows), max(highs)
    return Bounds(low, high, None, may_be_empty=empty, attained=len(some) == 1)


def _weighted(values: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    return sum((v * w for v, w in zip(values, weights, strict=True)), Fraction(0)) / sum(weights)


def variance_of_parts(
    spreads: Sequence[Bounds], means: Sequence[Bounds], counts: Sequence[Bounds], *, sample: bool
) -> Bounds:
    """The variance over all parts: what is within parts, and what is between their means.

    n_1 s_1 + n_2 s_2 of deviations squared, and n_1 n_2 / (n_1 + n_2) times the means' difference
    squared, of any two parts (Chan, Golub and LeVeque, Updating formulae, 1979), each at its ends.

    Args:
        spreads: the variance of a sample in each part.
        means: the mean in each part.
        counts: how many values there are in each part.
        sample: whether all parts together are a sample, or a population.
    """
    rows = [(number(count.lower), number(count.upper)) for count in counts]
    least = sum((few for few, _ in rows), Fraction(0))
    most = sum((many for _, many in rows), Fraction(0))
    fewest, less = (2, 1) if sample else (1, 0)
    if most < fewest:
        return NULL
    low, high = Fraction(0), Fraction(0)
    for spread, (few, many) in zip(spreads, rows, strict=True):
        if spread.lower is not None:
            low += number(spread.lower) * max(few - 1, Fraction(0))
            high += number(spread.upper) * max(many - 1, Fraction(0))
    for one, other in combinations(
        [n for n, mean in enumerate(means) if mean.lower is not None], 2
    ):
        near, far = _apart(means[one], means[other])
        (few, many), (few_too, many_too) = rows[one], rows[other]
        if few and few_too:
            low += few * few_too * near**2 / (few + few_too + most - many - many_too)
        if many and many_too:
            high += many * many_too * far**2 / (many + many_too + least - few - few_too)
    lower, upper = low / (most - less), high / (max(least, Fraction(fewest)) - less)
    return Bounds(lower, upper, may_be_empty=least < fewest, attained=lower == upper)


def _apart(one: Bounds, other: Bounds) -> tuple[Fraction, Fraction]:
    """How far two values are from each other, at least and at most."""
    below = number(other.lower) - number(one.upper)
    above = number(one.lower) - number(other.upper)
    return max(below, above, Fraction(0)), max(-below, -above)


def _ends(parts: Sequence[Bounds]) -> tuple[list[Value], list[Value]]:
    return [one.lower for one in parts], [one.upper for one in parts]


def _count_within(pooled: Bounds, all_: Bounds, rest: Bounds | None) -> Bounds:
    """A count, of rows among others: no more than these, and those that the rest leaves."""
    low, high = number(pooled.lower), min(number(pooled.upper), number(all_.upper))
    if rest is None:
        return _narrowed(pooled, low, high)
    left = subtract(all_, rest)
    low, high = max(low, number(left.lower)), min(high, number(left.upper))
    return _narrowed(pooled, low, high, attained=_is_exact_less(all_, rest))


def _sum_within(pooled: Bounds, all_: Bounds, rest: Bounds | None) -> Bounds:
    """A sum of rows among others: what is left of theirs without the rest."""
    if rest is None or pooled.lower is None:
        return pooled
    left = subtract(_or_zero(all_), _or_zero(rest))
    low = max(number(pooled.lower), number(left.lower))
    high = min(number(pooled.upper), number(left.upper))
    exact = not pooled.may_be_empty and _is_exact_less(all_, rest)
    return _narrowed(pooled, low, high, attained=exact)


def _is_exact_less(all_: Bounds, rest: Bounds) -> bool:
    """Whether what is left has its ends where the rest has: the whole is known exactly."""
    return all_.lower == all_.upper and all_.attained and rest.attained


def _narrowed(pooled: Bounds, low: Fraction, high: Fraction, *, attained: bool = False) -> Bounds:
    guess = None if pooled.estimate is None else within(number(pooled.estimate), low, high)
    known = attained or pooled.attained or low == high
    return replace(pooled, lower=whole(low), upper=whole(high), estimate=guess, attained=known)


NARROWED: Mapping[str, Callable[[Bounds, Bounds, Bounds | None], Bounds]] = {
    "count": _count_within,
    "sum": _sum_within,
}
"""Aggregates of parts that are among other rows, from those of all of these, and of the rest."""


POOLED: Mapping[str, Callable[[Sequence[Pair]], Bounds]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _min,
    "max": _max,
}


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
