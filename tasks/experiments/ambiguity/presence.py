"""Presence of people by all groups that cover them: the paper takes each group by itself."""

from collections.abc import Iterator

from sfumato.tasks.experiments.ambiguity.setting import (
    ALPHA,
    COVER,
    GREEDY,
    CountScale,
    cover,
    greedy,
)
from sfumato.tasks.experiments.shared.candidates import try_method
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.claim_tests import Never, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.stages.evaluate import exposures

_SHARE, _PEOPLE, _ABOVE = "% of people above α", "people", "people above α"
_BETA = "0.34"


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the share of people who are more present than α by all groups that cover them."""
    for rows in scale.levels:
        people = census_people(int(rows), seed)
        methods = {GREEDY: greedy(people, ALPHA, _BETA), COVER: cover(people, ALPHA, _BETA)}
        for series, method in methods.items():
            trial = try_method(people, method, inputs, seed).require_kept()
            (seen,) = exposures(trial.release, trial.represented)
            share = seen["rows_above_alpha"]["combined_or"]
            yield Point("census", series, rows, _SHARE, 100 * share)
            yield Point("census", series, rows, _PEOPLE, trial.represented.rows)
            yield Point("census", series, rows, _ABOVE, round(share * trial.represented.rows))


EXPERIMENT = Experiment(
    name="presence",
    paper="ambiguity",
    shows="Theorem 5.1: presence in a release",
    title="Presence by all groups together",
    setting=(
        "The paper bounds the presence of a person in one group that covers them. If several "
        "groups cover a person's combination of values, the person may be in any of them. The plot "
        f"shows the share of people for whom all of these groups together exceed α = {ALPHA}. Each "
        f"group shows the person or not, independently of the others; β = {_BETA}."
    ),
    ours="β and the sizes of the tables",
    data=("census",),
    full=CountScale(0, 0, (500, 1000, 2000)),
    quick=CountScale(0, 0, (300, 600)),
    measure=measure,
    figures=(Figure(_SHARE, "rows", "% of people above α"),),
    claims=(
        Claim(
            "No person is more present than α in the groups of the paper",
            "census",
            Never(_PEOPLE, _ABOVE, GREEDY),
        ),
        Claim(
            "More people are more present than α as the table grows",
            "census",
            Trend(_SHARE, GREEDY, rises=True),
            by="project",
        ),
        Claim(
            "No person is more present than α in a disjoint cover",
            "census",
            Never(_PEOPLE, _ABOVE, COVER),
            by="project",
        ),
    ),
)
