"""The error of the cells of a GROUP BY, by how many quasi-identifiers are grouped by."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.ambiguity.setting import (
    ERROR,
    GENERALIZED,
    GREEDY,
    Y_AXIS,
    CountScale,
    errors,
)
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_cells

_BETA = "0.2"


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean relative error of cells that are not empty."""
    people, rng = census_people(scale.rows, seed), np.random.default_rng(seed)
    for level in scale.levels:
        questions = draw_cells(people, int(level), scale.questions, rng)
        mean_errors = errors(people, _BETA, questions, inputs, seed, (GREEDY, GENERALIZED))
        for series, error in mean_errors:
            yield Point("census", series, level, ERROR, error)


EXPERIMENT = Experiment(
    name="grouped-counts",
    paper="ambiguity",
    shows="The workload of all figures: COUNT with GROUP BY random quasi-identifiers",
    title="Accuracy of the cells of a GROUP BY",
    setting=(
        "SELECT q, COUNT(*) WHERE occupation = v GROUP BY q, for random quasi-identifiers q and "
        "the occupation v of a random person. Of each such query, one random cell that is not "
        f"empty is scored; β = {_BETA}. Other experiments ask for ranges, because the relative "
        "error of a cell with one person means little."
    ),
    data=("census",),
    full=CountScale(10_000, 100, (1, 2, 3)),
    quick=CountScale(500, 5, (1, 2)),
    measure=measure,
    figures=(Figure(ERROR, "quasi-identifiers grouped by", Y_AXIS),),
    claims=(
        Claim(
            "Ambiguity is more accurate than generalization on cells of a GROUP BY",
            "census",
            Below(ERROR, GREEDY, GENERALIZED),
        ),
        Claim(
            "The error of ambiguity grows with how many attributes are grouped by",
            "census",
            Trend(ERROR, GREEDY, rises=True),
        ),
    ),
)
