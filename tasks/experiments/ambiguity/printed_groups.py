"""Cost of the errors in Algorithms 2, 3 and 4: groups as printed beside groups as meant."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.ambiguity.setting import (
    Y_AXIS,
    CountScale,
    greedy,
)
from sfumato.tasks.experiments.as_printed import printed_groups
from sfumato.tasks.experiments.shared.candidates import partition_by, try_method
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.claim_tests import Below, Never
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import draw_counts, error_of_counts
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Partition

_PRINTED, _MEANT = "as printed", "as meant"
_ERROR = "error of counts"
_SIZE, _LEFT, _GROUPS, _BROKEN = "rows in a group", "% of rows left out", "groups", "broken groups"
_BETA = 0.2


def measure(scale: CountScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Sizes, rows left out, and errors of counts, by α."""
    people, rng = census_people(scale.rows, seed), np.random.default_rng(seed)
    questions = draw_counts(people, 3, 0.05, scale.questions, rng)
    for alpha in scale.levels:
        method = greedy(people, f"{alpha:g}", f"{_BETA:g}")
        made = {
            _PRINTED: Partition(_as_printed(people, alpha, seed)),
            _MEANT: partition_by(people, method, seed),
        }
        for series, groups in made.items():
            left_out = 100 * groups.suppressed / people.rows
            yield Point("census", series, alpha, _LEFT, left_out)
            if groups.suppressed == people.rows:
                continue
            trial = try_method(people, method, inputs, seed, groups)
            ((_, verdict),) = trial.assessment.verdicts
            size = float((people.rows - groups.suppressed) / verdict.groups)
            error = error_of_counts(trial, questions, people, "uniform")
            yield Point("census", series, alpha, _SIZE, size)
            yield Point("census", series, alpha, _ERROR, error)
            yield Point("census", series, alpha, _GROUPS, verdict.groups)
            yield Point("census", series, alpha, _BROKEN, verdict.failing)


def _as_printed(people: Microdata, alpha: float, seed: int) -> np.ndarray:
    quasi_identifiers = people.with_roles("quasi-identifier")
    cells = np.column_stack([column.codes for column in quasi_identifiers])
    (sensitive,) = people.with_roles("sensitive")
    rng = np.random.default_rng(seed)
    return printed_groups(sensitive.codes.astype(np.int64), cells, alpha, _BETA, rng).group


EXPERIMENT = Experiment(
    name="printed-groups",
    paper="ambiguity",
    shows="Algorithms 2, 3 and 4 as printed",
    title="Groups that cover little instead of much",
    setting=(
        "As printed, a group takes the row that covers the fewest new values, begins with one row "
        "too many, and counts sensitive values where it should count rows. As meant, it takes the "
        f"row that multiplies its combinations the most. β = {_BETA:g}."
    ),
    ours="all of it",
    data=("census",),
    full=CountScale(1000, 10, (0.02, 0.05, 0.1)),
    quick=CountScale(300, 5, (0.1,)),
    measure=measure,
    figures=(
        Figure(_SIZE, "α", "rows in a group"),
        Figure(_LEFT, "α", "% of rows left out"),
        Figure(_ERROR, "α", Y_AXIS),
    ),
    claims=(
        Claim(
            "Groups as printed are larger than groups as meant",
            "census",
            Below(_SIZE, _MEANT, _PRINTED),
            by="project",
        ),
        Claim(
            "Groups as printed leave out more rows",
            "census",
            Below(_LEFT, _MEANT, _PRINTED),
            by="project",
        ),
        Claim(
            "Counts are less accurate on groups as printed",
            "census",
            Below(_ERROR, _MEANT, _PRINTED),
            by="project",
        ),
        Claim("Groups as printed keep α and β", "census", Never(_GROUPS, _BROKEN, _PRINTED)),
    ),
)
