"""Groups that cover no vector in common, found without comparing them pairwise.

Where some groups admit values of a quasi-identifier that the others do not, none of them covers a
vector that one of the others covers. Such sets are found in the graph that joins groups with the
values that they admit, and then in each set anew by the next quasi-identifier. Groups that were
made by cutting a table by values end up alone, whatever the order of the cuts.
"""

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.groups.groups import Cover

_ROUNDS = 1_000  # through all quasi-identifiers


def clusters(shown: Covering) -> np.ndarray:
    """Number the groups: those with different numbers cover no vector in common.

    Those with one number may or may not: nothing is claimed of them.

    Returns:
        int64, one per group.
    """
    found = np.zeros(len(shown.sizes), dtype=np.int64)
    for _ in range(_ROUNDS):
        before = found.max()
        for cover in shown.covers:
            found = _parted(found, cover)
        if found.max() == before:
            break
    return found


def _parted(cluster: np.ndarray, cover: Cover) -> np.ndarray:
    """Renumber the groups from 0, those of a set apart that share no value, not even by others."""
    from scipy.sparse import coo_array  # imported where it is needed
    from scipy.sparse.csgraph import connected_components

    unsure = np.bincount(cluster)[cluster] > 1
    kept = unsure[cover.group]
    group, value = cover.group[kept], cover.value[kept]
    node, nodes = dense(cluster[group] * cover.values + value)
    size = len(cluster) + nodes
    edges = np.ones(len(group), dtype=bool), (group, len(cluster) + node)
    _, number = connected_components(coo_array(edges, shape=(size, size)), directed=False)
    return dense(number[: len(cluster)].astype(np.int64))[0]
