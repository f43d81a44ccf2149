"""Fake values: how many of them help."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.distribution.setting import (
    ERROR,
    LOSS,
    QI_SA,
    SA_ONLY,
    WIDTH,
    SpreadScale,
    error_at,
    spread,
    tables,
)
from sfumato.tasks.experiments.shared.claim_tests import BelowAtLevel
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.questions import numbers_of
from sfumato.tasks.microdata.table import Microdata

_SPAN = 20
_DELETED = 10  # one row in so many


def measure(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages, by the share of fakes; SA-only of what is left of a tenth.

    SA-only of the source itself needs no fakes: so one row in ten is deleted, and the target stays
    that of all rows.
    """
    for data, people in tables(scale, inputs, seed):
        rng = np.random.default_rng(seed)
        fewer = people.take(np.flatnonzero(rng.integers(_DELETED, size=people.rows)))
        whole = {"given": _lines(people, fewer)}
        for percent in scale.levels:
            form = {"fakes": f"{percent / 100:g}", "denominator": 16}
            for way, table, target in ((QI_SA, people, "source"), (SA_ONLY, fewer, whole)):
                method = spread(table, way, target, form=form)
                error = error_at(table, method, _SPAN, scale.questions, inputs, seed)
                yield Point(data, way, percent, ERROR, error)


def _lines(people: Microdata, remaining: Microdata) -> tuple[tuple[str, ...], ...]:
    """Return the distribution over all people of the losses that remain, as lines of a file."""
    values, counts = np.unique(numbers_of(people, LOSS), return_counts=True)
    is_remaining = np.isin(values, numbers_of(remaining, LOSS))
    pairs = zip(values[is_remaining].tolist(), counts[is_remaining].tolist(), strict=True)
    total = int(counts[is_remaining].sum())
    shares = ((str(value), f"{count / total:.15f}") for value, count in pairs)
    return (("value", "probability"), *shares)


def _claims(data: str) -> tuple[Claim, ...]:
    last = (
        Claim("Twenty percent of fakes still help", data, BelowAtLevel(ERROR, QI_SA, 20, 10))
        if data == "correlated"
        else Claim("Twenty percent of fakes hurt", data, BelowAtLevel(ERROR, QI_SA, 0, 20))
    )
    return (Claim("A few fakes help QI-SA", data, BelowAtLevel(ERROR, QI_SA, 5, 0)), last)


EXPERIMENT = Experiment(
    name="fakes",
    paper="distribution",
    shows="Figures: error by the share of fake values",
    title="Fake values",
    setting=(
        f"Averages over windows of {_SPAN} years, with fake values up to a share of a group's "
        "rows. As many of them are used as make the sum of ranges least, and no more. For SA-only, "
        "one row in ten was deleted while the target is that of all rows; otherwise it would need "
        "no fakes. Both have ratios in sixteenths."
    ),
    data=("losses", "uncorrelated", "correlated"),
    full=SpreadScale(1500, 12, (0, 5, 10, 20)),
    quick=SpreadScale(150, 2, (0, 5, 20)),
    measure=measure,
    figures=(Figure(ERROR, "% of fakes at most", WIDTH),),
    claims=(
        *(claim for data in ("losses", "uncorrelated", "correlated") for claim in _claims(data)),
        Claim(
            "A few fakes help SA-only where rows were deleted",
            "losses",
            BelowAtLevel(ERROR, SA_ONLY, 5, 0),
        ),
    ),
)
