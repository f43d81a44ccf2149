"""Experiments on targets that differ from the source: their distance costs accuracy.

The target is the distribution by which a release spreads the values of each group. Here it is not
the distribution of the source, and the error of averages over windows of age is measured.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.tasks.experiments.distribution.setting import (
    ERROR,
    QI_SA,
    SA_ONLY,
    WIDTH,
    SpreadScale,
    error_at,
    spread,
)
from sfumato.tasks.experiments.shared.claim_tests import Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.generated_tables import (
    VALUES,
    uniform_losses,
    with_losses_by_age,
    zipf_losses,
)
from sfumato.tasks.microdata.table import Microdata

_SPAN = 50  # years of age in a window
_SOURCE = 0.1  # Zipf's exponent of the source
_AGAIN = "Once losses have nothing to do with age, once the same losses rise with it."


def measure_normal(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the errors for a uniform source whose values are spread by a normal distribution.

    Levels are r: the standard deviation is the range of the values divided by r.
    """
    length = int(VALUES[-1] - VALUES[0])
    targets = {
        r: {"normal": {"mean": int(VALUES.mean()), "variance": int((length / r) ** 2)}}
        for r in scale.levels
    }
    yield from _both("uniform", uniform_losses(scale.rows, seed), targets, scale, inputs, seed)


def measure_zipf(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the errors for a source by Zipf's law whose values are spread by other exponents.

    Levels are the exponents of the target.
    """
    targets = {s: {"zipf": f"{s:g}"} for s in scale.levels}
    people = zipf_losses(scale.rows, seed, _SOURCE)
    yield from _both("zipf", people, targets, scale, inputs, seed)


def _both(
    data: str,
    people: Microdata,
    targets: Mapping[float, Any],
    scale: SpreadScale,
    inputs: Inputs,
    seed: int,
) -> Iterator[Point]:
    """Yield the errors for losses that are independent of age, and for the same that rise with it.

    `data` names the data of `people`, and `targets` has the target of each level.
    """
    rising = with_losses_by_age(people, seed)
    for named, table in ((data, people), (f"{data}-rising", rising)):
        for level, target in targets.items():
            for way in (SA_ONLY, QI_SA):
                method = spread(table, way, target, form={"denominator": 16})
                error = error_at(table, method, _SPAN, scale.questions, inputs, seed)
                yield Point(named, way, level, ERROR, error)


def _rising(data: str, what: str) -> tuple[Claim, ...]:
    """Return the claims that errors rise with the level, which is `what` in words."""
    return tuple(
        Claim(f"The error of {way} rises with {what}", key, Trend(ERROR, way, rises=True))
        for key in (data, f"{data}-rising")
        for way in (SA_ONLY, QI_SA)
    )


NORMAL = Experiment(
    name="normal-target",
    paper="distribution",
    shows="Figures: error by r, the target being normal with a variance of range/r",
    title="A normal target for a uniform source",
    setting=(
        f"Averages over windows of {_SPAN} years. The losses are uniform, and the target is normal "
        "with a standard deviation of the range divided by r. With the paper's variance of range/r "
        f"hardly any value would remain. {_AGAIN}"
    ),
    ours="the tried r, a standard deviation in place of the variance, and 12 windows of each",
    data=("uniform", "uniform-rising"),
    full=SpreadScale(10_000, 12, (1, 2, 4, 8, 16)),
    quick=SpreadScale(300, 4, (2, 8)),
    measure=measure_normal,
    figures=(Figure(ERROR, "r", WIDTH),),
    claims=_rising("uniform", "r, as the target becomes narrower"),
)
ZIPF = Experiment(
    name="zipf-target",
    paper="distribution",
    shows="Figures: error by the exponent of a Zipf target",
    title="A Zipf target for a Zipf source",
    setting=(
        f"Averages over windows of {_SPAN} years. The losses follow Zipf's law with exponent "
        f"{_SOURCE:g}, the target another exponent. {_AGAIN}"
    ),
    ours="the tried exponents, and 12 windows of each",
    data=("zipf", "zipf-rising"),
    full=SpreadScale(10_000, 12, (0.1, 0.3, 0.5, 0.8, 1.2)),
    quick=SpreadScale(300, 4, (0.1, 1.2)),
    measure=measure_zipf,
    figures=(Figure(ERROR, "exponent of the target", WIDTH),),
    claims=_rising("zipf", "the distance of the exponents"),
)
