"""Common parts of the experiments of ambiguity: the census stand-in, and three ways to show it.

The paper compares its greedy groups with multidimensional generalization under the same bound on
association. Its estimator takes all values that a group admits as equally often; the disjoint
cover and its weighted estimator are this project's own. Estimates are computed from codes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

import numpy as np

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.experiments.shared.candidates import Method, partition_by, scope
from sfumato.tasks.experiments.shared.estimates import CountedGroups
from sfumato.tasks.experiments.shared.experiment import Figure, Point
from sfumato.tasks.experiments.shared.questions import Ranges, draw_cells, draw_counts, truths
from sfumato.tasks.microdata.table import Microdata

GREEDY, COVER, GENERALIZED = "ambiguity (greedy)", "disjoint cover", "generalization"
WAYS = (GREEDY, COVER, GENERALIZED)
RANGES_ERROR, CELLS_ERROR = "error of ranges", "error of cells"
WORKLOADS: Mapping[str, str] = {RANGES_ERROR: "on ranges", CELLS_ERROR: "on cells of a GROUP BY"}
"""Both errors, with the words that end a claim about them."""
ALPHA = "0.1"
X_AXIS, Y_AXIS = "selectivity in %", "mean relative error of counts"
ATTRIBUTES, SELECTIVITY = 3, 0.05
GROUPED = (1, 2, 3)


@dataclass(frozen=True)
class CountScale:
    """Size of the tables, and the number of questions about them.

    Attributes:
        rows: the rows of the census stand-in.
        questions: the number of questions of each workload at each level.
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


Estimate = Callable[[CountedGroups, Ranges], float]


def methods(people: Microdata, beta: str) -> dict[str, tuple[Method, Estimate]]:
    """Return the three methods at the same β, each with the estimate that it is scored by."""
    return {
        GREEDY: (greedy(people, ALPHA, beta), CountedGroups.by_values),
        COVER: (cover(people, ALPHA, beta), CountedGroups.by_expected_rows),
        GENERALIZED: (mondrian_boxes(people, beta), CountedGroups.by_boxes),
    }


@dataclass(frozen=True)
class CountWorkload:
    """Counts that are asked of every way to show a table.

    Attributes:
        measure: the name of their mean error.
        questions: the counts.
        truths: the true counts.
    """

    measure: str
    questions: Sequence[Ranges]
    truths: Sequence[int]


def ask_ranges(
    people: Microdata, attributes: int, selectivity: float, scale: CountScale, seed: int
) -> CountWorkload:
    """Draw counts over ranges of random quasi-identifiers."""
    rng = np.random.default_rng(seed)
    questions = draw_counts(people, attributes, selectivity, scale.questions, rng)
    return CountWorkload(RANGES_ERROR, questions, truths(questions, people))


def ask_cells(
    people: Microdata, scale: CountScale, seed: int, selectivity: float | None = None
) -> CountWorkload:
    """Draw cells of queries that group by some random quasi-identifiers, at most three."""
    rng = np.random.default_rng(seed)
    grouped = GROUPED if selectivity is None else GROUPED[:1]
    questions = draw_cells(people, grouped, scale.questions, rng, selectivity)
    return CountWorkload(CELLS_ERROR, questions, truths(questions, people))


def errors(
    people: Microdata,
    beta: str,
    workloads: Sequence[CountWorkload],
    seed: int,
    ways: Collection[str] = WAYS,
) -> Iterator[tuple[str, CountWorkload, float]]:
    """Yield the mean relative error of each way and workload, except ways that refuse the table."""
    for series, (method, estimate) in methods(people, beta).items():
        if series not in ways:
            continue
        with suppress(PromiseError):
            groups = CountedGroups(people, partition_by(people, method, seed).group)
            for work in workloads:
                yield series, work, groups.error(estimate, work.questions, work.truths)


def by_level(
    people_at: Callable[[float], Microdata],
    attributes_at: Callable[[float], int],
    scale: CountScale,
    seed: int,
    beta: str = "0.2",
) -> Iterator[Point]:
    """Yield the errors at levels that change the table, or the number of columns asked for."""
    for level in scale.levels:
        people = people_at(level)
        ranges = ask_ranges(people, attributes_at(level), SELECTIVITY, scale, seed)
        workloads = (ranges, ask_cells(people, scale, seed))
        for series, work, error in errors(people, beta, workloads, seed, (GREEDY, GENERALIZED)):
            yield Point("census", series, level, work.measure, error)


def figures(x: str) -> tuple[Figure, ...]:
    """Return the plots of both workloads by a level."""
    return tuple(Figure(measure, x, f"{Y_AXIS} {words}") for measure, words in WORKLOADS.items())
