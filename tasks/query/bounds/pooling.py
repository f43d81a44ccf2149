"""Aggregates over the rows of several parts, and over some rows among others.

Parts are the disjoint rows of several questions. If some rows count among others, a row either
counts or is one of the others. Both numbers reach opposite ends together if both are numbers of
rows that one engine bounds: in all forms, fewer rows that count mean more others. So the least
proportion has the fewest rows that count and the most others, and the greatest proportion has the
most rows that count and the fewest others.
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
from sfumato.tasks.query.bounds.bounds import Bounds, Value, clamp_estimate

Pair = tuple[Bounds, Bounds]
"""The bounds of an aggregate in one part, and of the number of its values."""
_NOTHING = Bounds(0, 0, Fraction(0))


def _count(pairs: Sequence[Pair]) -> Bounds:
    """Bound the number of values in all parts."""
    return _total([value for value, _ in pairs], empty=False)


def _sum(pairs: Sequence[Pair]) -> Bounds:
    """Bound the sum over all parts; null if no part has a value."""
    if all(value.lower is None for value, _ in pairs):
        return NULL
    empty = not any(map(_is_sure, pairs))
    return _total([_or_zero(value) for value, _ in pairs], empty=empty)


def _is_sure(pair: Pair) -> bool:
    """Decide whether a part surely has a value."""
    value, count = pair
    return value.lower is not None and not value.may_be_empty and bool(number(count.lower))


def _total(parts: Sequence[Bounds], *, empty: bool) -> Bounds:
    """Add up numbers; the sum may be null if `empty`.

    Ends are marked as attained only if at most one number is not known exactly.
    """
    low, high = (sum(number(end) for end in ends) for ends in _ends(parts))
    estimates = [part.estimate for part in parts]
    estimate = None if None in estimates else sum(number(part) for part in estimates)
    open_ = sum(part.lower != part.upper for part in parts)
    attained = open_ < 2 and not (open_ and empty)
    return Bounds(whole(low), whole(high), estimate, may_be_empty=empty, attained=attained)


def _or_zero(value: Bounds) -> Bounds:
    """Return a sum that is 0 if it is over no values."""
    return coalesce(value, Bounds(Fraction(0), Fraction(0), Fraction(0)))


def _min(pairs: Sequence[Pair]) -> Bounds:
    return _extreme(pairs, min, max)


def _max(pairs: Sequence[Pair]) -> Bounds:
    turned = [(replace(v, lower=v.upper, upper=v.lower), count) for v, count in pairs]
    bounds = _extreme(turned, max, min)
    return replace(bounds, lower=bounds.upper, upper=bounds.lower)


def _extreme(pairs: Sequence[Pair], best: Callable[..., Any], worst: Callable[..., Any]) -> Bounds:
    """Bound the extreme over all parts, which is the least if `best` is `min`.

    Any part with values may have the best extreme. Only parts that surely have values keep it from
    being as bad as the worst one.
    """
    some = [(value, count) for value, count in pairs if value.lower is not None]
    if not some:
        return NULL
    sure = [pair[0] for pair in some if _is_sure(pair)]
    near = best(value.lower for value, _ in some)
    far = best(v.upper for v in sure) if sure else worst(value.upper for value, _ in some)
    return Bounds(near, far, None, may_be_empty=not sure, attained=len(some) == 1)


def _avg(pairs: Sequence[Pair]) -> Bounds:
    """Bound the mean over all parts from the means of parts.

    Means are weighted by the numbers of values if these are known exactly. Otherwise the mean is
    only known to lie between the least and the greatest mean of a part.
    """
    some = [(value, count) for value, count in pairs if value.lower is not None]
    if not some:
        return NULL
    empty = not any(map(_is_sure, some))
    counts = [number(count.lower) for _, count in some]
    lows, highs = (list(map(number, ends)) for ends in _ends([value for value, _ in some]))
    if all(_is_sure(pair) and pair[1].lower == pair[1].upper for pair in some):
        low, high = (_weighted_mean(ends, counts) for ends in (lows, highs))
    else:
        low, high = min(lows), max(highs)
    return Bounds(low, high, None, may_be_empty=empty, attained=len(some) == 1)


def _weighted_mean(values: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    return sum((v * w for v, w in zip(values, weights, strict=True)), Fraction(0)) / sum(weights)


def variance_of_parts(
    spreads: Sequence[Bounds], means: Sequence[Bounds], counts: Sequence[Bounds], *, sample: bool
) -> Bounds:
    """Bound the variance over all parts from the variance within parts and between their means.

    The sum of squared deviations over all parts is that within each part, plus for each two parts
    n_1 n_2 / n times the squared difference of their means; they have n_1 and n_2 of all n values
    (Chan, Golub and LeVeque, Updating formulae, 1979). Each term is taken at its ends.

    Args:
        spreads: the variance of a sample in each part.
        means: the mean in each part.
        counts: the number of values in each part.
        sample: whether all parts together are a sample; otherwise they are a population.

    Returns:
        The bounds; null if there are always too few values.
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
    for first, second in combinations(
        [n for n, mean in enumerate(means) if mean.lower is not None], 2
    ):
        near, far = _distance(means[first], means[second])
        # n_1 n_2 / n is least with the fewest values in both parts and the most in all others
        (few, many), (few_too, many_too) = rows[first], rows[second]
        if few and few_too:
            low += few * few_too * near**2 / (few + few_too + most - many - many_too)
        if many and many_too:
            high += many * many_too * far**2 / (many + many_too + least - few - few_too)
    lower, upper = low / (most - less), high / (max(least, Fraction(fewest)) - less)
    return Bounds(lower, upper, may_be_empty=least < fewest, attained=lower == upper)


def _distance(first: Bounds, second: Bounds) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest distance between two values."""
    below = number(second.lower) - number(first.upper)
    above = number(first.lower) - number(second.upper)
    return max(below, above, Fraction(0)), max(-below, -above)


def _ends(parts: Sequence[Bounds]) -> tuple[list[Value], list[Value]]:
    return [part.lower for part in parts], [part.upper for part in parts]


def _count_within(pooled: Bounds, all_: Bounds, rest: Bounds | None) -> Bounds:
    """Narrow a count of some rows by the counts of all rows and of the rest (None if unknown)."""
    low, high = number(pooled.lower), min(number(pooled.upper), number(all_.upper))
    if rest is None:
        return _narrow(pooled, low, high)
    remainder = subtract(all_, rest)
    low, high = max(low, number(remainder.lower)), min(high, number(remainder.upper))
    return _narrow(pooled, low, high, attained=_is_exact_remainder(all_, rest))


def _sum_within(pooled: Bounds, all_: Bounds, rest: Bounds | None) -> Bounds:
    """Narrow a sum over some rows by the sum over all rows less that over the rest, if known."""
    if rest is None or pooled.lower is None:
        return pooled
    remainder = subtract(_or_zero(all_), _or_zero(rest))
    low = max(number(pooled.lower), number(remainder.lower))
    high = min(number(pooled.upper), number(remainder.upper))
    exact = not pooled.may_be_empty and _is_exact_remainder(all_, rest)
    return _narrow(pooled, low, high, attained=exact)


def _is_exact_remainder(all_: Bounds, rest: Bounds) -> bool:
    """Decide whether all minus the rest attains its ends: it does if all is known exactly."""
    return all_.lower == all_.upper and all_.attained and rest.attained


def _narrow(pooled: Bounds, low: Fraction, high: Fraction, *, attained: bool = False) -> Bounds:
    guess = None if pooled.estimate is None else clamp_estimate(number(pooled.estimate), low, high)
    is_attained = attained or pooled.attained or low == high
    return replace(
        pooled, lower=whole(low), upper=whole(high), estimate=guess, attained=is_attained
    )


NARROWED: Mapping[str, Callable[[Bounds, Bounds, Bounds | None], Bounds]] = {
    "count": _count_within,
    "sum": _sum_within,
}
"""Functions that narrow an aggregate of some rows by that of all rows, and of the rest."""


POOLED: Mapping[str, Callable[[Sequence[Pair]], Bounds]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _min,
    "max": _max,
}
"""Functions that bound an aggregate over all parts, by its name."""


def proportion(part: Bounds, others: Bounds, rows: Bounds, joint: bool) -> Bounds:
    """Return the proportion of the rows that count; null if there are no rows.

    Args:
        part: the number of rows that count.
        others: the number of rows that do not.
        rows: the number of all rows.
        joint: whether `part` is greatest where `others` is least, and least where it is greatest.
    """
    if not number(rows.upper):
        return NULL
    few, many = number(part.lower), number(part.upper)
    fewest = max(number(others.lower), number(rows.lower) - many, Fraction(0))
    most = min(number(others.upper), number(rows.upper) - few)
    # without rows at an end: either there are never others, so all count, or no row ever counts
    low = few / (few + most) if few + most else Fraction(1)
    high = many / (many + fewest) if many + fewest else Fraction(0)
    exact = rows.lower == rows.upper and rows.attained
    attained = part.attained and (exact or (joint and others.attained))
    guess = clamp_estimate(_quotient(part.estimate, rows.estimate), low, high)
    empty = not number(rows.lower)
    return Bounds(whole(low), whole(high), guess, may_be_empty=empty, attained=attained)


def _quotient(part: object, rows: object) -> Fraction | None:
    return number(part) / number(rows) if part is not None and rows else None


def count_among(part: Bounds, others: Bounds, rows: Bounds, joint: bool) -> Bounds:
    """Return the number of rows that count; null if there are no rows at all.

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
    """Return the sum over rows that count and others that add 0; null if there are neither.

    Args:
        part: the sum over rows that count, null if they have no value.
        others: the number of rows that add 0.
        rows: the rows that surely make the sum a number: all rows, or the others if values can be
            missing.
        joint: whether the sum and the number of others reach opposite ends together.
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
    is_attained = part.attained and (same or joint or bool(number(others.lower)))
    return Bounds(whole(low), whole(high), part.estimate, may_be_empty=empty, attained=is_attained)
