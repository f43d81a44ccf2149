"""The help table of a release that shows subdomains instead of sensitive values.

It has a row for each number of `hits` among the rows of a group, and the same columns as the help
table of shuffled values. With fakes, or if people have left, a group has more subdomains than rows,
and any of them may be the selected ones.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.tasks.forms.redistributed import groups
from sfumato.tasks.forms.targets import PublishedTargets, read
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.query.help_tables.rows import bounds_of_hits, help_name, with_possible_hits
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.schema.names import TARGETS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class Nodes:
    """Every subdomain of every target, and the domain in the order of its values.

    `values` ascend: they have the ranks 0, 1, …; `order` has the rank of each value in the order
    of the domain, in which subdomains are runs.
    """

    subdomains: PublishedTargets
    values: pa.Array
    order: np.ndarray

    def extremes(self, chosen: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the ranks of the least and greatest value of each subdomain (int64).

        Only `chosen` values count if they are given (bool, by rank); a subdomain without any has
        the ranks `len(values)` and -1.
        """
        is_chosen = np.ones(len(self.order), bool) if chosen is None else chosen[self.order]
        ends = np.stack([self.subdomains.first, self.subdomains.last + 1], axis=1).ravel()
        least = np.append(np.where(is_chosen, self.order, len(is_chosen)), 0)
        greatest = np.append(np.where(is_chosen, self.order, -1), 0)
        return np.minimum.reduceat(least, ends)[::2], np.maximum.reduceat(greatest, ends)[::2]

    def number(self, chosen: np.ndarray) -> np.ndarray:
        """Count the `chosen` values (bool, by rank) in each subdomain (int64, one per node)."""
        before = np.append(0, np.cumsum(chosen[self.order]))
        counts: np.ndarray = before[self.subdomains.last + 1] - before[self.subdomains.first]
        return counts

    def means(self, numbers: np.ndarray) -> np.ndarray:
        """Return the expected mean of `numbers` (by rank) in each subdomain (float64).

        Values are weighted as in the target; those below a node of weight 0 are equally likely.
        """
        subdomains = self.subdomains
        leaves = numbers[self.order][subdomains.first]
        means = np.where(subdomains.first == subdomains.last, leaves, 0.0)
        for level in range(int(self._depth.max(initial=0)), 0, -1):
            nodes = np.flatnonzero(self._depth == level)
            above = self._parent[nodes]
            parts = np.bincount(above, minlength=len(means))
            heavy = np.bincount(above, self._weight[nodes], len(means))
            share = np.where(heavy[above] > 0, self._weight[nodes], 1.0)
            share /= np.where(heavy > 0, heavy, parts)[above]
            means += np.bincount(above, means[nodes] * share, len(means))
        return means

    @cached_property
    def _weight(self) -> np.ndarray:
        return np.concatenate(
            [target.weight.astype(np.float64) for target in self.subdomains.targets]
        )

    @cached_property
    def _parent(self) -> np.ndarray:
        """The row of the subdomain above each subdomain, -1 for a root."""
        parent = np.concatenate([target.parent for target in self.subdomains.targets])
        starts = np.arange(len(parent)) - self.subdomains.node
        return np.where(parent < 0, -1, parent + starts)

    @cached_property
    def _depth(self) -> np.ndarray:
        depth: list[int] = []
        for parent in self._parent.tolist():
            depth.append(depth[parent] + 1 if parent >= 0 else 0)
        return np.array(depth, dtype=np.int64)


def read_nodes(targets: pa.Table, name: str, column: DeclaredColumn) -> Nodes:
    """Read the subdomains of a sensitive column from the table of its targets.

    Raises:
        PromiseError: where its rows are no hierarchies over one domain, each with all its values.
    """
    subdomains = read(targets, name, column)
    encoded = encode(name, "sensitive", subdomains.domain.values)
    return Nodes(subdomains, encoded.values, encoded.codes.astype(np.int64))


def tables_of_subdomains(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """Build the help table of the sensitive column by its name, from the published tables only.

    Raises:
        InputError: where a sum is too long.
        PromiseError: where the tables contradict each other.
    """
    (name,) = declared.names_with_roles("sensitive")
    column = declared.columns[name]
    nodes = read_nodes(tables[TARGETS], name, column)
    seen = groups(tables, {name: column}, [], [name])
    subdomains = seen.subdomains[name]
    roots = np.flatnonzero(nodes.subdomains.node == 0)
    row = np.repeat(roots[subdomains.target[subdomains.group]] + subdomains.node, subdomains.count)
    least, greatest = (ranks[row] for ranks in nodes.extremes())
    copies = np.repeat(subdomains.group, subdomains.count)
    bounds = bounds_of_hits(copies, least, greatest, nodes.values, name)
    return {help_name(name): with_possible_hits(bounds, seen.sizes)}


def _names(_declared: Terms, sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in sensitive]


SUBDOMAINS = HelpTables(_names, tables_of_subdomains)
