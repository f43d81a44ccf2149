"""Every aggregate by its name, in the order in which views and functions show them."""

from collections.abc import Mapping

from sfumato.tasks.query.aggregates.extremes import max_, min_
from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.aggregates.quantiles import percentile_cont, percentile_disc
from sfumato.tasks.query.aggregates.sums import avg, count, sum_
from sfumato.tasks.query.aggregates.variances import stddev, stddev_pop, var_pop, var_samp

AGGREGATES: Mapping[str, AggregateKind] = {
    "count": count,
    "sum": sum_,
    "avg": avg,
    "min": min_,
    "max": max_,
    "stddev": stddev,
    "stddev_pop": stddev_pop,
    "var_samp": var_samp,
    "var_pop": var_pop,
    "percentile_cont": percentile_cont,
    "percentile_disc": percentile_disc,
}
