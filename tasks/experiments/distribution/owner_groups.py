"""The owner's groups: how many of them help, spread as they are or uniformly over their range."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from sfumato.tasks.experiments.distribution.setting import (
    ERROR,
    LOSS,
    QI_SA,
    SA_ONLY,
    WIDTH,
    SpreadScale,
    error_at,
    generated_tables,
    spread,
    tables,
)
from sfumato.tasks.experiments.shared.claim_tests import Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.generated_tables import OLDEST, YOUNGEST
from sfumato.tasks.experiments.shared.questions import numbers_of
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import with_strata
from sfumato.tasks.schema.hierarchy_rules import Bands

_SPAN = 20


def measure(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages by the number of bands, each spread as in the source."""
    for data, people in tables(scale, inputs, seed):
        yield from _points(data, people, lambda _: "source", {}, scale, inputs, seed)


def measure_ranges(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the errors where all values in the range of a band are to be equally frequent."""
    for data, people in generated_tables(scale, seed):
        target = partial(uniform_over_ranges, people)
        yield from _points(data, people, target, {"denominator": 16}, scale, inputs, seed)


def _points(
    data: str,
    people: Microdata,
    target: Callable[[tuple[Bands, ...]], Any],
    form: Mapping[str, Any],
    scale: SpreadScale,
    inputs: Inputs,
    seed: int,
) -> Iterator[Point]:
    for number in scale.levels:
        bands = _bands(int(number))
        for way in (SA_ONLY, QI_SA):
            method = spread(people, way, target(bands), bands, form)
            error = error_at(people, method, _SPAN, scale.questions, inputs, seed)
            yield Point(data, way, number, ERROR, error)


def _bands(number: int) -> tuple[Bands, ...]:
    """Return bands of age of about equal width; none if there is only one."""
    width = (OLDEST + 1 - YOUNGEST) / number
    starts = tuple(Decimal(YOUNGEST + round(width * band)) for band in range(1, number))
    return (Bands(column="age", bands=starts),) if starts else ()


def uniform_over_ranges(people: Microdata, bands: tuple[Bands, ...]) -> dict[str, Any]:
    """Return the target by which all losses in the range of a band are equally likely."""
    banded, names = with_strata(people, bands)
    losses = numbers_of(people, LOSS)
    band = numbers_of(banded, names[0]) if names else np.zeros(people.rows, dtype=np.int64)
    values = np.unique(losses)
    lines: list[tuple[str, ...]] = [(*names, "value", "probability")]
    for number in np.unique(band).tolist():
        own = losses[band == number]
        inside = values[(values >= own.min()) & (values <= own.max())].tolist()
        about = (str(number),) if names else ()
        lines += [(*about, str(value), f"{1 / len(inside):.15f}") for value in inside]
    return {"given": tuple(lines)}


def _more_groups(*data: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"More of the owner's groups make {way} more accurate",
            key,
            Trend(ERROR, way, rises=False),
        )
        for key in data
        for way in (SA_ONLY, QI_SA)
    )


EXPERIMENT = Experiment(
    name="owner-groups",
    paper="distribution",
    shows="Figures: error with two and ten partitions of age",
    title="The owner's groups",
    setting=(
        f"Averages over windows of {_SPAN} years, with one, two and ten bands of age as the "
        "owner's groups; the target of each is its own distribution."
    ),
    ours="windows of 20 years, 12 of each, and bands of equal width",
    data=("losses", "uncorrelated", "correlated"),
    full=SpreadScale(10_000, 12, (1, 2, 10)),
    quick=SpreadScale(150, 2, (1, 10)),
    measure=measure,
    figures=(Figure(ERROR, "bands of age", WIDTH),),
    claims=_more_groups("losses", "correlated"),
)
RANGES = Experiment(
    name="owner-ranges",
    paper="distribution",
    shows="Figures: error with two and ten partitions, each spread uniformly over its own range",
    title="The owner's groups, spread uniformly over their ranges",
    setting=(
        f"Averages over windows of {_SPAN} years, with one, two and ten bands of age as the "
        "owner's groups. In each, all losses from its least to its largest are equally frequent."
    ),
    ours="windows of 20 years, 12 of each, and bands of equal width",
    data=("uncorrelated", "correlated"),
    full=SpreadScale(10_000, 12, (1, 2, 10)),
    quick=SpreadScale(150, 2, (1, 10)),
    measure=measure_ranges,
    figures=(Figure(ERROR, "bands of age", WIDTH),),
    claims=_more_groups("uncorrelated", "correlated"),
)
