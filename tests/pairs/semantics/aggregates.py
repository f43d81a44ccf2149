"""Aggregates over lists of values, exactly: integers and Fractions in, a Fraction or value out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import Any

from tests.pairs.semantics.rows import Node, Row, as_sql

_DIGITS = 256  # binary ones of a root that is irrational


def root(value: Any) -> Fraction:
    """Return the square root of a number that is not negative.

    It is exact where the root is a fraction; else it is at most 2^-200 of itself too small.
    """
    number = Fraction(value)
    product = number.numerator * number.denominator
    whole = isqrt(product)
    if whole * whole == product:
        return Fraction(whole, number.denominator)
    return Fraction(isqrt(product << 2 * _DIGITS), number.denominator << _DIGITS)


def mean(values: Sequence[Any]) -> Fraction:
    """Return the mean of some numbers."""
    return Fraction(sum(values)) / len(values)


def variance(values: Sequence[Any], sample: bool) -> Fraction | None:
    """Return the variance; NULL of fewer than two values of a sample."""
    below = len(values) - sample
    if below < 1:
        return None
    middle = mean(values)
    return sum(((value - middle) ** 2 for value in values), Fraction(0)) / below


def deviation(values: Sequence[Any], sample: bool) -> Fraction | None:
    """Return the standard deviation."""
    spread = variance(values, sample)
    return None if spread is None else root(spread)


def quantile_between(values: Sequence[Any], share: Fraction) -> Fraction:
    """Return the quantile that is interpolated between two neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * Fraction(ordered[high] - ordered[low])


def quantile_among(values: Sequence[Any], share: Fraction) -> Any:
    """Return the first value that at least this share of values do not exceed."""
    return sorted(values)[max(ceil(share * len(values)), 1) - 1]


AGGREGATES: Mapping[str, Callable[[Sequence[Any], Fraction | None], Any]] = {
    "SUM": lambda values, _: sum(values),
    "AVG": lambda values, _: mean(values),
    "MIN": lambda values, _: min(values),
    "MAX": lambda values, _: max(values),
    "MEDIAN": lambda values, _: quantile_between(values, Fraction(1, 2)),
    "QUANTILE_CONT": lambda values, share: quantile_between(values, share or Fraction(0)),
    "QUANTILE_DISC": lambda values, share: quantile_among(values, share or Fraction(0)),
    "STDDEV": lambda values, _: deviation(values, True),
    "STDDEV_POP": lambda values, _: deviation(values, False),
    "VARIANCE": lambda values, _: variance(values, True),
    "VAR_POP": lambda values, _: variance(values, False),
}
"""Aggregates of at least one value, none of them NULL: of no value all are NULL."""
ROOTS = frozenset({"STDDEV", "STDDEV_POP"})


@dataclass(frozen=True)
class Aggregate(Node):
    """A call of an aggregate; without `argument` it is COUNT(*).

    NULLs are left out, and so are rows on which FILTER is not true.
    """

    kind: str
    argument: Node | None = None
    where: Node | None = None
    distinct: bool = False
    share: Fraction | None = None

    def sql(self) -> str:
        """Return the call."""
        inner = "*" if self.argument is None else self.argument.sql()
        inner = f"DISTINCT {inner}" if self.distinct else inner
        inner += "" if self.share is None else f", {as_sql(self.share)}"
        call = f"{self.kind}({inner})"
        return call if self.where is None else f"{call} FILTER (WHERE {self.where.sql()})"

    def argument_of(self, row: Row) -> Any:
        """Return what a row counts with; NULL if it does not count."""
        if self.where is not None and self.where.value(row) is not True:
            return None
        return 1 if self.argument is None else self.argument.value(row)

    def of_arguments(self, arguments: Sequence[Any]) -> Any:
        """Return the aggregate of what rows count with."""
        values = [value for value in arguments if value is not None]
        if self.kind == "COUNT":
            return len(set(values)) if self.distinct else len(values)
        return AGGREGATES[self.kind](values, self.share) if values else None
