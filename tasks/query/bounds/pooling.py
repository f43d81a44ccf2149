"""Aggregates over the rows of several parts, no row in two of them, from those of the parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.tasks.query.bounds.arithmetic import NULL, coalesce, number, whole
from sfumato.tasks.query.bounds.bounds import Bounds, Value

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


POOLED: Mapping[str, Callable[[Sequence[Pair]], Bounds]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _min,
    "max": _max,
}
