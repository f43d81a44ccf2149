"""The time that redistribution takes, by rows."""

import time
from collections.abc import Iterator

from sfumato.tasks.experiments.distribution.setting import QI_SA, SA_ONLY, SpreadScale, spread
from sfumato.tasks.experiments.shared.candidates import try_method
from sfumato.tasks.experiments.shared.claim_tests import Slope
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.generated_tables import normal_losses

_SECONDS = "CPU seconds"


def measure(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the CPU seconds of a whole candidate, in both ways."""
    for rows in scale.levels:
        people = normal_losses(int(rows), seed)
        for way in (SA_ONLY, QI_SA):
            method = spread(people, way)
            try_method(people, method, inputs, seed)  # compiles
            started = time.process_time()
            try_method(people, method, inputs, seed)
            yield Point("uncorrelated", way, rows, _SECONDS, time.process_time() - started)


EXPERIMENT = Experiment(
    name="distribution-time",
    paper="distribution",
    shows="Figure: time by the size of the table",
    title="How long redistribution takes",
    setting="CPU seconds from the table in memory to a candidate that was written and judged.",
    ours="the four sizes",
    data=("uncorrelated",),
    full=SpreadScale(0, 0, (25_000, 50_000, 100_000, 200_000)),
    quick=SpreadScale(0, 0, (1_000, 10_000)),
    measure=measure,
    figures=(Figure(_SECONDS, "rows", "CPU seconds", log=True),),
    claims=tuple(
        Claim(
            f"The time of {way} is linear in the rows, the exponent between 0.7 and 1.3",
            "uncorrelated",
            Slope(_SECONDS, way, least=0.7, most=1.3),
        )
        for way in (SA_ONLY, QI_SA)
    ),
    apart=True,
)
