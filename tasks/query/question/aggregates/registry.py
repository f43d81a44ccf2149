"""Every aggregate by its name, in the order in which views and functions show them."""

from collections.abc import Mapping

from sfumato.tasks.query.question.aggregates.avg import avg
from sfumato.tasks.query.question.aggregates.count import count
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.aggregates.max import max_
from sfumato.tasks.query.question.aggregates.min import min_
from sfumato.tasks.query.question.aggregates.quantile import percentile_cont, percentile_disc
from sfumato.tasks.query.question.aggregates.spreads import stddev_pop, var_pop, var_samp
from sfumato.tasks.query.question.aggregates.stddev import stddev
from sfumato.tasks.query.question.aggregates.sum import sum_

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
