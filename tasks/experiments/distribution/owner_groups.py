"""The owner's groups: how many of them help, each spread as it is itself."""

from collections.abc import Iterator

from sfumato.tasks.experiments.data.inputs import Inputs
from sfumato.tasks.experiments.data.losses import OLDEST, YOUNGEST
from sfumato.tasks.experiments.distribution.setting import (
    ERROR,
    QI_SA,
    SA_ONLY,
    WIDTH,
    SpreadScale,
    error_at,
    spread,
    tables,
)
from sfumato.tasks.experiments.protocol.claim_tests import Trend
from sfumato.tasks.experiments.protocol.claims import Claim
from sfumato.tasks.experiments.protocol.experiment import Experiment, Figure
from sfumato.tasks.experiments.protocol.points import Point

_SPAN = 20


def measure(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """The mean error of averages by the number of bands of age."""
    for data, people in tables(scale, inputs, seed):
        for bands in scale.levels:
            for way in (SA_ONLY, QI_SA):
                method = spread(people, way, strata=_bands(int(bands)))
                error = error_at(people, method, _SPAN, scale.questions, inputs, seed)
                yield Point(data, way, bands, ERROR, error)


def _bands(number: int) -> tuple[dict[str, object], ...]:
    """Bands of age that are about as wide, where there is more than one."""
    width = (OLDEST + 1 - YOUNGEST) / number
    starts = [YOUNGEST + round(width * band) for band in range(1, number)]
    return ({"column": "age", "bands": starts},) if starts else ()


EXPERIMENT = Experiment(
    name="owner-groups",
    paper="distribution",
    shows="Figures: error with two and ten partitions of age",
    title="The owner's groups",
    setting=(
        f"Averages over windows of {_SPAN} years, with one, two and ten bands of age as the "
        "owner's groups; the target of each is its own distribution."
    ),
    data=("losses", "uncorrelated", "correlated"),
    full=SpreadScale(2000, 12, (1, 2, 10)),
    quick=SpreadScale(150, 2, (1, 10)),
    measure=measure,
    figures=(Figure(ERROR, "bands of age", WIDTH),),
    claims=tuple(
        Claim(
            f"More of the owner's groups make {way} more accurate",
            data,
            Trend(ERROR, way, rises=False),
        )
        for data in ("losses", "correlated")
        for way in (SA_ONLY, QI_SA)
    ),
)
