"""The error of counts by what is asked, how much is known, and how dense sensitive values are."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.experiments.ambiguity.setting import (
    ERROR,
    GENERALIZED,
    GREEDY,
    X_AXIS,
    Y_AXIS,
    CountScale,
    by_level,
    methods,
)
from sfumato.tasks.experiments.shared.candidates import try_method
from sfumato.tasks.experiments.shared.census import KNOWN, SALARY, census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_counts, error_of_counts
from sfumato.tasks.microdata.table import Microdata

_BETA = "0.2"
_BETTER = Claim(
    "Ambiguity is more accurate than generalization",
    "census",
    Below(ERROR, GREEDY, GENERALIZED),
)


def measure_attributes(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Return the errors where so many quasi-identifiers are known and asked for."""

    def people(level: float) -> Microdata:
        return census_people(scale.rows, seed, KNOWN[: int(level)])

    return by_level(people, int, scale, inputs, seed, _BETA)


def measure_density(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Return the errors where sensitive values are so dense."""
    people = partial(_dense_people, scale.rows, seed)
    return by_level(people, lambda _: 3, scale, inputs, seed, "0.34")


def _dense_people(rows: int, seed: int, density: float) -> Microdata:
    return census_people(rows, seed, sensitive=SALARY, density=int(density))


def measure_selectivity(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the errors of counts that ask for so many percent of all combinations."""
    people, rng = census_people(scale.rows, seed), np.random.default_rng(seed)
    questions_by_level = {
        level: draw_counts(people, 3, level / 100, scale.questions, rng) for level in scale.levels
    }
    for series, (method, estimator) in methods(people, _BETA).items():
        with suppress(PromiseError):
            trial = try_method(people, method, inputs, seed).require_kept()
            for level, questions in questions_by_level.items():
                error = error_of_counts(trial, questions, people, estimator)
                yield Point("census", series, level, ERROR, error)


ATTRIBUTES = Experiment(
    name="attributes",
    paper="ambiguity",
    shows="Figure: average relative error with 3, 4 and 5 attributes",
    title="Accuracy by what is known",
    setting="As above with β = 0.2, where 3, 4 or 5 quasi-identifiers are published and asked for.",
    data=("census",),
    full=CountScale(2000, 12, (3, 4, 5)),
    quick=CountScale(300, 3, (4, 5)),
    measure=measure_attributes,
    figures=(Figure(ERROR, "quasi-identifiers", Y_AXIS),),
    claims=(
        _BETTER,
        Claim(
            "The error of ambiguity grows with the number of attributes",
            "census",
            Trend(ERROR, GREEDY, rises=True),
        ),
    ),
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
    data=("census",),
    full=CountScale(2000, 12, (1, 3, 5)),
    quick=CountScale(300, 3, (1, 3)),
    measure=measure_density,
    figures=(Figure(ERROR, "density", Y_AXIS),),
    claims=(
        _BETTER,
        Claim(
            "The error of ambiguity grows with the density",
            "census",
            Trend(ERROR, GREEDY, rises=True),
        ),
    ),
)
SELECTIVITY = Experiment(
    name="selectivity",
    paper="ambiguity",
    shows="Figures: batches of 1, 5 and 10 % selectivity",
    title="Accuracy by selectivity",
    setting="As above with β = 0.2, for counts that ask for 1, 5 and 10 % of all combinations.",
    data=("census",),
    full=CountScale(2000, 12, (1, 5, 10)),
    quick=CountScale(300, 3, (5, 10)),
    measure=measure_selectivity,
    figures=(Figure(ERROR, X_AXIS, Y_AXIS),),
    claims=(
        _BETTER,
        Claim(
            "The error of ambiguity falls as more is asked for",
            "census",
            Trend(ERROR, GREEDY, rises=False),
        ),
    ),
)
