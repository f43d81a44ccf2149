"""Losses that rise with age, more or less surely: the groups that gain by that, all permuted."""

from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.tasks.experiments.aggregate_queries.setting import (
    ERROR,
    LOSS,
    OBJECTIVES,
    PERMUTED,
    AskedLevels,
    diverse,
    full_domain,
    permuted_losses,
)
from sfumato.tasks.experiments.shared.adult import hierarchies_of, people_with_loss
from sfumato.tasks.experiments.shared.candidates import Method, scope, try_method
from sfumato.tasks.experiments.shared.claim_tests import Alike, Below, EverywhereBelow, Trend
from sfumato.tasks.experiments.shared.experiment import (
    Author,
    Claim,
    Experiment,
    Figure,
    Inputs,
    Point,
)
from sfumato.tasks.experiments.shared.generated_tables import with_correlated_loss
from sfumato.tasks.experiments.shared.questions import draw_windows, error_of_averages, numbers_of
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule

_KNOWN = ("age",)
_K, _E, _SPAN = 10, 200, 10
_FULL_DOMAIN, _SPANNING = "full-domain", "full-domain with the same k and e"
_FIRST, _LATER = (1, 10, 50), (100, 200, 400, 800)


def measure(scale: AskedLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages over ranges of age, by the noise's standard deviation."""
    adults, hierarchies = people_with_loss(inputs, _KNOWN), hierarchies_of(inputs, _KNOWN)
    for level in scale.levels:
        people = with_correlated_loss(adults, numbers_of(adults, "age"), seed, float(level))
        rng = np.random.default_rng(seed)
        windows = draw_windows(people, "age", _SPAN, scale.questions, rng)
        for series, method in _methods(people, hierarchies).items():
            trial = try_method(people, method, inputs, seed).require_kept()
            error = error_of_averages(trial, LOSS, windows)
            yield Point("generated-losses", series, level, ERROR, error)


def _methods(people: Microdata, hierarchies: dict[str, HierarchyRule]) -> dict[str, Method]:
    """Return the partitions, all of them with permuted losses."""
    promise = KEAnonymity(k=_K, e=Decimal(_E), **scope(people))
    form = {"method": PERMUTED}
    return {
        _FULL_DOMAIN: diverse(people, _K, PERMUTED, hierarchies),
        _SPANNING: Method((promise,), full_domain("height"), form, hierarchies),
        **{
            series: permuted_losses(people, _K, _E, objective)
            for series, objective in OBJECTIVES.items()
        },
    }


def _course(series: str, words: str, author: Author) -> tuple[Claim, ...]:
    """Return the claims that the error of generalized groups falls at first, and rises later."""
    return (
        Claim(
            f"The error of {words} falls at first as noise grows",
            "generated-losses",
            Trend(ERROR, series, rises=False, levels=_FIRST),
            by=author,
            hindsight=True,
        ),
        Claim(
            f"The error of {words} rises later",
            "generated-losses",
            Trend(ERROR, series, rises=True, levels=_LATER),
            by=author,
            hindsight=True,
        ),
    )


EXPERIMENT = Experiment(
    name="correlation",
    paper="aggregate-queries",
    shows="Figure: error by the variance of the noise on a loss that rises with age",
    title="Losses that rise with age",
    setting=(
        "The generated loss of people rises with age, with normal noise of some standard deviation "
        f"around it. Queries average it over windows of {_SPAN} years. Only age is known, and all "
        f"losses are permuted. Groups have {_K} distinct losses: those of full-domain "
        f"generalization whatever they span, the others {_E} or more. The second full-domain "
        "partition spans as much."
    ),
    ours=(
        "k and e, the rise of 30 a year, the deviations, 25 windows of each, and the full-domain "
        "partition with the same e"
    ),
    data=("generated-losses",),
    full=AskedLevels((*_FIRST, *_LATER), 25),
    quick=AskedLevels((10, 100, 800), 3),
    measure=measure,
    figures=(Figure(ERROR, "standard deviation", "width of the bounds by the truth", log=True),),
    claims=(
        Claim(
            "The least sum is better than random groups, whatever the noise",
            "generated-losses",
            EverywhereBelow(ERROR, "least sum", "random"),
        ),
        Claim(
            "The least sum is better than the groups of generalization",
            "generated-losses",
            Below(ERROR, "least sum", _FULL_DOMAIN),
            hindsight=True,
        ),
        Claim(
            "Random groups do not care about the noise, within a half",
            "generated-losses",
            Alike(ERROR, "random", "random", within=1.5),
        ),
        *_course(_FULL_DOMAIN, "the groups of generalization", "paper"),
        Claim(
            "The least sum is better than generalization with the same k and e",
            "generated-losses",
            Below(ERROR, "least sum", _SPANNING),
            by="project",
            hindsight=True,
        ),
        *_course(_SPANNING, "generalization with the same k and e", "project"),
    ),
)
