"""Common parts of the experiments of ambiguity: the census stand-in, and three ways to show it.

The paper compares its greedy groups with multidimensional generalization under the same bound on
association. Its estimator takes all values that a group admits as equally often; the disjoint
cover and its weighted estimator are this project's own.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

import numpy as np

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.experiments.shared.candidates import Method, scope, try_method
from sfumato.tasks.experiments.shared.experiment import Inputs, Point
from sfumato.tasks.experiments.shared.questions import Ranges, draw_counts, error_of_counts
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.sql.marginal_counts import Estimator

GREEDY, COVER, GENERALIZED = "ambiguity (greedy)", "disjoint cover", "generalization"
WAYS = (GREEDY, COVER, GENERALIZED)
ERROR = "error of counts"
ALPHA = "0.1"
X_AXIS, Y_AXIS = "selectivity in %", "mean relative error of counts"


@dataclass(frozen=True)
class CountScale:
    """Size of the tables, and the number of questions about them.

    Attributes:
        rows: the rows of the census stand-in.
        questions: the number of questions at each level.
        levels: the values that vary.
    """

    rows: int
    questions: int
    levels: tuple[float, ...]


def greedy(people: Microdata, alpha: str, beta: str) -> Method:
    """Return the paper's method, each of whose groups keeps α by itself."""
    promise = AlphaBeta(
        alpha=Decimal(alpha), beta=Decimal(beta), presence="per-group", **scope(people)
    )
    return Method((promise,), {"method": "ambiguity"}, {"method": "ambiguous"})


def cover(people: Microdata, alpha: str, beta: str) -> Method:
    """Return the method in which one group covers each combination: its groups keep α together."""
    promise = AlphaBeta(alpha=Decimal(alpha), beta=Decimal(beta), **scope(people))
    return Method((promise,), {"method": "disjoint-cover"}, {"method": "ambiguous"})


def mondrian_boxes(people: Microdata, beta: str) -> Method:
    """Return Mondrian's method, with boxes in which no sensitive value is more frequent than β."""
    promise = AlphaK(alpha=Decimal(beta), k=ceil(1 / float(beta) - 1e-9), **scope(people))
    return Method((promise,), {"method": "mondrian"}, {"method": "generalized"})


def methods(people: Microdata, beta: str) -> dict[str, tuple[Method, Estimator]]:
    """Return the three methods at the same β, each with the estimator that it is scored by."""
    return {
        GREEDY: (greedy(people, ALPHA, beta), "uniform"),
        COVER: (cover(people, ALPHA, beta), "weighted"),
        GENERALIZED: (mondrian_boxes(people, beta), "uniform"),
    }


def errors(
    people: Microdata,
    beta: str,
    questions: Sequence[Ranges],
    inputs: Inputs,
    seed: int,
    ways: Collection[str] = WAYS,
) -> Iterator[tuple[str, float]]:
    """Yield the mean relative error of counts of each way, except those that refuse the table."""
    for series, (method, estimator) in methods(people, beta).items():
        if series not in ways:
            continue
        with suppress(PromiseError):
            trial = try_method(people, method, inputs, seed).require_kept()
            yield series, error_of_counts(trial, questions, people, estimator)


def by_level(
    people_at: Callable[[float], Microdata],
    attributes_at: Callable[[float], int],
    scale: CountScale,
    inputs: Inputs,
    seed: int,
    beta: str = "0.2",
) -> Iterator[Point]:
    """Yield the errors at levels that change the table, or the number of columns asked for."""
    for level in scale.levels:
        people, rng = people_at(level), np.random.default_rng(seed)
        questions = draw_counts(people, attributes_at(level), 0.05, scale.questions, rng)
        for series, error in errors(people, beta, questions, inputs, seed):
            yield Point("census", series, level, ERROR, error)
