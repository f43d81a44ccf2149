"""One node for rows that no memory holds: searched on counts, then taken by part after part."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.full_domain.problem import LatticeProblem
from sfumato.tasks.partitions.full_domain.search import best_node
from sfumato.tasks.partitions.partition import Partition, Partitioner


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
