"""Full-domain generalization: each quasi-identifier at the one level that loses the least.

The optimum over all levels is exact: of the nodes of the lattice that keep every promise it is the
one of least cost, and of several the lowest, then the lexicographically first. With a budget, rows
of groups that break a promise are suppressed, again and again until no group does.

Source: Samarati and Sweeney; LeFevre, DeWitt, Ramakrishnan, Incognito (SIGMOD 2005). A suppression
budget keeps the lattice monotone for k-anonymity alone: a group that is diverse may be merged with
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
        PromiseError: where no node keeps the promises within the budget, where one cannot be judged
            from groups alone, or where there are more than 2,097,152 nodes.
    """
    problem = LatticeProblem(microdata, strata, promises, parameters)
    found = best_node(problem)
    suppressed, levels = found.suppressed, problem.levels
    shown = shown_rows(problem.rows.at(levels, found.node), found.node, problem.tops, suppressed)
    group_of, first = _groups(shown, len(levels), suppressed & (not problem.starred))
    level = np.where(suppressed[first], np.array([problem.tops]).T, np.array([found.node]).T)
    recoding = dict(zip(problem.names, level.astype(np.int64), strict=True))
    return Partition(group_of[problem.row_of], recoding, found.facts(problem))


def _groups(shown: LatticeRows, axes: int, dropped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of each distinct row, -1 where dropped, and a row of each group (both int64)."""
    kept = np.flatnonzero(~dropped)
    group, first = number_keys(*shown.take(kept).key(range(axes + 1)))
    group_of = np.full(len(shown), -1, dtype=np.int64)
    group_of[kept] = group
    return group_of, kept[first]


def choose_node(
    microdata: Microdata,
    times: np.ndarray,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: FullDomainParameters,
) -> Partitioner:
    """The partition of any part of a table by the node that is best for all of it.

    Args:
        microdata: the table's distinct rows, with their hierarchies.
        times: how many rows each stands for (int64, one per distinct row).
        strata: the columns that keep groups apart, the one that tells parts apart among them.
        promises: which groups must keep by themselves.
        parameters: of the search; no row may be suppressed.

    Raises:
        PromiseError: where no node keeps the promises.
    """
    problem = LatticeProblem(microdata, strata, promises, parameters, times)
    found = best_node(problem)
    node = dict(zip(problem.names, found.node, strict=True))
    return partial(_partition_at, node, found.facts(problem))


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
