"""The error of counts by the size of the table."""

from collections.abc import Iterator

from sfumato.tasks.experiments.ambiguity.setting import (
    ATTRIBUTES,
    GENERALIZED,
    GREEDY,
    SELECTIVITY,
    WORKLOADS,
    CountScale,
    ask_cells,
    ask_ranges,
    errors,
    figures,
)
from sfumato.tasks.experiments.shared.census import OCCUPATION, SALARY, census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Inputs, Point

_BETA = "0.2"
_TABLES = {"census": OCCUPATION, "census-salaries": SALARY}


def measure(scale: CountScale, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean relative error of counts at each number of rows."""
    for data, sensitive in _TABLES.items():
        for rows in scale.levels:
            people = census_people(int(rows), seed, sensitive=sensitive)
            ranges = ask_ranges(people, ATTRIBUTES, SELECTIVITY, scale, seed)
            workloads = (ranges, ask_cells(people, scale, seed))
            for series, work, error in errors(
                people, _BETA, workloads, seed, (GREEDY, GENERALIZED)
            ):
                yield Point(data, series, rows, work.measure, error)


def _claims(data: str, measure: str, words: str) -> tuple[Claim, ...]:
    return (
        Claim(
            f"Ambiguity is more accurate than generalization {words}, whatever the size of the "
            "table",
            data,
            Below(measure, GREEDY, GENERALIZED),
            hindsight=True,
        ),
        Claim(
            f"The error of generalization {words} falls as the table grows",
            data,
            Trend(measure, GENERALIZED, rises=False),
            by="project",
            hindsight=True,
        ),
    )


EXPERIMENT = Experiment(
    name="table-sizes",
    paper="ambiguity",
    shows="Figures: tables Occ-n and Sal-n, n up to 500,000",
    title="Accuracy by the size of the table",
    setting=(
        "The same two workloads, of one occupation or one salary class; "
        f"β = {_BETA}. Each size is a table of its own."
    ),
    ours="β, the five sizes, and 60 counts of each workload",
    data=tuple(_TABLES),
    full=CountScale(0, 60, (1_000, 5_000, 25_000, 100_000, 500_000)),
    quick=CountScale(0, 3, (300, 1_000)),
    measure=measure,
    figures=figures("rows"),
    claims=tuple(
        claim
        for asked_measure, words in WORKLOADS.items()
        for data in _TABLES
        for claim in _claims(data, asked_measure, words)
    ),
)
