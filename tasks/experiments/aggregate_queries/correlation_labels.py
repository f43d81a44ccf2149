"""Losses that rise with age, more or less surely: permuted losses beside labels."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.aggregate_queries.setting import (
    ERROR,
    GENERALIZED,
    LOSS,
    OBJECTIVES,
    AskedLevels,
    diverse,
    permuted_losses,
)
from sfumato.tasks.experiments.shared.adult import hierarchies_of, people_with_loss
from sfumato.tasks.experiments.shared.candidates import try_method
from sfumato.tasks.experiments.shared.claim_tests import Alike, Below, EverywhereBelow
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.generated_tables import with_correlated_loss
from sfumato.tasks.experiments.shared.questions import draw_windows, error_of_averages, numbers_of

_KNOWN = ("age", "race", "sex")
_K, _E, _SPAN = 5, 200, 10


def measure(scale: AskedLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages over ranges of age, by the noise's standard deviation."""
    adults, hierarchies = people_with_loss(inputs, _KNOWN), hierarchies_of(inputs, _KNOWN)
    for level in scale.levels:
        people = with_correlated_loss(adults, numbers_of(adults, "age"), seed, float(level))
        rng = np.random.default_rng(seed)
        windows = draw_windows(people, "age", _SPAN, scale.questions, rng)
        methods = {GENERALIZED: diverse(people, _K, GENERALIZED, hierarchies, "ncp")}
        for series, objective in OBJECTIVES.items():
            methods[series] = permuted_losses(people, _K, _E, objective)
        for series, method in methods.items():
            trial = try_method(people, method, inputs, seed).require_kept()
            error = error_of_averages(trial, LOSS, windows)
            yield Point("generated-losses", series, level, ERROR, error)


EXPERIMENT = Experiment(
    name="correlation-labels",
    paper="aggregate-queries",
    shows="No figure: the same losses, permuted in groups or behind labels",
    title="Losses that rise with age, behind labels",
    setting=(
        "The generated loss of people rises with age, with normal noise of some standard deviation "
        f"around it. Queries average it over windows of {_SPAN} years. Least sum, least largest "
        f"range and random are groups of {_K} distinct losses that span {_E} or more, permuted. "
        f"Full-domain generalization makes groups with {_K} distinct losses and shows labels "
        "of age, race and sex."
    ),
    ours="all of it: the paper's figure compares partitions, all of them permuted",
    data=("generated-losses",),
    full=AskedLevels((10, 50, 100, 200, 400, 800), 25),
    quick=AskedLevels((10, 100, 800), 3),
    measure=measure,
    figures=(Figure(ERROR, "standard deviation", "width of the bounds by the truth", log=True),),
    claims=(
        Claim(
            "The least sum is better than random groups, whatever the noise",
            "generated-losses",
            EverywhereBelow(ERROR, "least sum", "random"),
            by="project",
        ),
        Claim(
            "The least sum is better than generalization",
            "generated-losses",
            Below(ERROR, "least sum", GENERALIZED),
            by="project",
        ),
        Claim(
            "Random groups do not care about the noise, within a half",
            "generated-losses",
            Alike(ERROR, "random", "random", within=1.5),
            by="project",
        ),
    ),
)
