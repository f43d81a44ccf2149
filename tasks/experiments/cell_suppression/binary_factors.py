"""Clusters by factors of least weight against the optimum, on tables of two values."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from sfumato.tasks.experiments.cell_suppression.optimum import optimum
from sfumato.tasks.experiments.shared.claim_tests import Never
from sfumato.tasks.experiments.shared.experiment import (
    Claim,
    Experiment,
    Figure,
    Inputs,
    Point,
    RowsAndLevels,
)
from sfumato.tasks.partitions.cell_suppression.clusters import stars
from sfumato.tasks.partitions.cell_suppression.factors import cluster_by_factors

_ROWS, _VALUES = 9, 2
_COLUMNS = 5
_RATIO, _TABLES, _BEYOND = "cost by the optimum", "tables", "tables beyond the ratio"
_PROVEN = {2: Fraction(3, 2), 3: Fraction(2)}
"""The ratio of the paper's theorem for each k, for tables of two values."""


def measure(scale: RowsAndLevels, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the mean cost by the optimum of each k, and the tables beyond the theorem's ratio."""
    rng = np.random.default_rng(seed)
    for k in scale.levels:
        ratios, beyond = [], 0
        for _ in range(scale.rows):
            codes = rng.integers(0, _VALUES, (_ROWS, _COLUMNS))
            least, cost = optimum(codes, k), stars(codes, cluster_by_factors(codes, k).cluster)
            ratios.append(cost / max(least, 1))
            beyond += cost > _PROVEN[k] * least
        yield Point("small-tables", _series(k), k, _RATIO, float(np.mean(ratios)))
        yield Point("small-tables", _series(k), k, _TABLES, scale.rows)
        yield Point("small-tables", _series(k), k, _BEYOND, beyond)


def _series(k: int) -> str:
    return f"k = {k}"


EXPERIMENT = Experiment(
    name="binary-factors",
    paper="cell-suppression",
    shows="Theorems: 2-anonymity within 3/2 and 3-anonymity within 2 of the optimum",
    title="Factors against the optimum",
    setting=(
        f"Random tables of {_ROWS} rows with {_COLUMNS} columns of two values. Clusters come from "
        "a factor of least weight, and the optimum from trying all clusterings."
    ),
    ours="the random tables",
    data=("small-tables",),
    full=RowsAndLevels(20, tuple(_PROVEN)),
    quick=RowsAndLevels(2, tuple(_PROVEN)),
    measure=measure,
    figures=(Figure(_RATIO, "k", "cells suppressed by the fewest"),),
    claims=tuple(
        Claim(
            f"On tables of two values, {k}-anonymity costs at most {ratio} of the fewest cells",
            "small-tables",
            Never(_TABLES, _BEYOND, _series(k)),
        )
        for k, ratio in _PROVEN.items()
    ),
)
