"""Values spread as they are in the source: the owner's groups whole, or by quasi-identifiers."""

from collections.abc import Iterator

from sfumato.tasks.experiments.distribution.setting import (
    ERROR,
    QI_SA,
    SA_ONLY,
    SPAN,
    WIDTH,
    SpreadScale,
    errors_at,
    spread,
    tables,
)
from sfumato.tasks.experiments.shared.claim_tests import Alike, Below, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point


def measure(scale: SpreadScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean error of averages by span, in both ways, on three tables."""
    for data, people in tables(scale, inputs, seed):
        for way in (SA_ONLY, QI_SA):
            method = spread(people, way)
            mean_errors = errors_at(people, method, scale.levels, scale.questions, inputs, seed)
            for span, error in zip(scale.levels, mean_errors, strict=True):
                yield Point(data, way, span, ERROR, error)


EXPERIMENT = Experiment(
    name="own-distribution",
    paper="distribution",
    shows="Figures: error by the range of the query, the target being the source",
    title="Spread as in the source",
    setting=(
        "Averages of the loss over windows of age. The target is the distribution of the source: "
        "SA-only is then a permutation of all losses, QI-SA spreads those of each age."
    ),
    ours="10,000 generated people where the paper has them, the spans, and 15 windows of each",
    data=("losses", "uncorrelated", "correlated"),
    full=SpreadScale(10_000, 15, (5, 10, 20, 40)),
    quick=SpreadScale(200, 3, (5, 40)),
    measure=measure,
    figures=(Figure(ERROR, SPAN, WIDTH),),
    claims=(
        *(
            Claim(
                "The error of SA-only falls as the range grows",
                data,
                Trend(ERROR, SA_ONLY, rises=False),
            )
            for data in ("losses", "uncorrelated", "correlated")
        ),
        Claim(
            "The error of QI-SA does not depend on the range, within a quarter",
            "uncorrelated",
            Alike(ERROR, QI_SA, QI_SA, within=1.25),
        ),
        Claim(
            "SA-only is better for large ranges",
            "losses",
            Below(ERROR, SA_ONLY, QI_SA, levels=(20, 40)),
        ),
        Claim(
            "QI-SA is better for small ranges where nothing is correlated",
            "uncorrelated",
            Below(ERROR, QI_SA, SA_ONLY, levels=(5, 10)),
        ),
        Claim(
            "SA-only is better throughout where losses rise with age",
            "correlated",
            Below(ERROR, SA_ONLY, QI_SA),
        ),
    ),
)
