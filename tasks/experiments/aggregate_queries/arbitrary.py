"""Averages over arbitrary selections: shown by labels, or permuted in the same groups."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.aggregate_queries.setting import (
    ERROR,
    GENERALIZED,
    PERMUTED,
    AskedLevels,
    diverse,
    values_of,
)
from sfumato.tasks.experiments.shared.adult import EIGHT, hierarchies_of, people_with_loss
from sfumato.tasks.experiments.shared.claim_tests import Alike, Below, EverywhereBelow, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import pick_rows

_L = 5


def measure(scale: AskedLevels, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages over random sets of rows, in both forms."""
    people = people_with_loss(inputs, EIGHT)
    method = diverse(people, _L, GENERALIZED, hierarchies_of(inputs, EIGHT))
    rows, values = values_of(people, method, seed)
    rng = np.random.default_rng(seed)
    for level in scale.levels:
        picked = pick_rows(rows.rows, level, scale.questions, rng)
        permuted_error = np.mean(
            [values.error_where_rows_are_shown(selection) for selection in picked]
        )
        generalized_error = np.mean(
            [values.error_where_labels_are_shown(selection) for selection in picked]
        )
        yield Point("losses", PERMUTED, level, ERROR, float(permuted_error))
        yield Point("losses", GENERALIZED, level, ERROR, float(generalized_error))


EXPERIMENT = Experiment(
    name="arbitrary-averages",
    paper="aggregate-queries",
    shows="Figure: error of arbitrary queries by the number of tuples selected",
    title="Averages over arbitrary selections",
    setting=(
        "Random sets of rows are selected and the loss is averaged. The groups are those of "
        "full-domain generalization of eight quasi-identifiers with five distinct losses in each; "
        "they are shown once by labels and once with permuted losses. By labels a group is known "
        "to be meant only if all of its rows are selected."
    ),
    ours="five distinct losses, the numbers of rows, and 100 selections of each",
    data=("losses",),
    full=AskedLevels((20, 50, 100, 200, 400, 800), 100),
    quick=AskedLevels((20, 100, 400), 20),
    measure=measure,
    figures=(Figure(ERROR, "rows selected", "width of the bounds by the truth", log=True),),
    claims=(
        Claim(
            "Permuted answers are tighter than generalized ones at every number of rows",
            "losses",
            EverywhereBelow(ERROR, PERMUTED, GENERALIZED),
        ),
        Claim(
            "The bounds of generalized answers are at least twice as wide",
            "losses",
            Below(ERROR, PERMUTED, GENERALIZED, factor=2),
        ),
        Claim(
            "The error of permuted answers falls with the number of rows",
            "losses",
            Trend(ERROR, PERMUTED, rises=False),
        ),
        Claim(
            "The error of generalized answers stays flat, within a quarter",
            "losses",
            Alike(ERROR, GENERALIZED, GENERALIZED, within=1.25),
        ),
    ),
)
