"""MIN: the first value that may count, and the first that surely does."""

from fractions import Fraction

import numpy as np
from sqlglot import exp

from sfumato.expectations.exact import Exact
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.bounds.extremes import least
from sfumato.tasks.query.bounds.subdomain_bounds import Cells
from sfumato.tasks.query.question.aggregates.kind import (
    ANY_TYPE,
    AggregateKind,
    HelpBounds,
    HelpColumn,
    own_type,
    sql_ends,
)


def _of_values(counted: CountedValues) -> Bounds:
    first, last = least(counted.low, counted.high)
    guess = counted.expected_end(first, last, greatest=False)
    return Bounds(counted.at(first), counted.at(last), guess)


def _truth(numbers: Exact, codes: np.ndarray) -> Fraction | None:
    return numbers.fraction(numbers.units[codes.min()]) if len(codes) else None


min_ = AggregateKind(
    name="min",
    parsed=(exp.Min,),
    takes=ANY_TYPE,
    returns=own_type,
    of_values=_of_values,
    of_cells=Cells.least,
    truth=_truth,
    help=HelpBounds(HelpColumn("l_min", exp.Min, np.min), HelpColumn("u_min", exp.Min, np.min)),
    over_counts=sql_ends(
        "MIN(CASE WHEN low_sure + low_maybe > 0 THEN v END)",
        "CASE WHEN SUM(high_sure) > 0 THEN MIN(CASE WHEN high_sure > 0 THEN v END) "
        "ELSE MAX(CASE WHEN high_maybe > 0 THEN v END) END",
    ),
    over_ranges=sql_ends(
        "MIN(v)",
        "CASE WHEN MAX(lo) > 0 THEN MIN(CASE WHEN ahead < lo THEN v END) ELSE MAX(v) END",
    ),
)
