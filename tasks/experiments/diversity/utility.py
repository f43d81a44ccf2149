"""Cost of diversity beside k-anonymity: height, group size, discernibility, divergence."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.experiments.diversity.setting import (
    EIGHT,
    ENTROPY,
    FIVE,
    K_ANONYMITY,
    RECURSIVE,
    PeopleScale,
    full_domain,
)
from sfumato.tasks.experiments.shared.adult import complete_people, hierarchies_of
from sfumato.tasks.experiments.shared.candidates import partition_by
from sfumato.tasks.experiments.shared.claim_tests import Alike, Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import numbers_of
from sfumato.tasks.microdata.table import Microdata

_METRICS = {
    "height": "height",
    "average group size by k": "average-class-size",
    "discernibility": "discernibility",
    "divergence": "kl",
}
"""What is measured, by the metrics that a spec has for it."""

_BAND = 5
_ALL = "all fully generalized"
_MODELS = (K_ANONYMITY, ENTROPY, RECURSIVE)


def measure(
    data: str,
    quasi_identifiers: Sequence[str],
    draw: Callable[[Microdata, int], Microdata],
    scale: PeopleScale,
    inputs: Inputs,
    seed: int,
) -> Iterator[Point]:
    """Yield the least value of each metric that each model allows, by k or l."""
    hierarchies = hierarchies_of(inputs, quasi_identifiers)
    people = draw(complete_people(inputs, quasi_identifiers, "occupation", scale.rows, seed), seed)
    whole = full_domain(people, K_ANONYMITY, people.rows, hierarchies, "kl")
    nothing = float(partition_by(people, whole, seed).facts["cost"])
    for level in scale.levels:
        yield Point(data, _ALL, level, "divergence", nothing)
        for model in _MODELS:
            for measured, metric in _METRICS.items():
                method = full_domain(people, model, level, hierarchies, metric)
                with suppress(PromiseError):
                    cost = float(partition_by(people, method, seed).facts["cost"])
                    yield Point(data, model, level, measured, cost)


def everyone(people: Microdata, _seed: int) -> Microdata:
    """Return all people."""
    return people


def even_out_ages(people: Microdata, seed: int) -> Microdata:
    """Return at most as many people of each band of five years as the median band has."""
    band = numbers_of(people, "age") // _BAND
    bands, sizes = np.unique(band, return_counts=True)
    order = np.random.default_rng(seed).permutation(people.rows)
    chosen = [order[band[order] == number][: int(np.median(sizes))] for number in bands]
    return people.take(np.sort(np.concatenate(chosen)))


def _alike(data: str, measured: str, model: str) -> Claim:
    return Claim(
        f"By {measured}, {model} is close to k-anonymity, within a half, up to 6",
        data,
        Alike(measured, K_ANONYMITY, model, within=1.5, levels=(2, 4, 6)),
    )


def _claims(data: str) -> tuple[Claim, ...]:
    return (
        _alike(data, "height", ENTROPY),
        _alike(data, "height", RECURSIVE),
        _alike(data, "discernibility", ENTROPY),
        _alike(data, "discernibility", RECURSIVE),
        Claim(
            "Recursive diversity loses no more than entropy diversity, by divergence",
            data,
            Below("divergence", RECURSIVE, ENTROPY),
        ),
        Claim(
            "The divergence of entropy diversity grows with l",
            data,
            Trend("divergence", ENTROPY, rises=True),
        ),
        Claim(
            "Diversity is nearer to the source than a table without quasi-identifiers",
            data,
            Below("divergence", ENTROPY, _ALL, levels=(2, 4, 6)),
        ),
    )


_FIGURES = tuple(
    Figure(measured, "k = l", measured, log=measured == "discernibility") for measured in _METRICS
)
_FULL = PeopleScale(15_000, (2, 4, 6, 8, 10))
_QUICK = PeopleScale(1_000, (2, 6))

EXPERIMENT = Experiment(
    name="utility",
    paper="diversity",
    shows="Figures: minimum height, group size, discernibility and divergence by k and l",
    title="What diversity costs",
    setting=(
        "The least value of each metric over all full-domain generalizations of age, education, "
        "marital status, race and sex that keep a model, with k = l. People are drawn from Adult, "
        "and the occupation is sensitive. A model that the table cannot keep has no point."
    ),
    data=("occupations",),
    full=_FULL,
    quick=_QUICK,
    measure=partial(measure, "occupations", FIVE, everyone),
    figures=_FIGURES,
    claims=_claims("occupations"),
)
EIGHT_KNOWN = replace(
    EXPERIMENT,
    name="utility-eight",
    shows="The same with eight quasi-identifiers",
    title="What diversity costs where more is known",
    setting=(
        "As above with eight quasi-identifiers: also the class of work, the country and the salary "
        "class are known."
    ),
    measure=partial(measure, "occupations", EIGHT, everyone),
)
EVENED_OUT = replace(
    EXPERIMENT,
    name="utility-sub-sample",
    shows="Figure: discernibility on a sub-sample with less skewed ages",
    title="What diversity costs where ages are less skewed",
    setting=(
        "As above with five quasi-identifiers, of a sub-sample: of each band of five years of age "
        "at most as many people as are in the median band."
    ),
    data=("occupations-by-age",),
    measure=partial(measure, "occupations-by-age", FIVE, even_out_ages),
    claims=_claims("occupations-by-age"),
)
