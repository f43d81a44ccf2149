"""The error of counts by β, the bound on the share of a sensitive value in a group."""

from collections.abc import Iterator

from sfumato.tasks.experiments.ambiguity.setting import (
    ALPHA,
    ATTRIBUTES,
    COVER,
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
from sfumato.tasks.experiments.shared.adult import complete_people
from sfumato.tasks.experiments.shared.census import SALARY, census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, EverywhereBelow, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Inputs, Point
from sfumato.tasks.microdata.table import Microdata

ADULT_KNOWN = (
    "age", "workclass", "education", "marital-status", "race", "sex", "native-country",
)  # fmt: skip
_DATA = ("occupations", "census", "census-salaries")


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean relative error of the same counts at each β."""
    for data, people in _tables(scale, inputs, seed):
        ranges = ask_ranges(people, ATTRIBUTES, SELECTIVITY, scale, seed)
        workloads = (ranges, ask_cells(people, scale, seed))
        for beta in scale.levels:
            for series, work, error in errors(people, f"{beta:g}", workloads, seed):
                yield Point(data, series, beta, work.measure, error)


def _tables(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[tuple[str, Microdata]]:
    adults = complete_people(inputs, ADULT_KNOWN, "occupation", scale.rows, seed, numbered=True)
    yield "occupations", adults
    yield "census", census_people(scale.rows, seed)
    yield "census-salaries", census_people(scale.rows, seed, sensitive=SALARY)


def _claims(data: str, measure: str, asked_of: str) -> tuple[Claim, ...]:
    on_cells = asked_of != WORKLOADS["error of ranges"]
    return (
        Claim(
            f"Ambiguity is more accurate than generalization {asked_of}, on the average",
            data,
            Below(measure, GREEDY, GENERALIZED),
            hindsight=on_cells,
        ),
        Claim(
            f"Ambiguity is always more accurate than generalization {asked_of}",
            data,
            EverywhereBelow(measure, GREEDY, GENERALIZED),
            hindsight=on_cells,
        ),
        Claim(
            f"The error of ambiguity {asked_of} grows with β",
            data,
            Trend(measure, GREEDY, rises=True),
            hindsight=on_cells,
        ),
        Claim(
            f"The error of generalization {asked_of} grows with β",
            data,
            Trend(measure, GENERALIZED, rises=True),
            hindsight=on_cells,
        ),
        Claim(
            "A disjoint cover, which keeps α together, is more accurate than the greedy groups "
            f"{asked_of}",
            data,
            Below(measure, COVER, GREEDY),
            by="project",
            hindsight=on_cells,
        ),
    )


EXPERIMENT = Experiment(
    name="association",
    paper="ambiguity",
    shows="Figure: average relative error by β",
    title="Accuracy by the bound on association",
    setting=(
        "Two workloads of counts of people with one occupation (or salary class). Ranges ask for "
        "three of seven quasi-identifiers, 5 % of all combinations or, where a range ends at whole "
        "values, a little more. Cells are those of GROUP BY over one to three random "
        "quasi-identifiers, and not empty. Texts of Adult are numbered. Estimates are scored, not "
        "bounds. Greedy groups use the estimate of the paper, the disjoint cover uses the weighted "
        "one, and generalization (Mondrian under the same β) uses shares of overlap."
    ),
    ours=f"α = {ALPHA}, the three β, 2,000 people and 100 counts of each workload",
    data=_DATA,
    full=CountScale(2000, 100, (0.2, 0.34, 0.5)),
    quick=CountScale(300, 3, (0.34,)),
    measure=measure,
    figures=figures("β"),
    claims=tuple(
        claim
        for asked_measure, words in WORKLOADS.items()
        for data in _DATA
        for claim in _claims(data, asked_measure, words)
    ),
)
