"""Effect of the tree of subdomains on accuracy: two parts at each node, or three."""

from collections.abc import Iterator

from sfumato.tasks.experiments.distribution.setting import (
    ERROR,
    QI_SA,
    SPAN,
    WIDTH,
    SpreadScale,
    errors_at,
    spread,
)
from sfumato.tasks.experiments.shared.claim_tests import Below
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.experiments.shared.generated_tables import uniform_losses

_ARITIES = {"binary": 2, "ternary": 3}


def measure(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages by span, for both trees."""
    people = uniform_losses(scale.rows, seed)
    for series, arity in _ARITIES.items():
        method = spread(people, QI_SA, "uniform", form={"arity": arity})
        mean_errors = errors_at(people, method, scale.levels, scale.questions, inputs, seed)
        for span, error in zip(scale.levels, mean_errors, strict=True):
            yield Point("uniform", series, span, ERROR, error)


EXPERIMENT = Experiment(
    name="trees",
    paper="distribution",
    shows="Figure: error with binary and ternary hierarchies",
    title="Binary and ternary trees",
    setting=(
        "Averages over windows of age. Losses are uniform and spread uniformly, separately for "
        "each age (QI-SA), with a balanced tree of two or three parts at each node."
    ),
    ours="the spans, and 20 windows of each",
    data=("uniform",),
    full=SpreadScale(10_000, 20, (5, 10, 20, 40)),
    quick=SpreadScale(300, 4, (5, 40)),
    measure=measure,
    figures=(Figure(ERROR, SPAN, WIDTH),),
    claims=(
        Claim(
            "A binary tree gives a smaller error than a ternary one",
            "uniform",
            Below(ERROR, "binary", "ternary"),
        ),
    ),
)
