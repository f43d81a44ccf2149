"""Averages over ranges of age: shown by labels, or permuted in the same groups."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from sfumato.tasks.experiments.aggregate_queries.setting import (
    ERROR,
    GENERALIZED,
    LOSS,
    PERMUTED,
    AskedLevels,
    diverse,
)
from sfumato.tasks.experiments.shared.adult import EIGHT, hierarchies_of, people_with_loss
from sfumato.tasks.experiments.shared.candidates import partition_by, try_method
from sfumato.tasks.experiments.shared.claim_tests import Below, EverywhereBelow, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_windows, error_of_averages

_FULL = AskedLevels((5, 10, 20, 40), 40)
_QUICK = AskedLevels((5, 40), 10)
_FIGURES = (Figure(ERROR, "span of ages", "width of the bounds by the truth", log=True),)


def measure(
    data: str,
    quasi_identifiers: Sequence[str],
    distinct: int,
    scale: AskedLevels,
    inputs: Inputs,
    seed: int,
) -> Iterator[Point]:
    """Yield the mean error of averages over windows of age, in both forms on the same groups."""
    people = people_with_loss(inputs, quasi_identifiers)
    hierarchies = hierarchies_of(inputs, quasi_identifiers)
    labels = diverse(people, distinct, GENERALIZED, hierarchies)
    groups = partition_by(people, labels, seed)
    methods = {PERMUTED: diverse(people, distinct, PERMUTED, hierarchies), GENERALIZED: labels}
    for series, method in methods.items():
        trial = try_method(people, method, inputs, seed, groups).require_kept()
        rng = np.random.default_rng(seed)
        for span in scale.levels:
            windows = draw_windows(people, "age", span, scale.questions, rng)
            yield Point(data, series, span, ERROR, error_of_averages(trial, LOSS, windows))


def _claims(data: str) -> tuple[Claim, ...]:
    return (
        Claim(
            "Permuted answers are tighter than generalized ones at every span",
            data,
            EverywhereBelow(ERROR, PERMUTED, GENERALIZED),
        ),
        Claim(
            "The bounds of generalized answers are at least twice as wide",
            data,
            Below(ERROR, PERMUTED, GENERALIZED, factor=2),
            by="project",
        ),
        Claim(
            "The error of generalized answers falls as spans grow",
            data,
            Trend(ERROR, GENERALIZED, rises=False),
        ),
    )


EIGHT_KNOWN = Experiment(
    name="range-averages",
    paper="aggregate-queries",
    shows="Figure: error of range queries on age by the span",
    title="Averages over ranges of age",
    setting=(
        "The loss is averaged over random windows of age. The paper's eight quasi-identifiers are "
        "known; the groups are those of full-domain generalization of least height with five "
        "distinct losses in each."
    ),
    ours="five distinct losses, the spans, 40 windows of each, and the metric of the partition",
    data=("losses",),
    full=_FULL,
    quick=_QUICK,
    measure=partial(measure, "losses", EIGHT, 5),
    figures=_FIGURES,
    claims=_claims("losses"),
)
AGE_ALONE = Experiment(
    name="range-averages-age-alone",
    paper="aggregate-queries",
    shows="Figure: the same with age as the only quasi-identifier",
    title="Averages over ranges of age, if only age is known",
    setting=(
        "As above, but only the age of people is known, and groups have ten distinct losses. With "
        "five, most ages would be shown as they are, and every answer would be exact."
    ),
    ours="ten distinct losses, the spans, and 40 windows of each",
    data=("losses-by-age",),
    full=_FULL,
    quick=_QUICK,
    measure=partial(measure, "losses-by-age", ("age",), 10),
    figures=_FIGURES,
    claims=_claims("losses-by-age"),
)
