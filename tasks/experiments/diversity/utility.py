"""Cost of diversity beside k-anonymity: height, group size, discernibility, divergence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.experiments.diversity.homogeneity import orders
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
from sfumato.tasks.experiments.shared.statistics import LEAST_RATIO
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule

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


_Tables = Callable[[int, Inputs, int], tuple[Microdata, Mapping[str, HierarchyRule]]]


def adults(
    quasi_identifiers: Sequence[str], rows: int, inputs: Inputs, seed: int
) -> tuple[Microdata, Mapping[str, HierarchyRule]]:
    """Return people drawn from Adult, with their hierarchies."""
    people = complete_people(inputs, quasi_identifiers, "occupation", rows, seed)
    return people, hierarchies_of(inputs, quasi_identifiers)


def sub_sample(
    rows: int, inputs: Inputs, seed: int
) -> tuple[Microdata, Mapping[str, HierarchyRule]]:
    """Return a Bernoulli sub-sample of such people whose ages are less skewed."""
    people, hierarchies = adults(FIVE, rows, inputs, seed)
    return even_out_ages(people, seed), hierarchies


def measure(
    data: str, tables: _Tables, scale: PeopleScale, inputs: Inputs, seed: int
) -> Iterator[Point]:
    """Yield the least value of each metric that each model allows, by k or l."""
    people, hierarchies = tables(scale.rows, inputs, seed)
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


def even_out_ages(people: Microdata, seed: int) -> Microdata:
    """Draw each person independently, those in frequent bands of five years with less chance.

    The expected number of people in a band is at most that of the median band.
    """
    _, band, sizes = np.unique(
        numbers_of(people, "age") // _BAND, return_inverse=True, return_counts=True
    )
    chance = np.minimum(1, np.median(sizes) / sizes)[band]
    drawn_rows = np.flatnonzero(np.random.default_rng(seed).random(people.rows) < chance)
    return people.take(drawn_rows)


def _alike(data: str, measured: str, model: str) -> Claim:
    return Claim(
        f"By {measured}, {model} is close to k-anonymity, within a half, up to 6",
        data,
        Alike(measured, K_ANONYMITY, model, within=1.5, levels=(2, 4, 6)),
    )


def _close(data: str, *measures: str) -> tuple[Claim, ...]:
    return tuple(
        _alike(data, measured, model) for measured in measures for model in (ENTROPY, RECURSIVE)
    )


def _claims(data: str) -> tuple[Claim, ...]:
    return (
        *_close(data, "height", "discernibility"),
        Claim(
            "Recursive diversity loses no more than entropy diversity, by divergence",
            data,
            Below("divergence", RECURSIVE, ENTROPY, factor=1 / LEAST_RATIO),
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
    ours="the five quasi-identifiers, 15,000 people, and k = l from 2 to 10",
    data=("occupations",),
    full=_FULL,
    quick=_QUICK,
    measure=partial(measure, "occupations", partial(adults, FIVE)),
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
    ours="15,000 people, and k = l from 2 to 10",
    measure=partial(measure, "occupations", partial(adults, EIGHT)),
)
EVENED_OUT = replace(
    EXPERIMENT,
    name="utility-sub-sample",
    shows="Figure: discernibility on a sub-sample with less skewed ages",
    title="What diversity costs where ages are less skewed",
    setting=(
        "As above with five quasi-identifiers, of a Bernoulli sub-sample. Each person is drawn "
        "independently. By the chances, no band of five years of age is expected to have more "
        "people than the median band."
    ),
    ours="the chance of each age; five quasi-identifiers, 15,000 people, and k = l from 2 to 10",
    data=("occupations-by-age",),
    measure=partial(measure, "occupations-by-age", sub_sample),
    claims=_close("occupations-by-age", "discernibility"),
)
LANDS_END = replace(
    EXPERIMENT,
    name="utility-lands-end",
    shows="Figures: the same of Lands End",
    title="What diversity costs orders",
    setting=(
        "The same for orders of the substitute for Lands End. Their cost is sensitive; zip code, "
        "date, gender, style and price are known."
    ),
    ours="the five known columns, 15,000 orders, all frequencies, and k = l from 2 to 10",
    data=("lands-end",),
    measure=partial(measure, "lands-end", orders),
    claims=_close("lands-end", "height", "discernibility"),
)
