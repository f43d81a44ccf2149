"""STDDEV: the standard deviation of a sample, which is null of fewer than two values.

Its bounds are close, and need not be attained (`bounds/spread.py`).
"""

from math import nan, sqrt

from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.spread import Choices, root_above, root_below, variance
from sfumato.tasks.query.question.aggregates.kind import NUMBERS, AggregateKind


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
