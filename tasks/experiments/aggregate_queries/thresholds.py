"""Cost of k and e in accuracy."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.aggregate_queries.setting import (
    LOSS,
    OBJECTIVES,
    AskedLevels,
    permuted_losses,
)
from sfumato.tasks.experiments.shared.adult import EIGHT, people_with_loss
from sfumato.tasks.experiments.shared.candidates import try_method
from sfumato.tasks.experiments.shared.claim_tests import Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_windows, error_of_averages

_SPAN, _K, _E = 10, 5, 500
_BY_K, _BY_E = "error by k", "error by e"
_SPANNING = {2: 100, 5: 250, 10: 500, 20: 1000, 40: 2000}
"""Each k that is tried, and the e that is tried beside it."""


def measure(scale: AskedLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages over ranges of age, by k at a fixed e, and vice versa."""
    people = people_with_loss(inputs, EIGHT)
    windows = draw_windows(people, "age", _SPAN, scale.questions, np.random.default_rng(seed))
    for level in scale.levels:
        for measured, value, k, e in (
            (_BY_K, level, level, _E),
            (_BY_E, _SPANNING[level], _K, _SPANNING[level]),
        ):
            for series, objective in OBJECTIVES.items():
                method = permuted_losses(people, k, e, objective)
                trial = try_method(people, method, inputs, seed).require_kept()
                yield Point(
                    "losses", series, value, measured, error_of_averages(trial, LOSS, windows)
                )


EXPERIMENT = Experiment(
    name="thresholds",
    paper="aggregate-queries",
    shows="Figures: error by k, and by e",
    title="What k and e cost",
    setting=(
        f"Averages over windows of {_SPAN} years of age. Losses are permuted in groups of k "
        f"distinct losses that span e or more. While k grows, e = {_E}; while e grows, k = {_K}."
    ),
    ours="the tried k and e, those that stay, windows of ten years, and 25 of each",
    data=("losses",),
    full=AskedLevels(tuple(_SPANNING), 25),
    quick=AskedLevels((2, 10), 3),
    measure=measure,
    figures=(
        Figure(_BY_K, "k", "width of the bounds by the truth"),
        Figure(_BY_E, "e", "width of the bounds by the truth"),
    ),
    claims=tuple(
        Claim(
            f"The error of {series.replace('least', 'the least')} grows with {letter}",
            "losses",
            Trend(measured, series, rises=True),
        )
        for letter, measured in (("k", _BY_K), ("e", _BY_E))
        for series in ("least sum", "random")
    ),
)
