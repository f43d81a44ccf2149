"""Full-domain generalization: each quasi-identifier at the one level that loses the least.

The optimum over all levels is exact. Of the nodes of the lattice that keep every promise, it is the
one of least cost; of several the lowest, then the lexicographically first. With a budget, rows of
groups that break a promise are suppressed, again and again until no group does.

Source: Samarati and Sweeney; LeFevre, DeWitt, Ramakrishnan, Incognito (SIGMOD 2005). A suppression
budget keeps the lattice monotone only for k-anonymity: a group that is diverse may be merged with
one that is not.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, Randomness, key
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.full_domain.problem import LatticeProblem
from sfumato.tasks.partitions.full_domain.rows import LatticeRows, number_keys, shown_rows
from sfumato.tasks.partitions.full_domain.search import best_node
from sfumato.tasks.partitions.partition import Partition, Partitioner


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: FullDomainParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows that are equal once each quasi-identifier is at its best level.

    A stratum that is a quasi-identifier stays at level 0. Suppressed rows are dropped (group -1),
    or become one group per stratum with all other quasi-identifiers at the root.

    Raises:
        PromiseError: if no node keeps the promises within the budget, if one cannot be judged
            only from groups, or if there are more than 2,097,152 nodes.
    """
    problem = LatticeProblem(microdata, strata, promises, parameters)
    best = best_node(problem)
    suppressed, levels = best.suppressed, problem.levels
    rows = shown_rows(
        problem.rows.generalize_to(levels, best.node), best.node, problem.tops, suppressed
    )
    group_of, first = _groups(rows, len(levels), suppressed & (not problem.starred))
    level = np.where(suppressed[first], np.array([problem.tops]).T, np.array([best.node]).T)
    recoding = dict(zip(problem.names, level.astype(np.int64), strict=True))
    return Partition(group_of[problem.row_of], recoding, best.facts(problem))


def _groups(rows: LatticeRows, axes: int, dropped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of each distinct row, and a row of each group (both int64).

    The group of a dropped row is -1.
    """
    remaining = np.flatnonzero(~dropped)
    group, first = number_keys(*rows.take(remaining).key(range(axes + 1)))
    group_of = np.full(len(rows), -1, dtype=np.int64)
    group_of[remaining] = group
    return group_of, remaining[first]


def choose_node(
    microdata: Microdata,
    times: np.ndarray,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: FullDomainParameters,
) -> Partitioner:
    """Return the partition of any part of a table by the node that is best for all of it.

    Args:
        microdata: the table's distinct rows, with their hierarchies.
        times: how many rows each represents (int64, one per distinct row).
        strata: the columns that keep groups apart, the column of parts included.
        promises: the promises that groups must keep by themselves.
        parameters: the parameters of the search; no row may be suppressed.

    Raises:
        PromiseError: if no node keeps the promises.
    """
    problem = LatticeProblem(microdata, strata, promises, parameters, times)
    best = best_node(problem)
    node = dict(zip(problem.names, best.node, strict=True))
    return partial(_partition_at, node, best.facts(problem))


def _partition_at(
    node: Mapping[str, int],
    facts: Mapping[str, object],
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: FullDomainParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows that are equal at a node."""
    columns = [microdata[name] for name in strata]
    keys, bound = key(columns, microdata.rows)
    for column in microdata.with_roles("quasi-identifier"):
        nodes = column.levels()[node[column.name]][column.category()[0]]
        keys, bound = pack([keys, nodes], [bound, int(nodes.max(initial=0)) + 1])
    group, groups = dense(keys)
    recoding = {name: np.full(groups, level, dtype=np.int64) for name, level in node.items()}
    return Partition(group, recoding, facts)
