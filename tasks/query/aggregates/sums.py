"""COUNT, SUM and AVG: the values that surely count, and the best of those that may count."""

from fractions import Fraction

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.exact import Exact
from sfumato.tasks.query.aggregates.kind import (
    ANY_TYPE,
    NUMBERS,
    AggregateKind,
    HelpBounds,
    HelpColumn,
    sql_ends,
    whole_sum,
)
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate, sum_of
from sfumato.tasks.query.bounds.extremes import CountedValues, estimate_of, mean, total
from sfumato.tasks.query.bounds.subdomains import Cells

SUMS = HelpColumn("l_sum", exp.Sum, whole_sum), HelpColumn("u_sum", exp.Sum, whole_sum)
"""The least and the greatest sum in the help table."""


def _bound_sum(counted: CountedValues) -> Bounds:
    scale = 10**counted.numbers.digits
    low, high = (
        Fraction(side, scale) for side in total(counted.numbers.units, counted.low, counted.high)
    )
    estimate = clamp_estimate(estimate_of(counted.expected_sum), low, high)
    return Bounds(sum_of(low, counted.whole), sum_of(high, counted.whole), estimate)


def _total(numbers: Exact, codes: np.ndarray) -> Fraction | None:
    return numbers.fraction(whole_sum(numbers.units[codes])) if len(codes) else None


sum_ = AggregateKind(
    name="sum",
    parsed=(exp.Sum,),
    takes=NUMBERS,
    returns=lambda _: "decimal",
    of_values=_bound_sum,
    of_cells=Cells.sums,
    truth=_total,
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


def _bound_average(counted: CountedValues) -> Bounds:
    scale = 10**counted.numbers.digits
    low, high = (side / scale for side in mean(counted.numbers.units, counted.low, counted.high))
    middle = counted.expected_sum
    some = middle is not None and counted.expected is not None and counted.expected.any()
    estimate = estimate_of(middle / counted.expected_rows) if some and middle is not None else None
    return Bounds(low, high, clamp_estimate(estimate, low, high))


def _average(numbers: Exact, codes: np.ndarray) -> Fraction | None:
    total = whole_sum(numbers.units[codes])
    return numbers.fraction(total) / len(codes) if len(codes) else None


avg = AggregateKind(
    name="avg",
    parsed=(exp.Avg,),
    takes=NUMBERS,
    returns=lambda _: "float",
    of_values=_bound_average,
    of_cells=Cells.means,
    truth=_average,
    help=HelpBounds(*SUMS, per_row=True, expected=True),
    over_counts=sql_ends(
        "CASE WHEN MIN(low_base) < MIN(low_mean) THEN MIN(low_base) ELSE MIN(low_mean) END",
        "CASE WHEN MAX(high_base) > MAX(high_mean) THEN MAX(high_base) ELSE MAX(high_mean) END",
    ),
    runs=True,
    adds=True,
)


def _bound_count(counted: CountedValues) -> Bounds:
    least, most = int(counted.low.sure.sum()), int(counted.high.all.sum())
    expected = estimate_of(counted.expected_rows)
    return Bounds(least, most, clamp_estimate(expected, Fraction(least), Fraction(most)))


count = AggregateKind(
    name="count",
    parsed=(exp.Count,),
    takes=ANY_TYPE,
    returns=lambda _: "integer",
    of_values=_bound_count,
    of_cells=Cells.counts,
    truth=lambda _, codes: Fraction(len(codes)),
    counts_rows=True,
    known_width=lambda rows, _: Fraction(rows),
    fewest=0,
)
