"""Burdens: what a target's values cost a promise, joined from value to value.

The burden of some values is a tuple of whole numbers that their weights decide. It joins with that
of other values, and a promise limits it in the end. It only grows when it is joined with more, and
of two burdens with the same other values the smaller one stays the smaller. So a search may drop
the weights whose burden, and cost, are no smaller than those of others.

- Distinct l-diversity: minus the number of values with a weight, at most l.
- Entropy l-diversity: the product of w**w over the weights w. The entropy of weights that add up to
  d is ln d minus the logarithm of the product over d.
- Recursive (c,l)-diversity: the l - 1 largest weights (at least one).
- t-closeness: the earth mover's distance so far, as a whole number. If it is ordered, it depends on
  the weight of all values before.
- β-likeness: nothing; a weight is at most its cap.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from math import exp, log
from operator import add
from typing import Any

from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import TCloseness

Burden = tuple[int, ...]
_ROUNDED = 1e-6  # far more than logarithms are off


@dataclass(frozen=True, eq=False)
class Burdens:
    """The burdens of one promise, or of several, for targets of one denominator.

    Attributes:
        of_value: returns the burden of a value, given its position in the domain, the weight of all
            values before it and its own; None if it may not have this weight.
        join: returns the burden of some values and other ones together.
        is_hopeless: returns True if no target that has values with this burden keeps the promise.
        by_position: whether the burden of a value depends on the weight of all values before it.
    """

    of_value: Callable[[int, int, int], Burden | None]
    join: Callable[[Burden, Burden], Burden]
    is_hopeless: Callable[[Burden], bool]
    by_position: bool = False

    def allow(self, weights: Sequence[int]) -> bool:
        """Return True unless some value may not have its weight, or all together are hopeless."""
        before = [0, *accumulate(weights)]
        parts = [self.of_value(place, before[place], w) for place, w in enumerate(weights)]
        burdens = [burden for burden in parts if burden is not None]
        return len(burdens) == len(parts) and not self.is_hopeless(reduce(self.join, burdens))


def burdens_of(
    promises: Sequence[PrivacyModel], denominator: int, totals: Sequence[int]
) -> Burdens:
    """Return the burdens of promises together, for targets of a denominator.

    Args:
        promises: of the kinds in `BURDENS`, at least one.
        denominator: what the weights of a target add up to.
        totals: how often all rows have each value, in the order of the domain.
    """
    first, *others = (BURDENS[type(p)](p, denominator, totals) for p in promises)
    together = first
    for other in others:
        together = _both(together, other)
    return together


def _both(first: Burdens, other: Burdens) -> Burdens:
    """Return the burdens of both, one behind the other."""
    width = len(first.of_value(0, 0, 0) or ())

    def of_value(place: int, before: int, weight: int) -> Burden | None:
        mine, theirs = first.of_value(place, before, weight), other.of_value(place, before, weight)
        return None if mine is None or theirs is None else mine + theirs

    def join(burden: Burden, more: Burden) -> Burden:
        mine = first.join(burden[:width], more[:width])
        return mine + other.join(burden[width:], more[width:])

    def is_hopeless(burden: Burden) -> bool:
        return first.is_hopeless(burden[:width]) or other.is_hopeless(burden[width:])

    by_position = first.by_position or other.by_position
    return Burdens(of_value, join, is_hopeless, by_position)


def _distinct(promise: Any, _denominator: int, _totals: Sequence[int]) -> Burdens:
    most = int(promise.l)
    return Burdens(
        lambda _place, _before, weight: (-min(weight, 1),),
        lambda first, other: (max(first[0] + other[0], -most),),
        lambda _burden: False,
    )


def _entropy(promise: Any, denominator: int, _totals: Sequence[int]) -> Burdens:
    most = int(exp(denominator * (log(denominator) - promise.least_entropy) + _ROUNDED)) + 1
    return Burdens(
        lambda _place, _before, weight: (weight**weight,),
        lambda first, other: (first[0] * other[0],),
        lambda burden: burden[0] > most,
    )


def _recursive(promise: Any, denominator: int, _totals: Sequence[int]) -> Burdens:
    ranks, frequent, c = max(int(promise.l) - 1, 1), int(promise.l) - 1, Fraction(promise.c)

    def is_hopeless(burden: Burden) -> bool:
        rest = denominator - sum(burden[:frequent])
        return burden[0] * c.denominator >= c.numerator * rest

    return Burdens(
        lambda _place, _before, weight: (weight, *[0] * (ranks - 1)),
        lambda first, other: tuple(sorted(first + other, reverse=True)[:ranks]),
        is_hopeless,
    )


def _close(promise: Any, denominator: int, totals: Sequence[int]) -> Burdens:
    rows, ordered = sum(totals), promise.distance == "ordered"
    expected = list(accumulate(totals)) if ordered else totals
    parts = max(len(totals) - 1, 1) if ordered else 2
    most = int(Fraction(promise.t) * parts * denominator * rows)  # rounded down: they are whole
    return Burdens(
        lambda place, before, weight: (
            abs(denominator * expected[place] - rows * (before * ordered + weight)),
        ),
        lambda first, other: (first[0] + other[0],),
        lambda burden: burden[0] > most,
        by_position=ordered,
    )


def _alike(promise: Any, denominator: int, totals: Sequence[int]) -> Burdens:
    shares = [Fraction(common, sum(totals)) for common in totals]

    def of_value(place: int, _before: int, weight: int) -> Burden | None:
        allowed = promise.allows(Fraction(weight, denominator), shares[place])
        return () if allowed else None

    return Burdens(of_value, add, lambda _burden: False)


BURDENS: Mapping[type[PrivacyModel], Callable[[Any, int, Sequence[int]], Burdens]] = {
    DistinctLDiversity: _distinct,
    EntropyLDiversity: _entropy,
    RecursiveLDiversity: _recursive,
    TCloseness: _close,
    BetaLikeness: _alike,
}
"""Returns the burdens of a promise; arguments are as for `burdens_of`."""
