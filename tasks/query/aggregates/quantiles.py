"""Quantiles: MEDIAN and PERCENTILE_CONT, which may lie between values; PERCENTILE_DISC."""

from fractions import Fraction

import numpy as np
from sqlglot import exp

from sfumato.tasks.query.aggregates.kind import NUMBERS, AggregateKind
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate
from sfumato.tasks.query.bounds.extremes import CountedValues
from sfumato.tasks.query.bounds.quantiles import quantiles


def _bound_interpolated(counted: CountedValues, share: Fraction) -> Bounds:
    return _bounds(counted, share, between=True)


def _bound_discrete(counted: CountedValues, share: Fraction) -> Bounds:
    return _bounds(counted, share, between=False)


def _bounds(counted: CountedValues, share: Fraction, *, between: bool) -> Bounds:
    numbers, scale = counted.numbers, 10**counted.numbers.digits
    ends = quantiles(numbers.units, counted.low, counted.high, share, between=between)
    low, high = (end / scale for end in ends)
    guess = clamp_estimate(_expected_quantile(counted, share), low, high)
    return Bounds(_whole(low), _whole(high), guess)


def _expected_quantile(counted: CountedValues, share: Fraction) -> Fraction | None:
    """Return the value below which the share of the expected rows lies; None if it is unknown."""
    if counted.expected is None or not counted.expected.any():
        return None
    below = np.cumsum(counted.expected)
    if np.isnan(below[-1]):
        return None
    place = int(np.searchsorted(below, float(share) * below[-1]))
    units = counted.numbers.units
    return Fraction(int(units[min(place, len(units) - 1)]), 10**counted.numbers.digits)


def _whole(number: Fraction) -> int | Fraction:
    return int(number) if number == int(number) else number


percentile_cont = AggregateKind(
    name="percentile_cont",
    parsed=(exp.Median, exp.PercentileCont),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_share=_bound_interpolated,
    between=True,
    written="MEDIAN/PERCENTILE_CONT",
)
percentile_disc = AggregateKind(
    name="percentile_disc",
    parsed=(exp.PercentileDisc, exp.Quantile),
    takes=NUMBERS,
    returns=lambda type_: type_,
    of_share=_bound_discrete,
)
