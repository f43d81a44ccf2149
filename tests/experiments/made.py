"""Results that were made up, and where the files of experiments are."""

import numpy as np

from sfumato.tasks.experiments.shared.experiment import Inputs, Point, Results
from tests.adult import ADULT, HIERARCHIES


def inputs(scratch):
    return Inputs(ADULT, HIERARCHIES, scratch)


def results(**series):
    """Results of a measure `m` of `d`, from a seeds x levels array for each series."""
    shape = np.shape(next(iter(series.values())))
    return Results(
        {
            seed: [
                Point("d", name, level, "m", float(np.asarray(values)[seed, level]))
                for name, values in series.items()
                for level in range(shape[1])
            ]
            for seed in range(shape[0])
        }
    )
