"""The least that a node may cost, whichever rows are suppressed there.

A suppressed row counts as fully generalized, which costs no less than to generalize it. So what a
node costs without suppression is a floor, and of metrics that add up over columns it is known from
the columns alone, before any rows are grouped.
"""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from sfumato.tasks.partitions.full_domain.metrics import (
    Cost,
    MetricDomain,
    Original,
    entropy_of,
    penalty_of,
)
from sfumato.tasks.partitions.full_domain.parameters import Metric

_ROUNDED = 1e-9  # floats of either side are off by less


def floors(original: Original, metric: Metric) -> np.ndarray | None:
    """The floor of each node (float64, of the lattice's shape); None where groups decide."""
    if metric not in _OF_COLUMN:
        return None
    of_column = _OF_COLUMN[metric]
    columns = [np.array(of_column(domain, original)) for domain in original.domains]
    return np.asarray(reduce(np.add.outer, columns))


def too_dear(floor: np.ndarray, cost: Cost) -> np.ndarray:
    """Mark the nodes that cost more than one of this cost, by their floors (bool)."""
    known = float(cost)
    return np.asarray(floor > known + _ROUNDED * (1 + abs(known)))


def _height(domain: MetricDomain, _: Original) -> list[float]:
    return [float(level) for level in range(len(domain.levels))]


def _precision(domain: MetricDomain, original: Original) -> list[float]:
    cells = max(domain.height, 1) * len(original.domains)
    return [level / cells for level in range(len(domain.levels))]


def _entropy(domain: MetricDomain, original: Original) -> list[float]:
    of_values = entropy_of(domain.levels[0])
    return [(entropy_of(level) - of_values) / original.rows for level in domain.levels]


def _ncp(domain: MetricDomain, original: Original) -> list[float]:
    cells = domain.whole * original.rows * len(original.domains)
    return [penalty_of(level) / cells for level in domain.levels]


_OF_COLUMN: Mapping[Metric, Callable[[MetricDomain, Original], list[float]]] = {
    "height": _height,
    "precision": _precision,
    "entropy": _entropy,
    "ncp": _ncp,
}
