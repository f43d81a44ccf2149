"""The help table of a release that shows subdomains in the place of sensitive values.

It has a row for each number of `hits` among the rows of a group, as that of shuffled values has,
and the same columns. With fakes, and where people have left, a group has more subdomains than
rows, of which any may be the selected ones.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.tasks.forms.redistributed import groups
from sfumato.tasks.forms.targets import Told, read
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.query.help_tables.rows import bounds_of_hits, help_name, with_possible_hits
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.schema.names import TARGETS
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class Nodes:
    """Every subdomain of every target, as `told`, and the domain in the order of its values.

    `values` ascend: they have the ranks 0, 1, …; `order` has the rank of each value in the order
    of the domain, in which subdomains are runs.
    """

    told: Told
    values: pa.Array
    order: np.ndarray

    def extremes(self, wanted: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The ranks of the least and of the greatest value of each subdomain (int64, one per node).

        Of the `wanted` values alone where they are given (bool, by rank); the ranks of a subdomain
        without any are the number of values and -1.
        """
        shown = np.ones(len(self.order), bool) if wanted is None else wanted[self.order]
        ends = np.stack([self.told.first, self.told.last + 1], axis=1).ravel()
        least = np.append(np.where(shown, self.order, len(shown)), 0)
        greatest = np.append(np.where(shown, self.order, -1), 0)
        return np.minimum.reduceat(least, ends)[::2], np.maximum.reduceat(greatest, ends)[::2]

    def number(self, wanted: np.ndarray) -> np.ndarray:
        """The number of `wanted` values (bool, by rank) in each subdomain (int64, one per node)."""
        before = np.append(0, np.cumsum(wanted[self.order]))
        found: np.ndarray = before[self.told.last + 1] - before[self.told.first]
        return found

    def expected(self, numbers: np.ndarray) -> np.ndarray:
        """The mean of `numbers` (by rank) in each subdomain (float64, one per node).

        Values are as likely as the target says; those below a node of weight 0 are equally likely.
        """
        told = self.told
        leaves = numbers[self.order][told.first]
        found = np.where(told.first == told.last, leaves, 0.0)
        for level in range(int(self._depth.max(initial=0)), 0, -1):
            nodes = np.flatnonzero(self._depth == level)
            above = self._parent[nodes]
            parts = np.bincount(above, minlength=len(found))
            heavy = np.bincount(above, self._weight[nodes], len(found))
            share = np.where(heavy[above] > 0, self._weight[nodes], 1.0)
            share /= np.where(heavy > 0, heavy, parts)[above]
            found += np.bincount(above, found[nodes] * share, len(found))
        return found

    @cached_property
    def _weight(self) -> np.ndarray:
        return np.concatenate([of.weight.astype(np.float64) for of in self.told.targets])

    @cached_property
    def _parent(self) -> np.ndarray:
        """The row of the subdomain above each, -1 for a root."""
        parent = np.concatenate([of.parent for of in self.told.targets])
        starts = np.arange(len(parent)) - self.told.node
        return np.where(parent < 0, -1, parent + starts)

    @cached_property
    def _depth(self) -> np.ndarray:
        depth: list[int] = []
        for parent in self._parent.tolist():
            depth.append(depth[parent] + 1 if parent >= 0 else 0)
        return np.array(depth, dtype=np.int64)


def read_nodes(targets: pa.Table, name: str, column: DeclaredColumn) -> Nodes:
    """The subdomains of a sensitive column, from the table of its targets.

    Raises:
        PromiseError: where its rows are no hierarchies over one domain, each with all its values.
    """
    told = read(targets, name, column)
    known = encode(name, "sensitive", told.domain.values)
    return Nodes(told, known.values, known.codes.astype(np.int64))


def tables_of_subdomains(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """The help table of the sensitive column by its name, from the published tables alone.

    Raises:
        InputError: where a sum is too long.
        PromiseError: where the tables contradict each other.
    """
    (name,) = declared.named("sensitive")
    column = declared.columns[name]
    nodes = read_nodes(tables[TARGETS], name, column)
    seen = groups(tables, {name: column}, [], [name])
    shown = seen.subdomains[name]
    roots = np.flatnonzero(nodes.told.node == 0)
    row = np.repeat(roots[shown.target[shown.group]] + shown.node, shown.count)
    least, greatest = (ranks[row] for ranks in nodes.extremes())
    copies = np.repeat(shown.group, shown.count)
    bounds = bounds_of_hits(copies, least, greatest, nodes.values, name)
    return {help_name(name): with_possible_hits(bounds, seen.sizes)}


def _names(_declared: Terms, sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in sensitive]


SUBDOMAINS = HelpTables(_names, tables_of_subdomains)
