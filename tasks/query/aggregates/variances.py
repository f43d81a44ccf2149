"""Variances and standard deviations, of a sample and of a population.

Their bounds are close, and need not be attained (`bounds/spread.py`).

Its bounds are close, and need not be attained (`bounds/spread.py`).
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


def _sample(choices: Choices) -> Bounds:
    found = variance(choices)
    if found is None:
        return _NONE
    return _close(*found, may_be_empty=choices.rows[0] < 2)


def _population(choices: Choices) -> Bounds:
    """That of a sample, by one more than it divides by; of one value it is 0."""
    least, most = choices.rows
    if not most:
        return _NONE
    low, high = variance(choices) or (Fraction(0), Fraction(0))
    low = low * (least - 1) / least if least > 1 else Fraction(0)
    return _close(low, high * (most - 1) / most, may_be_empty=not least)


def _root_of_population(choices: Choices) -> Bounds:
    found = _population(choices)
    if not isinstance(found.lower, Fraction) or not isinstance(found.upper, Fraction):
        return found
    return replace(found, lower=root_below(found.lower), upper=root_above(found.upper))


def _close(lower: Fraction, upper: Fraction, *, may_be_empty: bool) -> Bounds:
    """Bounds that hold and are close: that two choices come to them is not known."""
    return Bounds(lower, upper, None, may_be_empty=may_be_empty, attained=lower == upper)


def _spread(
    name: str,
    parsed: type[exp.Expr],
    of: Callable[[Choices], Bounds],
    of_squares: Callable[[float, float], float],
    squares: Callable[[float, float], float],
    fewest: int,
) -> AggregateKind:
    """An aggregate that is known where it is known among what the values are chosen."""
    return AggregateKind(
        name=name,
        parsed=(parsed,),
        takes=NUMBERS,
        returns=lambda _: "float",
        of_choices=of,
        of_squares=of_squares,
        squares=squares,
        of_cells=lambda cells: [of(choices) for choices in cells.choices()],
        fewest=fewest,
    )


var_samp = _spread(
    "var_samp",
    exp.Variance,
    _sample,
    lambda squares, rows: squares / (rows - 1) if rows > 1 else nan,
    lambda answer, rows: answer * (rows - 1),
    fewest=2,
)


var_pop = _spread(
    "var_pop",
    exp.VariancePop,
    _population,
    lambda squares, rows: squares / rows,
    lambda answer, rows: answer * rows,
    fewest=1,
)


stddev_pop = _spread(
    "stddev_pop",
    exp.StddevPop,
    _root_of_population,
    lambda squares, rows: sqrt(squares / rows),
    lambda answer, rows: answer**2 * rows,
    fewest=1,
)


def _of_choices(choices: Choices) -> Bounds:
    found = variance(choices)
    if found is None:
        return Bounds(None, None, None)
    lower, upper = root_below(found[0]), root_above(found[1])
    empty, known = choices.rows[0] < 2, found[0] == found[1]
    return Bounds(lower, upper, None, may_be_empty=empty, attained=known)


def _of_squares(squares: float, rows: float) -> float:
    return sqrt(squares / (rows - 1)) if rows > 1 else nan


stddev = AggregateKind(
    name="stddev",
    parsed=(exp.Stddev, exp.StddevSamp),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_choices=_of_choices,
    of_squares=_of_squares,
    squares=lambda answer, rows: answer**2 * (rows - 1),
    of_cells=lambda cells: [_of_choices(choices) for choices in cells.choices()],
    fewest=2,
    adds=True,
)
