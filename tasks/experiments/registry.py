"""Every experiment by its name, in the order of papers and of what they show."""

from collections.abc import Mapping

from sfumato.expectations.errors import InputError
from sfumato.tasks.experiments.aggregate_queries import (
    arbitrary,
    correlation,
    partitions,
    ranges,
    rewriting,
    thresholds,
)
from sfumato.tasks.experiments.ambiguity import (
    association,
    cells,
    presence,
    printed_counts,
    printed_groups,
    sizes,
    varied,
)
from sfumato.tasks.experiments.ambiguity import seconds as ambiguity_seconds
from sfumato.tasks.experiments.cell_suppression import optimum, printed_clusters, stars
from sfumato.tasks.experiments.distribution import (
    made_up,
    other_targets,
    own,
    owner_groups,
    printed_fakes,
    trees,
)
from sfumato.tasks.experiments.distribution import seconds as distribution_seconds
from sfumato.tasks.experiments.diversity import homogeneity, utility
from sfumato.tasks.experiments.diversity import seconds as diversity_seconds
from sfumato.tasks.experiments.protocol.experiment import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    "arbitrary-averages": arbitrary.EXPERIMENT,
    "range-averages": ranges.THREE_KNOWN,
    "range-averages-age-alone": ranges.AGE_ALONE,
    "partitions": partitions.EXPERIMENT,
    "correlation": correlation.EXPERIMENT,
    "thresholds": thresholds.EXPERIMENT,
    "rewriting": rewriting.EXPERIMENT,
    "association": association.EXPERIMENT,
    "attributes": varied.ATTRIBUTES,
    "density": varied.DENSITY,
    "selectivity": varied.SELECTIVITY,
    "table-sizes": sizes.EXPERIMENT,
    "grouped-counts": cells.EXPERIMENT,
    "presence": presence.EXPERIMENT,
    "ambiguity-time": ambiguity_seconds.EXPERIMENT,
    "printed-counts": printed_counts.EXPERIMENT,
    "printed-groups": printed_groups.EXPERIMENT,
    "own-distribution": own.EXPERIMENT,
    "fakes": made_up.EXPERIMENT,
    "normal-target": other_targets.NORMAL,
    "zipf-target": other_targets.ZIPF,
    "trees": trees.EXPERIMENT,
    "owner-groups": owner_groups.EXPERIMENT,
    "owner-ranges": owner_groups.RANGES,
    "distribution-time": distribution_seconds.EXPERIMENT,
    "printed-fakes": printed_fakes.EXPERIMENT,
    "homogeneity": homogeneity.EXPERIMENT,
    "utility": utility.EXPERIMENT,
    "utility-eight": utility.EIGHT_KNOWN,
    "utility-sub-sample": utility.EVENED_OUT,
    "diversity-time": diversity_seconds.EXPERIMENT,
    "stars": stars.EXPERIMENT,
    "stars-by-rows": stars.SIZES,
    "optimum": optimum.EXPERIMENT,
    "printed-clusters": printed_clusters.EXPERIMENT,
}


def experiment_named(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        InputError: where there is none.
    """
    if name not in EXPERIMENTS:
        raise InputError(f"experiment {name!r}: there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
