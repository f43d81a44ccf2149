"""Variances and standard deviations, of a sample and of a population.

Their bounds are close but need not be attained (see `bounds/spread.py`).
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import nan, sqrt

from sqlglot import exp

from sfumato.tasks.query.aggregates.kind import NUMBERS, AggregateKind
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.spread import Choices, root_above, root_below, variance

_NONE = Bounds(None, None, None)


def _bound_sample(choices: Choices) -> Bounds:
    ends = variance(choices)
    if ends is None:
        return _NONE
    return _close(*ends, may_be_empty=choices.rows[0] < 2)


def _bound_population(choices: Choices) -> Bounds:
    """Bound the population's variance by the sample's, times (n - 1) / n; it is 0 for one value."""
    least, most = choices.rows
    if not most:
        return _NONE
    low, high = variance(choices) or (Fraction(0), Fraction(0))
    low = low * (least - 1) / least if least > 1 else Fraction(0)
    return _close(low, high * (most - 1) / most, may_be_empty=not least)


def _bound_root_of_population(choices: Choices) -> Bounds:
    bounds = _bound_population(choices)
    if not isinstance(bounds.lower, Fraction) or not isinstance(bounds.upper, Fraction):
        return bounds
    return replace(bounds, lower=root_below(bounds.lower), upper=root_above(bounds.upper))


def _close(lower: Fraction, upper: Fraction, *, may_be_empty: bool) -> Bounds:
    """Return bounds that contain the variance; both ends need not be attained."""
    return Bounds(lower, upper, None, may_be_empty=may_be_empty, attained=lower == upper)


def _spread_kind(
    name: str,
    parsed: type[exp.Expr],
    bound: Callable[[Choices], Bounds],
    of_squares: Callable[[float, float], float],
    squares: Callable[[float, float], float],
    fewest: int,
) -> AggregateKind:
    """Return an aggregate of deviations that is bounded over choices of values."""
    return AggregateKind(
        name=name,
        parsed=(parsed,),
        takes=NUMBERS,
        returns=lambda _: "float",
        of_choices=bound,
        of_squares=of_squares,
        squares=squares,
        of_cells=lambda cells: [bound(choices) for choices in cells.choices()],
        fewest=fewest,
    )


var_samp = _spread_kind(
    "var_samp",
    exp.Variance,
    _bound_sample,
    lambda squares, rows: squares / (rows - 1) if rows > 1 else nan,
    lambda answer, rows: answer * (rows - 1),
    fewest=2,
)


var_pop = _spread_kind(
    "var_pop",
    exp.VariancePop,
    _bound_population,
    lambda squares, rows: squares / rows,
    lambda answer, rows: answer * rows,
    fewest=1,
)


stddev_pop = _spread_kind(
    "stddev_pop",
    exp.StddevPop,
    _bound_root_of_population,
    lambda squares, rows: sqrt(squares / rows),
    lambda answer, rows: answer**2 * rows,
    fewest=1,
)


def _bound_deviation(choices: Choices) -> Bounds:
    ends = variance(choices)
    if ends is None:
        return Bounds(None, None, None)
    lower, upper = root_below(ends[0]), root_above(ends[1])
    empty, is_exact = choices.rows[0] < 2, ends[0] == ends[1]
    return Bounds(lower, upper, None, may_be_empty=empty, attained=is_exact)


def _deviation_of_squares(squares: float, rows: float) -> float:
    return sqrt(squares / (rows - 1)) if rows > 1 else nan


stddev = AggregateKind(
    name="stddev",
    parsed=(exp.Stddev, exp.StddevSamp),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_choices=_bound_deviation,
    of_squares=_deviation_of_squares,
    squares=lambda answer, rows: answer**2 * (rows - 1),
    of_cells=lambda cells: [_bound_deviation(choices) for choices in cells.choices()],
    fewest=2,
    adds=True,
)
