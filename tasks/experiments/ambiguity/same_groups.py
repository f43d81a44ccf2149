"""Theorem 6.1 by its own construction: the same groups, by boxes or with each value shown."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.ambiguity.association import ADULT_KNOWN
from sfumato.tasks.experiments.ambiguity.setting import (
    ATTRIBUTES,
    GENERALIZED,
    RANGES_ERROR,
    SELECTIVITY,
    WORKLOADS,
    CountScale,
    CountWorkload,
    ask_cells,
    ask_ranges,
    figures,
    mondrian_boxes,
)
from sfumato.tasks.experiments.shared.adult import complete_people
from sfumato.tasks.experiments.shared.candidates import partition_by
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, EverywhereBelow, Never
from sfumato.tasks.experiments.shared.estimates import CountedGroups
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point

_AMBIGUOUS = "values by themselves"
_DATA = ("occupations", "census")
_ROUNDING = 1e-9  # relative errors that differ by less are equal


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean errors of both forms of Mondrian's groups, and how many queries get worse."""
    adults = complete_people(inputs, ADULT_KNOWN, "occupation", scale.rows, seed, numbered=True)
    for data, people in (("occupations", adults), ("census", census_people(scale.rows, seed))):
        ranges = ask_ranges(people, ATTRIBUTES, SELECTIVITY, scale, seed)
        workloads = (ranges, ask_cells(people, scale, seed))
        for beta in scale.levels:
            method = mondrian_boxes(people, f"{beta:g}")
            groups = CountedGroups(people, partition_by(people, method, seed).group)
            for work in workloads:
                yield from _points(data, beta, groups, work)


def _points(data: str, beta: float, groups: CountedGroups, work: CountWorkload) -> Iterator[Point]:
    questions = work.questions, work.truths
    boxes = groups.errors(CountedGroups.by_boxes, *questions)
    values = groups.errors(CountedGroups.by_product, *questions)
    worse = int((values > boxes + _ROUNDING).sum())
    yield Point(data, GENERALIZED, beta, work.measure, float(boxes.mean()))
    yield Point(data, _AMBIGUOUS, beta, work.measure, float(values.mean()))
    yield Point(data, _AMBIGUOUS, beta, _queries(work.measure), len(boxes))
    yield Point(data, _AMBIGUOUS, beta, _worse(work.measure), worse)
    yield Point(data, _AMBIGUOUS, beta, _share(work.measure), 100 * float(np.mean(values > boxes)))


def _queries(measure: str) -> str:
    return measure.replace("error of", "queries:")


def _worse(measure: str) -> str:
    return measure.replace("error of", "queries with a larger error:")


def _share(measure: str) -> str:
    return measure.replace("error of", "% of queries with a larger error:")


def _claims(data: str, measure: str, words: str) -> tuple[Claim, ...]:
    return (
        Claim(
            f"In the same groups, ambiguity is more accurate {words}, on the average",
            data,
            Below(measure, _AMBIGUOUS, GENERALIZED),
            hindsight=True,
        ),
        Claim(
            f"In the same groups, no query {words} has a larger error",
            data,
            Never(_queries(measure), _worse(measure), _AMBIGUOUS),
            hindsight=True,
        ),
    )


def _at_every_beta(data: str) -> Claim:
    return Claim(
        "In the same groups, ambiguity is more accurate on ranges at every β",
        data,
        EverywhereBelow(RANGES_ERROR, _AMBIGUOUS, GENERALIZED),
        hindsight=True,
    )


EXPERIMENT = Experiment(
    name="same-groups",
    paper="ambiguity",
    shows="Theorem 6.1: ambiguity of the groups of a generalization",
    title="The same groups, shown in two ways",
    setting=(
        "The theorem takes the groups of a generalization and shows the values of each "
        "quasi-identifier by themselves. Groups are Mondrian's under the same β. Both estimates "
        "are the paper's: shares of the overlap with a box of whole numbers, and shares of the "
        "values that a group admits. The proof shows that one estimate is no smaller than the "
        "other, which does not make it nearer to the truth."
    ),
    ours="the three β, 2,000 people and 400 counts of each workload",
    data=_DATA,
    full=CountScale(2000, 400, (0.2, 0.34, 0.5)),
    quick=CountScale(300, 10, (0.34,)),
    measure=measure,
    figures=(
        *figures("β"),
        *(
            Figure(_share(asked_measure), "β", f"% of queries with a larger error {words}")
            for asked_measure, words in WORKLOADS.items()
        ),
    ),
    claims=(
        *map(_at_every_beta, _DATA),
        *(
            claim
            for asked_measure, words in WORKLOADS.items()
            for data in _DATA
            for claim in _claims(data, asked_measure, words)
        ),
    ),
)
