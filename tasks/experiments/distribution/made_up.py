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


def _claims(data: str, way: str) -> tuple[Claim, ...]:
    """Return the claims on a few fakes and on twenty percent.

    QI-SA without fakes is the reference of many. SA-only needs some fakes where rows were deleted:
    there twenty percent are compared with five.
    """
    few = Claim(f"A few fakes help {way}", data, BelowAtLevel(ERROR, way, 5, 0))
    reference = 0 if way == QI_SA else 5
    if data == "correlated":
        reference = 10 if way == QI_SA else 5
        many = Claim(
            f"Twenty percent of fakes help {way} more than {reference} percent",
            data,
            BelowAtLevel(ERROR, way, 20, reference),
        )
    else:
        many = Claim(
            f"Twenty percent of fakes hurt {way}, compared with {reference or 'no'} "
            f"{'percent' if reference else 'fakes'}",
            data,
            BelowAtLevel(ERROR, way, reference, 20),
        )
    return few, many


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
    ours="windows of 20 years, and 12 of each",
    data=("losses", "uncorrelated", "correlated"),
    full=SpreadScale(10_000, 12, (0, 5, 10, 20)),
    quick=SpreadScale(150, 2, (0, 5, 20)),
    measure=measure,
    figures=(Figure(ERROR, "% of fakes at most", WIDTH),),
    claims=tuple(
        claim
        for way in (QI_SA, SA_ONLY)
        for data in ("losses", "uncorrelated", "correlated")
        for claim in _claims(data, way)
    ),
)
