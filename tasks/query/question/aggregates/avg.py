"""AVG: what surely counts, and of the other values the best ones as long as they improve it."""

from fractions import Fraction

import numpy as np
from sqlglot import exp

from sfumato.expectations.exact import Exact
from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.counted_values import CountedValues, estimate_of
from sfumato.tasks.query.bounds.extremes import mean
from sfumato.tasks.query.bounds.subdomain_bounds import Cells
from sfumato.tasks.query.question.aggregates.kind import (
    NUMBERS,
    AggregateKind,
    HelpBounds,
    sql_ends,
    whole_sum,
)
from sfumato.tasks.query.question.aggregates.sum import SUMS


def _of_values(counted: CountedValues) -> Bounds:
    scale = 10**counted.numbers.digits
    low, high = (side / scale for side in mean(counted.numbers.units, counted.low, counted.high))
    middle = counted.expected_sum
    some = middle is not None and counted.expected is not None and counted.expected.any()
    estimate = estimate_of(middle / counted.expected_rows) if some and middle is not None else None
    return Bounds(low, high, within(estimate, low, high))


def _truth(numbers: Exact, codes: np.ndarray) -> Fraction | None:
    total = whole_sum(numbers.units[codes])
    return numbers.fraction(total) / len(codes) if len(codes) else None


avg = AggregateKind(
    name="avg",
    parsed=(exp.Avg,),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_values=_of_values,
    of_cells=Cells.means,
    truth=_truth,
    help=HelpBounds(*SUMS, per_row=True, expected=True),
    over_counts=sql_ends(
        "CASE WHEN MIN(low_base) < MIN(low_mean) THEN MIN(low_base) ELSE MIN(low_mean) END",
        "CASE WHEN MAX(high_base) > MAX(high_mean) THEN MAX(high_base) ELSE MAX(high_mean) END",
    ),
    runs=True,
    adds=True,
)
