"""The error of counts by β, the bound on the share of a sensitive value in a group."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.ambiguity.setting import (
    ALPHA,
    COVER,
    ERROR,
    GENERALIZED,
    GREEDY,
    Y_AXIS,
    CountScale,
    errors,
)
from sfumato.tasks.experiments.shared.adult import complete_people
from sfumato.tasks.experiments.shared.census import SALARY, census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, EverywhereBelow, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_counts

_KNOWN = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean relative error of the same counts at each β."""
    adults = complete_people(inputs, _KNOWN, "occupation", scale.rows, seed, numbered=True)
    salaries = census_people(scale.rows, seed, sensitive=SALARY)
    for data, people in (
        ("occupations", adults),
        ("census", census_people(scale.rows, seed)),
        ("census-salaries", salaries),
    ):
        rng = np.random.default_rng(seed)
        questions = draw_counts(people, 3, 0.05, scale.questions, rng)
        for beta in scale.levels:
            for series, error in errors(people, f"{beta:g}", questions, inputs, seed):
                yield Point(data, series, beta, ERROR, error)


def _claims(data: str) -> tuple[Claim, ...]:
    return (
        Claim(
            "Ambiguity is more accurate than generalization on the average",
            data,
            Below(ERROR, GREEDY, GENERALIZED),
        ),
        Claim(
            "Ambiguity is always more accurate than generalization",
            data,
            EverywhereBelow(ERROR, GREEDY, GENERALIZED),
        ),
        Claim(
            "The error of ambiguity grows with β",
            data,
            Trend(ERROR, GREEDY, rises=True),
        ),
        Claim(
            "The error of generalization grows with β",
            data,
            Trend(ERROR, GENERALIZED, rises=True),
        ),
        Claim(
            "A disjoint cover, which keeps α together, is more accurate than the greedy groups",
            data,
            Below(ERROR, COVER, GREEDY),
            by="project",
        ),
    )


EXPERIMENT = Experiment(
    name="association",
    paper="ambiguity",
    shows="Figure: average relative error by β",
    title="Accuracy by the bound on association",
    setting=(
        "Counts of people with ranges of three of several quasi-identifiers and one occupation (or "
        f"salary class), of 5 % of all combinations; α = {ALPHA}. Texts of Adult are numbered. "
        "Estimates are scored, not bounds. Greedy groups use the estimate of the paper, the "
        "disjoint cover uses the weighted one, and generalization (Mondrian under the same β) uses "
        "shares of overlap."
    ),
    data=("occupations", "census", "census-salaries"),
    full=CountScale(2000, 12, (0.2, 0.34, 0.5)),
    quick=CountScale(300, 3, (0.34,)),
    measure=measure,
    figures=(Figure(ERROR, "β", Y_AXIS),),
    claims=tuple(
        claim for data in ("occupations", "census", "census-salaries") for claim in _claims(data)
    ),
)
