"""SUM: as many of the best values as may count, and of the others those that surely do."""

from fractions import Fraction

import numpy as np
from sqlglot import exp

from sfumato.expectations.exact import Exact
from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.counted_values import CountedValues, estimate_of
from sfumato.tasks.query.bounds.extremes import total
from sfumato.tasks.query.bounds.subdomain_bounds import Cells
from sfumato.tasks.query.bounds.values import sum_of
from sfumato.tasks.query.question.aggregates.kind import (
    NUMBERS,
    AggregateKind,
    HelpBounds,
    HelpColumn,
    sql_ends,
    whole_sum,
)

SUMS = HelpColumn("l_sum", exp.Sum, whole_sum), HelpColumn("u_sum", exp.Sum, whole_sum)
"""The least and the greatest sum in the help table."""


def _of_values(counted: CountedValues) -> Bounds:
    scale = 10**counted.numbers.digits
    low, high = (
        Fraction(side, scale) for side in total(counted.numbers.units, counted.low, counted.high)
    )
    estimate = within(estimate_of(counted.expected_sum), low, high)
    return Bounds(sum_of(low, counted.whole), sum_of(high, counted.whole), estimate)


def _truth(numbers: Exact, codes: np.ndarray) -> Fraction | None:
    return numbers.fraction(whole_sum(numbers.units[codes])) if len(codes) else None


sum_ = AggregateKind(
    name="sum",
    parsed=(exp.Sum,),
    takes=NUMBERS,
    returns=lambda _: "decimal",
    of_values=_of_values,
    of_cells=Cells.sums,
    truth=_truth,
    help=HelpBounds(*SUMS, expected=True),
    over_counts=sql_ends(
        "CASE WHEN SUM(low_sure) = 0 AND MIN(CASE WHEN low_maybe > 0 THEN v END) > 0 "
        "THEN MIN(CASE WHEN low_maybe > 0 THEN v END) "
        "WHEN SUM(low_sure + low_maybe) > 0 THEN "
        "SUM(v * low_sure) + SUM(CASE WHEN v < 0 THEN v * low_maybe ELSE 0 END) END",
        "CASE WHEN SUM(high_sure) = 0 AND MAX(CASE WHEN high_maybe > 0 THEN v END) < 0 "
        "THEN MAX(CASE WHEN high_maybe > 0 THEN v END) "
        "WHEN SUM(high_sure + high_maybe) > 0 THEN "
        "SUM(v * high_sure) + SUM(CASE WHEN v > 0 THEN v * high_maybe ELSE 0 END) END",
    ),
    over_ranges=sql_ends(
        "CASE WHEN MAX(lo) = 0 AND MIN(v) > 0 THEN MIN(v) ELSE SUM(v * CASE WHEN v > 0 THEN "
        "CASE WHEN (lo - ahead) <= 0 THEN 0 WHEN (lo - ahead) < sure THEN (lo - ahead) "
        "ELSE sure END ELSE CASE WHEN (hits - before_it) <= 0 THEN 0 "
        "WHEN (hits - before_it) < times THEN (hits - before_it) ELSE times END END) END",
        "CASE WHEN MAX(lo) = 0 AND MAX(v) < 0 THEN MAX(v) ELSE SUM(v * CASE WHEN v < 0 THEN "
        "CASE WHEN (lo - ahead) <= 0 THEN 0 WHEN (lo - ahead) < sure THEN (lo - ahead) "
        "ELSE sure END ELSE CASE WHEN (hits - before_it) <= 0 THEN 0 "
        "WHEN (hits - before_it) < times THEN (hits - before_it) ELSE times END END) END",
    ),
    adds=True,
    known_width=lambda rows, apart: rows * apart,
)
