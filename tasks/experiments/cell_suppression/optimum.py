"""Clusters against the optimum, on tables so small that all partitions can be tried."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from sfumato.tasks.experiments.shared.claim_tests import Never
from sfumato.tasks.experiments.shared.experiment import (
    Claim,
    Experiment,
    Figure,
    Inputs,
    Point,
    RowsAndLevels,
)
from sfumato.tasks.experiments.shared.generated_tables import slide_table
from sfumato.tasks.partitions.cell_suppression.clusters import stars
from sfumato.tasks.partitions.cell_suppression.decompose import largest
from sfumato.tasks.partitions.cell_suppression.forest import cluster_by_forest
from sfumato.tasks.partitions.cell_suppression.local_search import improve

_ROWS, _COLUMNS, _VALUES = 9, 4, 3
_RATIO, _TABLES = "cost by the optimum", "tables"
_BEYOND, _ABOVE = "tables beyond the ratio", "tables with a forest above the optimum"
_FOREST, _SEARCHED = "forest", "forest and local search"


def measure(scale: RowsAndLevels, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the cost of clusters by the optimum, by k, for random tables and the slide table."""
    rng = np.random.default_rng(seed)
    for k in scale.levels:
        ratios = dict[str, list[float]]({_FOREST: [], _SEARCHED: []})
        beyond = above = 0
        for _ in range(scale.rows):
            costs = _cluster_costs(rng.integers(0, _VALUES, (_ROWS, _COLUMNS)), k)
            for series, ratio in costs.ratios.items():
                ratios[series].append(ratio)
            beyond += costs.beyond
            above += costs.above
        for series, of_tables in ratios.items():
            yield Point("small-tables", series, k, _RATIO, float(np.mean(of_tables)))
        yield Point("small-tables", _FOREST, k, _TABLES, scale.rows)
        yield Point("small-tables", _FOREST, k, _BEYOND, beyond)
        yield Point("small-tables", _FOREST, k, _ABOVE, above)
        for series, ratio in _cluster_costs(rng.permutation(slide_table()), k).ratios.items():
            yield Point("slides", series, k, _RATIO, ratio)


class _ClusterCosts(NamedTuple):
    """Cost of a table's clusters by the optimum, and whether the theorems fail for it."""

    ratios: Mapping[str, float]
    beyond: bool
    above: bool


def _cluster_costs(codes: np.ndarray, k: int) -> _ClusterCosts:
    least, made = optimum(codes, k), cluster_by_forest(codes, k)
    cost = stars(codes, made.cluster)
    better = improve(codes, made.cluster, made.near, k, large=False)
    ratios = {_FOREST: cost / max(least, 1), _SEARCHED: stars(codes, better) / max(least, 1)}
    return _ClusterCosts(ratios, cost > largest(k) * least, made.facts["forest_weight"] > least)


def optimum(codes: np.ndarray, k: int) -> int:
    """Return the fewest cells that must be suppressed for clusters of k rows or more, by trying.

    Args:
        codes: integers, rows x columns; at least k rows, and few.
        k: the least size of a cluster; clusters of 2k rows or more are never needed.
    """
    rows = len(codes)
    cost = [_cost(codes, members) for members in range(1 << rows)]

    @cache
    def least(remaining: int) -> int:
        if not remaining:
            return 0
        first = remaining & -remaining
        best, chosen = rows * int(codes.shape[1]) + 1, remaining
        while chosen:
            if chosen & first and k <= chosen.bit_count() < 2 * k:
                best = min(best, cost[chosen] + least(remaining & ~chosen))
            chosen = (chosen - 1) & remaining
        return best

    return least((1 << rows) - 1)


def _cost(codes: np.ndarray, members: int) -> int:
    chosen = codes[[row for row in range(len(codes)) if members >> row & 1]]
    if not len(chosen):
        return 0
    return int(len(chosen) * (chosen.min(axis=0) != chosen.max(axis=0)).sum())


EXPERIMENT = Experiment(
    name="optimum",
    paper="cell-suppression",
    shows="Theorem: the forest's weight, and the cost of its clusters; the slide table",
    title="Against the optimum",
    setting=(
        f"Random tables of {_ROWS} rows with {_COLUMNS} columns of {_VALUES} values, for which "
        "the fewest cells are found by trying all clusterings. The paper's own example is also "
        "used, with its seven rows in a random order for each seed."
    ),
    ours="the random tables",
    data=("small-tables", "slides"),
    full=RowsAndLevels(20, (2, 3, 4)),
    quick=RowsAndLevels(2, (2, 3)),
    measure=measure,
    figures=(Figure(_RATIO, "k", "cells suppressed by the fewest"),),
    claims=(
        Claim(
            "The forest weighs no more than the optimum",
            "small-tables",
            Never(_TABLES, _ABOVE, _FOREST),
        ),
        Claim(
            "Its clusters cost at most max(2k-1, 3k-5) times the optimum",
            "small-tables",
            Never(_TABLES, _BEYOND, _FOREST),
        ),
    ),
)
