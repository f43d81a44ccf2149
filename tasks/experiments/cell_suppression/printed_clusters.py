"""Clusters that DECOMPOSE makes as printed, beside the order of cuts that meets no copies."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.as_printed import printed_clusters
from sfumato.tasks.experiments.shared.claim_tests import Never
from sfumato.tasks.experiments.shared.experiment import (
    Claim,
    Experiment,
    Figure,
    Inputs,
    Point,
    RowsAndLevels,
)
from sfumato.tasks.partitions.cell_suppression.decompose import decompose
from sfumato.tasks.partitions.cell_suppression.forest import grow
from sfumato.tasks.partitions.shared.nearest import nearest

_ROWS, _COLUMNS, _VALUES = 60, 5, 4
_TABLES, _SMALL, _SHARE = "tables", "tables with a small cluster", "% of clusters below k rows"
_PRINTED, _SAFE = "as printed", "as built"


def measure(scale: RowsAndLevels, _inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the tables with a cluster below k rows, and the share of such clusters, by k."""
    rng = np.random.default_rng(seed)
    for k in scale.levels:
        made = dict[str, list[np.ndarray]]({_PRINTED: [], _SAFE: []})
        for _ in range(scale.rows):
            near, distance = nearest(rng.integers(0, _VALUES, (_ROWS, _COLUMNS)), k - 1)
            to, weight = grow(near, distance, k)
            made[_PRINTED].append(np.bincount(printed_clusters(to, k)))
            made[_SAFE].append(np.bincount(decompose(to, weight, k)))
        for series, sizes in made.items():
            small = sum(bool((size < k).any()) for size in sizes)
            share = 100 * float((np.concatenate(sizes) < k).mean())
            yield Point("small-tables", series, k, _TABLES, scale.rows)
            yield Point("small-tables", series, k, _SMALL, small)
            yield Point("small-tables", series, k, _SHARE, share)


EXPERIMENT = Experiment(
    name="printed-clusters",
    paper="cell-suppression",
    shows="DECOMPOSE-COMPONENT as printed",
    title="Clusters that are too small",
    setting=(
        f"Random tables have {_ROWS} rows with {_COLUMNS} columns of {_VALUES} values. Their "
        "forests are cut as printed, and in an order that never cuts at a copy of a vertex. As "
        "printed, a piece may be cut at a copy, which is not a row, as if it were one."
    ),
    ours="the random tables",
    data=("small-tables",),
    full=RowsAndLevels(100, (3, 4, 5, 6, 8)),
    quick=RowsAndLevels(30, (3, 5)),
    measure=measure,
    figures=(Figure(_SHARE, "k", "% of clusters with fewer than k rows"),),
    claims=(
        Claim(
            "DECOMPOSE as printed leaves clusters of k rows or more",
            "small-tables",
            Never(_TABLES, _SMALL, _PRINTED),
        ),
        Claim(
            "As built it leaves clusters of k rows or more",
            "small-tables",
            Never(_TABLES, _SMALL, _SAFE),
            by="project",
        ),
    ),
)
