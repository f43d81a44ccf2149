"""The error of the cells of a GROUP BY, by how many quasi-identifiers are grouped by."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.ambiguity.setting import (
    CELLS_ERROR,
    GENERALIZED,
    GREEDY,
    Y_AXIS,
    CountScale,
    CountWorkload,
    errors,
)
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_cells, truths

_BETA = "0.2"


def measure(scale: CountScale, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean relative error of cells that are not empty."""
    people, rng = census_people(scale.rows, seed), np.random.default_rng(seed)
    for level in scale.levels:
        questions = draw_cells(people, (int(level),), scale.questions, rng)
        work = CountWorkload(CELLS_ERROR, questions, truths(questions, people))
        for series, _, error in errors(people, _BETA, [work], seed, (GREEDY, GENERALIZED)):
            yield Point("census", series, level, CELLS_ERROR, error)


EXPERIMENT = Experiment(
    name="grouped-counts",
    paper="ambiguity",
    shows="The workload of all figures: COUNT with GROUP BY random quasi-identifiers",
    title="Accuracy of the cells of a GROUP BY",
    setting=(
        "SELECT q, COUNT(*) WHERE occupation = v GROUP BY q, for random quasi-identifiers q and "
        "the occupation v of a random person. Of each such query, one random cell that is not "
        f"empty is scored; β = {_BETA}. Here the number of columns that are grouped by varies."
    ),
    ours="β, 10,000 people, the numbers of columns, and 400 cells of each",
    data=("census",),
    full=CountScale(10_000, 400, (1, 2, 3)),
    quick=CountScale(500, 5, (1, 2)),
    measure=measure,
    figures=(Figure(CELLS_ERROR, "quasi-identifiers grouped by", Y_AXIS),),
    claims=(
        Claim(
            "Ambiguity is more accurate than generalization on cells of a GROUP BY",
            "census",
            Below(CELLS_ERROR, GREEDY, GENERALIZED),
        ),
        Claim(
            "The error of ambiguity grows with how many attributes are grouped by",
            "census",
            Trend(CELLS_ERROR, GREEDY, rises=True),
        ),
    ),
)
