"""The error of counts by the size of the table."""

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
from sfumato.tasks.experiments.shared.census import OCCUPATION, SALARY, census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_counts

_BETA = "0.2"
_TABLES = {"census": OCCUPATION, "census-salaries": SALARY}


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean relative error of counts at each number of rows."""
    for data, sensitive in _TABLES.items():
        for rows in scale.levels:
            people = census_people(int(rows), seed, sensitive=sensitive)
            questions = draw_counts(people, 3, 0.05, scale.questions, np.random.default_rng(seed))
            mean_errors = errors(people, _BETA, questions, inputs, seed, (GREEDY, GENERALIZED))
            for series, error in mean_errors:
                yield Point(data, series, rows, ERROR, error)


def _claims(data: str) -> tuple[Claim, ...]:
    return (
        Claim(
            "Ambiguity is more accurate than generalization, whatever the size of the table",
            data,
            Below(ERROR, GREEDY, GENERALIZED),
        ),
        Claim(
            "The error of generalization falls as the table grows",
            data,
            Trend(ERROR, GENERALIZED, rises=False),
            by="project",
        ),
    )


EXPERIMENT = Experiment(
    name="table-sizes",
    paper="ambiguity",
    shows="Figures: tables Occ-n and Sal-n, n up to 500,000",
    title="Accuracy by the size of the table",
    setting=(
        "Counts of people with ranges of three quasi-identifiers and one occupation, or one salary "
        f"class, of 5 % of all combinations; β = {_BETA}. Each size is a table of its own. "
        "Only these claims were written after one seed of a similar run had been seen."
    ),
    data=tuple(_TABLES),
    full=CountScale(0, 20, (1_000, 5_000, 25_000, 100_000, 500_000)),
    quick=CountScale(0, 3, (300, 1_000)),
    measure=measure,
    figures=(Figure(ERROR, "rows", Y_AXIS),),
    claims=tuple(claim for data in _TABLES for claim in _claims(data)),
)
