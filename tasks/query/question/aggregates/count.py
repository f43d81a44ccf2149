"""COUNT: how many rows there are, or values that are not null."""

from fractions import Fraction

from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.counted_values import CountedValues, estimate_of
from sfumato.tasks.query.bounds.subdomain_bounds import Cells
from sfumato.tasks.query.question.aggregates.kind import ANY_TYPE, AggregateKind


def _of_values(counted: CountedValues) -> Bounds:
    least, most = int(counted.low.sure.sum()), int(counted.high.all.sum())
    expected = estimate_of(counted.expected_rows)
    return Bounds(least, most, within(expected, Fraction(least), Fraction(most)))


count = AggregateKind(
    name="count",
    parsed=(exp.Count,),
    takes=ANY_TYPE,
    returns=lambda _: "integer",
    of_values=_of_values,
    of_cells=Cells.counts,
    truth=lambda _, codes: Fraction(len(codes)),
    counts_rows=True,
    known_width=lambda rows, _: Fraction(rows),
    fewest=0,
)
