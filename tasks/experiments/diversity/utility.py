"""What diversity costs beside k-anonymity: height, group size, discernibility, divergence."""

from collections.abc import Iterator
from contextlib import suppress

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.experiments.data.adult import complete_people, hierarchies_of
from sfumato.tasks.experiments.data.inputs import Inputs
from sfumato.tasks.experiments.diversity.setting import (
    ENTROPY,
    FIVE,
    K_ANONYMITY,
    RECURSIVE,
    PeopleScale,
    full_domain,
)
from sfumato.tasks.experiments.methods.candidates import partition_by
from sfumato.tasks.experiments.protocol.claim_tests import Alike, Below, Trend
from sfumato.tasks.experiments.protocol.claims import Claim
from sfumato.tasks.experiments.protocol.experiment import Experiment, Figure
from sfumato.tasks.experiments.protocol.points import Point

_METRICS = {
    "height": "height",
    "average group size by k": "average-class-size",
    "discernibility": "discernibility",
    "divergence": "kl",
}
"""What is measured, by the metrics that a spec has for it."""

_ALL = "all fully generalized"
_MODELS = (K_ANONYMITY, ENTROPY, RECURSIVE)


def measure(scale: PeopleScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """The least value of each metric that each model allows, by k or l."""
    hierarchies = hierarchies_of(inputs, FIVE)
    people = complete_people(inputs, FIVE, "occupation", scale.rows, seed)
    whole = full_domain(people, K_ANONYMITY, people.rows, hierarchies, "kl")
    nothing = float(partition_by(people, whole, seed).facts["cost"])
    for level in scale.levels:
        yield Point("occupations", _ALL, level, "divergence", nothing)
        for model in _MODELS:
            for measured, metric in _METRICS.items():
                method = full_domain(people, model, level, hierarchies, metric)
                with suppress(PromiseError):
                    cost = float(partition_by(people, method, seed).facts["cost"])
                    yield Point("occupations", model, level, measured, cost)


def _alike(measured: str, model: str) -> Claim:
    return Claim(
        f"By {measured}, {model} is close to k-anonymity, within a half, up to 6",
        "occupations",
        Alike(measured, K_ANONYMITY, model, within=1.5, levels=(2, 4, 6)),
    )


EXPERIMENT = Experiment(
    name="utility",
    paper="diversity",
    shows="Figures: minimum height, group size, discernibility and divergence by k and l",
    title="What diversity costs",
    setting=(
        "The least value of each metric over all full-domain generalizations of age, education, "
        "marital status, race and sex that keep a model, k = l, the occupation being sensitive; "
        "of people drawn from Adult. A model that the table cannot keep has no point."
    ),
    data=("occupations",),
    full=PeopleScale(15_000, (2, 4, 6, 8, 10)),
    quick=PeopleScale(1_000, (2, 6)),
    measure=measure,
    figures=tuple(
        Figure(measured, "k = l", measured, log=measured == "discernibility")
        for measured in _METRICS
    ),
    claims=(
        _alike("height", ENTROPY),
        _alike("height", RECURSIVE),
        _alike("discernibility", ENTROPY),
        _alike("discernibility", RECURSIVE),
        Claim(
            "Recursive diversity loses no more than entropy diversity, by divergence",
            "occupations",
            Below("divergence", RECURSIVE, ENTROPY),
        ),
        Claim(
            "The divergence of entropy diversity grows with l",
            "occupations",
            Trend("divergence", ENTROPY, rises=True),
        ),
        Claim(
            "Diversity is nearer to the source than a table without quasi-identifiers",
            "occupations",
            Below("divergence", ENTROPY, _ALL, levels=(2, 4, 6)),
        ),
    ),
)
