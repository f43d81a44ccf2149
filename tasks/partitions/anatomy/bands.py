"""Few bands of a quasi-identifier's values, which no sensitive value decides about."""

import numpy as np

from sfumato.expectations.exact import is_ordered
from sfumato.expectations.groups.counting import dense
from sfumato.tasks.microdata.table import Column

MOST = 16
"""So many bands of a column, at most."""


def bands_of(column: Column) -> np.ndarray:
    """The band of each row (int64, 0, 1, …, each occurring), at most `MOST` of them.

    Nodes of the lowest level of a hierarchy that has as few; runs of values in order, of about as
    many rows; of other values the most frequent ones, and all the others together. A null is a
    value, the lowest.
    """
    codes, size = column.category()
    if size <= MOST:
        return dense(codes.astype(np.int64))[0]
    if column.ancestors is not None:
        return _nodes(column.levels(), codes)
    counts = np.bincount(codes, minlength=size)
    if is_ordered(column.values.type):
        before = np.cumsum(counts) - counts
        return dense(before[codes] * MOST // len(codes))[0]
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(size)
    return dense(np.minimum(rank, MOST - 1)[codes])[0]


def _nodes(levels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    level = next(nodes for nodes in levels if int(nodes.max()) < MOST)
    return dense(level[codes])[0]
