"""The time that groups take, by α, by β, by density and by rows."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.tasks.experiments.ambiguity.setting import ALPHA, greedy
from sfumato.tasks.experiments.shared.candidates import partition_by
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.claim_tests import Slope, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.microdata.table import Microdata

_GREEDY = "ambiguity (greedy)"
_BETA = "0.2"
_BY_ALPHA, _BY_BETA, _BY_DENSITY, _BY_ROWS = (
    f"seconds by {what}" for what in ("α", "β", "density", "rows")
)


@dataclass(frozen=True)
class TimedLevels:
    """Sizes of the tables that are timed, and the parameters that vary.

    Attributes:
        rows: the rows of the table whose α and β vary.
        dense_rows: the rows of the tables whose density varies.
        alphas: the bounds on presence.
        betas: the bounds on association.
        densities: the densities of sensitive values.
        sizes: the rows of the tables whose size varies.
    """

    rows: int
    dense_rows: int
    alphas: tuple[str, ...]
    betas: tuple[str, ...]
    densities: tuple[int, ...]
    sizes: tuple[int, ...]


def measure(scale: TimedLevels, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the CPU seconds of the greedy grouping."""
    people = census_people(scale.rows, seed)
    _seconds(people, ALPHA, _BETA, seed)  # compiles
    for alpha in scale.alphas:
        taken = _seconds(people, alpha, _BETA, seed)
        yield Point("census", _GREEDY, float(alpha), _BY_ALPHA, taken)
    for beta in scale.betas:
        taken = _seconds(people, ALPHA, beta, seed)
        yield Point("census", _GREEDY, float(beta), _BY_BETA, taken)
    for density in scale.densities:
        dense = census_people(scale.dense_rows, seed, density=density)
        yield Point("census", _GREEDY, density, _BY_DENSITY, _seconds(dense, ALPHA, _BETA, seed))
    for rows in scale.sizes:
        taken = _seconds(census_people(rows, seed), ALPHA, _BETA, seed)
        yield Point("census", _GREEDY, rows, _BY_ROWS, taken)


def _seconds(people: Microdata, alpha: str, beta: str, seed: int) -> float:
    started = time.process_time()
    partition_by(people, greedy(people, alpha, beta), seed)
    return time.process_time() - started


EXPERIMENT = Experiment(
    name="ambiguity-time",
    paper="ambiguity",
    shows="Figures: time by α and β, by density, and by the size of the table",
    title="How long grouping takes",
    setting=(
        "CPU seconds of the greedy grouping of the substitute census, with α = "
        f"{ALPHA} and β = {_BETA} where they do not vary. There are 500,000 people where α or β "
        "varies and 100,000 where the density varies, as in the paper."
    ),
    ours="the tried α, β and sizes, and the reading of density",
    data=("census",),
    full=TimedLevels(
        500_000,
        100_000,
        ("0.02", "0.05", "0.1"),
        ("0.2", "0.34", "0.5"),
        (1, 2, 3, 4, 5),
        (20_000, 100_000, 500_000),
    ),
    quick=TimedLevels(800, 800, ("0.05", "0.1"), ("0.2", "0.5"), (1, 5), (400, 800)),
    measure=measure,
    figures=(
        Figure(_BY_ALPHA, "α", "CPU seconds"),
        Figure(_BY_BETA, "β", "CPU seconds"),
        Figure(_BY_DENSITY, "density", "CPU seconds"),
        Figure(_BY_ROWS, "rows", "CPU seconds", log=True),
    ),
    claims=(
        Claim("Sparser tables are faster", "census", Trend(_BY_DENSITY, _GREEDY, rises=True)),
        Claim(
            "Time falls as α is raised",
            "census",
            Trend(_BY_ALPHA, _GREEDY, rises=False),
            by="project",
        ),
        Claim(
            "Time grows no faster than the square of the rows",
            "census",
            Slope(_BY_ROWS, _GREEDY, least=0.5, most=2.0),
            by="project",
        ),
    ),
    apart=True,
)
