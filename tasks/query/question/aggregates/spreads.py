"""The variance of a sample and of a population, and the standard deviation of a population."""

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.spread import Choices, root_above, root_below, variance
from sfumato.tasks.query.question.aggregates.kind import NUMBERS, AggregateKind

_NONE = Bounds(None, None, None)


def _sample(choices: Choices) -> Bounds:
    found = variance(choices)
    if found is None:
        return _NONE
    return Bounds(*found, None, may_be_empty=choices.rows[0] < 2)


def _population(choices: Choices) -> Bounds:
    """That of a sample, by one more than it divides by; of one value it is 0."""
    least, most = choices.rows
    if not most:
        return _NONE
    low, high = variance(choices) or (Fraction(0), Fraction(0))
    low = low * (least - 1) / least if least > 1 else Fraction(0)
    return Bounds(low, high * (most - 1) / most, None, may_be_empty=not least)


def _root_of_population(choices: Choices) -> Bounds:
    found = _population(choices)
    if not isinstance(found.lower, Fraction) or not isinstance(found.upper, Fraction):
        return found
    return replace(found, lower=root_below(found.lower), upper=root_above(found.upper))


var_samp = AggregateKind(
    name="var_samp",
    parsed=(exp.Variance,),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_choices=_sample,
    of_cells=lambda cells: [_sample(choices) for choices in cells.choices()],
    fewest=2,
)
var_pop = AggregateKind(
    name="var_pop",
    parsed=(exp.VariancePop,),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_choices=_population,
    of_cells=lambda cells: [_population(choices) for choices in cells.choices()],
)
stddev_pop = AggregateKind(
    name="stddev_pop",
    parsed=(exp.StddevPop,),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_choices=_root_of_population,
    of_cells=lambda cells: [_root_of_population(choices) for choices in cells.choices()],
)
