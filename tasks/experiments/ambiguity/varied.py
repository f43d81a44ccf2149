"""The error of counts by what is asked, how much is known, and how dense sensitive values are."""

from collections.abc import Iterator
from functools import partial

from sfumato.tasks.experiments.ambiguity.setting import (
    ATTRIBUTES as ASKED_ATTRIBUTES,
)
from sfumato.tasks.experiments.ambiguity.setting import (
    CELLS_ERROR,
    GENERALIZED,
    GREEDY,
    WORKLOADS,
    X_AXIS,
    CountScale,
    ask_cells,
    ask_ranges,
    by_level,
    errors,
    figures,
)
from sfumato.tasks.experiments.shared.census import KNOWN, SALARY, census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Inputs, Point
from sfumato.tasks.microdata.table import Microdata

_BETA = "0.2"
_WAYS = (GREEDY, GENERALIZED)


def measure_attributes(scale: CountScale, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Return the errors where so many quasi-identifiers are known and asked for."""

    def people(level: float) -> Microdata:
        return census_people(scale.rows, seed, KNOWN[: int(level)])

    return by_level(people, int, scale, seed, _BETA)


def measure_density(scale: CountScale, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Return the errors where sensitive values are so dense."""
    people = partial(_dense_people, scale.rows, seed)
    return by_level(people, lambda _: ASKED_ATTRIBUTES, scale, seed, "0.34")


def _dense_people(rows: int, seed: int, density: float) -> Microdata:
    return census_people(rows, seed, sensitive=SALARY, density=int(density))


def measure_selectivity(scale: CountScale, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the errors of counts that ask for so many percent of all combinations."""
    people = census_people(scale.rows, seed)
    levels_asked = [
        (level, work)
        for level in scale.levels
        for work in (
            ask_ranges(people, ASKED_ATTRIBUTES, level / 100, scale, seed),
            ask_cells(people, scale, seed, level / 100),
        )
    ]
    level_of = {id(work): level for level, work in levels_asked}
    workloads = [work for _, work in levels_asked]
    for series, work, error in errors(people, _BETA, workloads, seed, _WAYS):
        yield Point("census", series, level_of[id(work)], work.measure, error)


def _claims(trend: str, *, rises: bool) -> tuple[Claim, ...]:
    """Return the claims on both workloads; `trend` ends the claim about the error of ambiguity."""
    return tuple(
        claim
        for measure, words in WORKLOADS.items()
        for claim in (
            Claim(
                f"Ambiguity is more accurate than generalization {words}",
                "census",
                Below(measure, GREEDY, GENERALIZED),
                hindsight=measure == CELLS_ERROR,
            ),
            Claim(
                f"The error of ambiguity {words} {trend}",
                "census",
                Trend(measure, GREEDY, rises=rises),
                hindsight=measure == CELLS_ERROR,
            ),
        )
    )


ATTRIBUTES = Experiment(
    name="attributes",
    paper="ambiguity",
    shows="Figure: average relative error with 3, 4 and 5 attributes",
    title="Accuracy by what is known",
    setting=(
        "As above with β = 0.2, where the first 3, 4 or 5 quasi-identifiers of the paper's table "
        "of columns are published. Ranges ask for all of them, cells for one to three."
    ),
    ours="which attributes the 3, 4 and 5 are; β, 2,000 people and 100 counts of each workload",
    data=("census",),
    full=CountScale(2000, 100, (3, 4, 5)),
    quick=CountScale(300, 3, (4, 5)),
    measure=measure_attributes,
    figures=figures("quasi-identifiers"),
    claims=_claims("grows with the number of attributes", rises=True),
)
DENSITY = Experiment(
    name="density",
    paper="ambiguity",
    shows="Figure: average relative error by density",
    title="Accuracy by the density of sensitive values",
    setting=(
        "As above with β = 0.34, for salary classes: at density d the same people have ⌈50/d⌉ "
        "different ones, as the paper's words are read here."
    ),
    ours="β, 2,000 people, 100 counts of each workload, and the reading of density",
    data=("census",),
    full=CountScale(2000, 100, (1, 2, 3, 4, 5)),
    quick=CountScale(300, 3, (1, 3)),
    measure=measure_density,
    figures=figures("density"),
    claims=_claims("grows with the density", rises=True),
)
SELECTIVITY = Experiment(
    name="selectivity",
    paper="ambiguity",
    shows="Figures: batches of 1, 5 and 10 % selectivity",
    title="Accuracy by selectivity",
    setting=(
        "As above with β = 0.2, for counts that ask for 1, 5 and 10 % of all combinations. Cells "
        "are those of GROUP BY over one quasi-identifier, of people in ranges of two others that "
        "have that share of combinations."
    ),
    ours="β, 2,000 people, 100 counts of each workload, and the reading of a cell's selectivity",
    data=("census",),
    full=CountScale(2000, 100, (1, 5, 10)),
    quick=CountScale(300, 3, (5, 10)),
    measure=measure_selectivity,
    figures=figures(X_AXIS),
    claims=_claims("falls as more is asked for", rises=False),
)
