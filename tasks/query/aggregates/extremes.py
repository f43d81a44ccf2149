"""MIN and MAX: the outermost value that surely counts, and the outermost value that may count."""

from fractions import Fraction

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.exact import Exact
from sfumato.tasks.query.aggregates.kind import (
    ANY_TYPE,
    AggregateKind,
    HelpBounds,
    HelpColumn,
    own_type,
    sql_ends,
)
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.extremes import CountedValues, greatest, least
from sfumato.tasks.query.bounds.subdomains import Cells


def _bound_minimum(counted: CountedValues) -> Bounds:
    first, last = least(counted.low, counted.high)
    guess = counted.expected_end(first, last, greatest=False)
    return Bounds(counted.value_at(first), counted.value_at(last), guess)


def _minimum(numbers: Exact, codes: np.ndarray) -> Fraction | None:
    return numbers.fraction(numbers.units[codes.min()]) if len(codes) else None


min_ = AggregateKind(
    name="min",
    parsed=(exp.Min,),
    takes=ANY_TYPE,
    returns=own_type,
    of_values=_bound_minimum,
    of_cells=Cells.least,
    truth=_minimum,
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


def _bound_maximum(counted: CountedValues) -> Bounds:
    first, last = greatest(counted.low, counted.high)
    guess = counted.expected_end(first, last, greatest=True)
    return Bounds(counted.value_at(first), counted.value_at(last), guess)


def _maximum(numbers: Exact, codes: np.ndarray) -> Fraction | None:
    return numbers.fraction(numbers.units[codes.max()]) if len(codes) else None


max_ = AggregateKind(
    name="max",
    parsed=(exp.Max,),
    takes=ANY_TYPE,
    returns=own_type,
    of_values=_bound_maximum,
    of_cells=Cells.greatest,
    truth=_maximum,
    help=HelpBounds(HelpColumn("l_max", exp.Max, np.max), HelpColumn("u_max", exp.Max, np.max)),
    over_counts=sql_ends(
        "CASE WHEN SUM(low_sure) > 0 THEN MAX(CASE WHEN low_sure > 0 THEN v END) "
        "ELSE MIN(CASE WHEN low_maybe > 0 THEN v END) END",
        "MAX(CASE WHEN high_sure + high_maybe > 0 THEN v END)",
    ),
    over_ranges=sql_ends(
        "CASE WHEN MAX(lo) > 0 THEN MAX(CASE WHEN ahead < lo THEN v END) ELSE MIN(v) END",
        "MAX(v)",
    ),
)
