"""Partitions compared: what is permuted in which groups, by arbitrary selections and by ranges."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.aggregate_queries.setting import (
    LOSS,
    OBJECTIVES,
    PERMUTED,
    AskedLevels,
    diverse,
    grouped_values,
    permuted_losses,
)
from sfumato.tasks.experiments.shared.adult import EIGHT, hierarchies_of, people_with_loss
from sfumato.tasks.experiments.shared.candidates import Method, partition_by, try_method
from sfumato.tasks.experiments.shared.claim_tests import Alike, Below
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_windows, error_of_averages, pick_rows
from sfumato.tasks.microdata.table import Microdata

_K, _E = 5, 500
_FULL_DOMAIN = "full-domain"
_SELECTED, _RANGES = "error of selections", "error of ranges"


def measure(scale: AskedLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean errors of averages that each partition gives, all of them permuted."""
    people = people_with_loss(inputs, EIGHT)
    for series, method in _methods(people, inputs).items():
        groups = partition_by(people, method, seed)
        trial = try_method(people, method, inputs, seed, groups).require_kept()
        rows, values = grouped_values(people, groups)
        rng = np.random.default_rng(seed)
        for level in scale.levels:
            picked = pick_rows(rows.rows, 10 * level, scale.questions, rng)
            selected = np.mean(
                [values.error_where_rows_are_shown(selection) for selection in picked]
            )
            yield Point("losses", series, 10 * level, _SELECTED, float(selected))
            windows = draw_windows(people, "age", level, scale.questions, rng)
            error = error_of_averages(trial, LOSS, windows)
            yield Point("losses", series, level, _RANGES, error)


def _methods(people: Microdata, inputs: Inputs) -> dict[str, Method]:
    labels = diverse(people, _K, PERMUTED, hierarchies_of(inputs, EIGHT))
    ours = {"least weighted sum": "weighted"}
    named = {**OBJECTIVES, **ours}
    ke = {name: permuted_losses(people, _K, _E, objective) for name, objective in named.items()}
    return {**ke, _FULL_DOMAIN: labels}


def _claims(measure: str, questions: str) -> tuple[Claim, ...]:
    return (
        Claim(
            f"Least sum is better than random groups on {questions}",
            "losses",
            Below(measure, "least sum", "random"),
        ),
        Claim(
            f"Least largest range is better than random groups on {questions}",
            "losses",
            Below(measure, "least largest", "random"),
        ),
        Claim(
            f"Least sum and least largest range are close, within a quarter, on {questions}",
            "losses",
            Alike(measure, "least sum", "least largest", within=1.25),
        ),
        *(
            Claim(
                f"{words} is better than the groups of generalization on {questions}",
                "losses",
                Below(measure, series, _FULL_DOMAIN),
                hindsight=True,
            )
            for series, words in (
                ("least sum", "Least sum"),
                ("least largest", "Least largest range"),
            )
        ),
    )


EXPERIMENT = Experiment(
    name="partitions",
    paper="aggregate-queries",
    shows="Figures: error by partitioning strategy, arbitrary queries and range queries",
    title="Which groups to permute in",
    setting=(
        "Losses are permuted in groups of five distinct losses that span 500 or more. The groups "
        "have the least sum of ranges, the least largest range, the least weighted sum (this "
        "project's own default), or are random. Full-domain generalization makes groups of five "
        "distinct losses, whatever they span. The paper's eight quasi-identifiers are known."
    ),
    ours="k = 5 and e = 500, the numbers of rows, the spans, and 40 questions of each",
    data=("losses",),
    full=AskedLevels((5, 10, 20, 40), 40),
    quick=AskedLevels((5, 40), 10),
    measure=measure,
    figures=(
        Figure(_SELECTED, "rows selected", "width of the bounds by the truth", log=True),
        Figure(_RANGES, "span of ages", "width of the bounds by the truth", log=True),
    ),
    claims=(
        *_claims(_SELECTED, "arbitrary selections"),
        Claim(
            "The groups of generalization are worse than random ones on arbitrary selections",
            "losses",
            Below(_SELECTED, "random", _FULL_DOMAIN),
        ),
        *_claims(_RANGES, "ranges"),
        Claim(
            "The weighted sum is better than the plain sum on ranges",
            "losses",
            Below(_RANGES, "least weighted sum", "least sum"),
            by="project",
        ),
    ),
)
