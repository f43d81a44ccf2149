"""All experiments by name, in the order of the papers and of their figures."""

from collections.abc import Mapping

from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.experiments.shared.experiment import Experiment

EXPERIMENTS: Mapping[str, Experiment] = Entries(
    "sfumato.tasks.experiments",
    {
        "arbitrary-averages": "aggregate_queries.arbitrary:EXPERIMENT",
        "range-averages": "aggregate_queries.ranges:EIGHT_KNOWN",
        "range-averages-age-alone": "aggregate_queries.ranges:AGE_ALONE",
        "partitions": "aggregate_queries.partitions:EXPERIMENT",
        "correlation": "aggregate_queries.correlation:EXPERIMENT",
        "correlation-labels": "aggregate_queries.correlation_labels:EXPERIMENT",
        "thresholds": "aggregate_queries.thresholds:EXPERIMENT",
        "rewriting": "aggregate_queries.rewriting:EXPERIMENT",
        "association": "ambiguity.association:EXPERIMENT",
        "attributes": "ambiguity.varied:ATTRIBUTES",
        "density": "ambiguity.varied:DENSITY",
        "selectivity": "ambiguity.varied:SELECTIVITY",
        "table-sizes": "ambiguity.sizes:EXPERIMENT",
        "grouped-counts": "ambiguity.cells:EXPERIMENT",
        "same-groups": "ambiguity.same_groups:EXPERIMENT",
        "presence": "ambiguity.presence:EXPERIMENT",
        "ambiguity-time": "ambiguity.seconds:EXPERIMENT",
        "printed-counts": "ambiguity.printed_counts:EXPERIMENT",
        "printed-groups": "ambiguity.printed_groups:EXPERIMENT",
        "own-distribution": "distribution.own:EXPERIMENT",
        "fakes": "distribution.made_up:EXPERIMENT",
        "normal-target": "distribution.other_targets:NORMAL",
        "zipf-target": "distribution.other_targets:ZIPF",
        "trees": "distribution.trees:EXPERIMENT",
        "owner-groups": "distribution.owner_groups:EXPERIMENT",
        "owner-ranges": "distribution.owner_groups:RANGES",
        "distribution-time": "distribution.seconds:EXPERIMENT",
        "printed-fakes": "distribution.printed_fakes:EXPERIMENT",
        "homogeneity": "diversity.homogeneity:EXPERIMENT",
        "homogeneity-lands-end": "diversity.homogeneity:LANDS_END",
        "utility": "diversity.utility:EXPERIMENT",
        "utility-eight": "diversity.utility:EIGHT_KNOWN",
        "utility-sub-sample": "diversity.utility:EVENED_OUT",
        "utility-lands-end": "diversity.utility:LANDS_END",
        "diversity-time": "diversity.seconds:EXPERIMENT",
        "stars": "cell_suppression.stars:EXPERIMENT",
        "stars-by-rows": "cell_suppression.stars:SIZES",
        "optimum": "cell_suppression.optimum:EXPERIMENT",
        "binary-factors": "cell_suppression.binary_factors:EXPERIMENT",
        "printed-clusters": "cell_suppression.printed_clusters:EXPERIMENT",
    },
)


def experiment_named(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises:
        InputError: if there is no such experiment.
    """
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment {name!r}; type one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
