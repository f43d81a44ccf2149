"""Values spread otherwise than in the source: what distance from it costs."""

from collections.abc import Iterator
from typing import Any

from sfumato.tasks.experiments.data.inputs import Inputs
from sfumato.tasks.experiments.data.losses import VALUES, uniform_losses, zipf_losses
from sfumato.tasks.experiments.distribution.setting import (
    ERROR,
    QI_SA,
    SA_ONLY,
    WIDTH,
    SpreadScale,
    error_at,
    spread,
)
from sfumato.tasks.experiments.protocol.claim_tests import Trend
from sfumato.tasks.experiments.protocol.claims import Claim
from sfumato.tasks.experiments.protocol.experiment import Experiment, Figure
from sfumato.tasks.experiments.protocol.points import Point
from sfumato.tasks.microdata.table import Microdata

_SPAN = 50
_SOURCE = 0.1  # Zipf's exponent of the source


def measure_normal(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """A uniform source spread as a normal distribution, the narrower the larger r."""
    people = uniform_losses(scale.rows, seed)
    length = int(VALUES[-1] - VALUES[0])
    for r in scale.levels:
        variance = int((length / r) ** 2)
        target = {"normal": {"mean": int(VALUES.mean()), "variance": variance}}
        yield from _points("uniform", people, r, target, scale, inputs, seed)


def measure_zipf(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """A source that follows Zipf's law spread by other exponents."""
    people = zipf_losses(scale.rows, seed, _SOURCE)
    for s in scale.levels:
        yield from _points("zipf", people, s, {"zipf": f"{s:g}"}, scale, inputs, seed)


def _points(
    data: str,
    people: Microdata,
    level: float,
    target: Any,
    scale: SpreadScale,
    inputs: Inputs,
    seed: int,
) -> Iterator[Point]:
    for way in (SA_ONLY, QI_SA):
        method = spread(people, way, target, form={"denominator": 16})
        error = error_at(people, method, _SPAN, scale.questions, inputs, seed)
        yield Point(data, way, level, ERROR, error)


def _rising(data: str, what: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(f"The error of {way} rises with {what}", data, Trend(ERROR, way, rises=True))
        for way in (SA_ONLY, QI_SA)
    )


NORMAL = Experiment(
    name="normal-target",
    paper="distribution",
    shows="Figure: error by r, the target being normal with a variance of range/r",
    title="A normal target for a uniform source",
    setting=(
        f"Averages over windows of {_SPAN} years. The losses are uniform, the target is normal "
        "with a standard deviation of the range divided by r (of the paper's variance of range/r "
        "hardly a value would be left)."
    ),
    data=("uniform",),
    full=SpreadScale(3000, 12, (1, 2, 4, 8, 16)),
    quick=SpreadScale(300, 4, (2, 8)),
    measure=measure_normal,
    figures=(Figure(ERROR, "r", WIDTH),),
    claims=_rising("uniform", "r, as the target becomes narrower"),
)
ZIPF = Experiment(
    name="zipf-target",
    paper="distribution",
    shows="Figure: error by the exponent of a Zipf target",
    title="A Zipf target for a Zipf source",
    setting=(
        f"Averages over windows of {_SPAN} years. The losses follow Zipf's law with exponent "
        f"{_SOURCE:g}, the target another exponent."
    ),
    data=("zipf",),
    full=SpreadScale(3000, 12, (0.1, 0.3, 0.5, 0.8, 1.2)),
    quick=SpreadScale(300, 4, (0.1, 1.2)),
    measure=measure_zipf,
    figures=(Figure(ERROR, "exponent of the target", WIDTH),),
    claims=_rising("zipf", "the distance of the exponents"),
)
