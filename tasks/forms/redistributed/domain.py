"""The domain of a sensitive attribute: its values in the order in which subdomains are runs."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_array
from sfumato.expectations.exact import Exact, exact, is_ordered
from sfumato.tasks.arrays.ranks import places_in
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.targets.tree import taxonomy_tree


@dataclass(frozen=True, eq=False)
class OrderedDomain:
    """The values in their order; `place` is the position of each of `Column.values`.

    Numbers, dates and timestamps ascend, and are known exactly. Other values stand in the order of
    their hierarchy's leaves, or ascend where they have none. `ancestors[level]` numbers the node
    above each position at each level, in the order of appearance.
    """

    values: pa.Array
    place: np.ndarray
    numbers: Exact | None
    ancestors: np.ndarray | None

    def __len__(self) -> int:
        return len(self.place)

    def lengths(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The ranges of runs (one per run): exact units of values, or their number less one."""
        at = np.arange(len(self)) if self.numbers is None else self.numbers.units
        lengths: np.ndarray = at[last] - at[first]
        return lengths


def domain_of(column: Column) -> OrderedDomain:
    """The domain that the values of a column without nulls are."""
    ordered = is_ordered(column.values.type)
    order = np.arange(len(column.values))
    if column.ancestors is not None and not ordered:
        order = taxonomy_tree(column.ancestors)[1]
    place = places_in(order)
    values = column.values.take(as_array(order.astype(np.int64), pa.int64()))
    ancestors = None if column.ancestors is None else _as_they_appear(column.ancestors[:, order])
    return OrderedDomain(values, place, exact(values, column.name) if ordered else None, ancestors)


def _as_they_appear(ancestors: np.ndarray) -> np.ndarray:
    """The same nodes, those of each level numbered in the order of their first values."""
    levels = []
    for nodes in ancestors:
        _, first, number = np.unique(nodes, return_index=True, return_inverse=True)
        levels.append(places_in(np.argsort(first))[number])
    return np.array(levels, dtype=np.int64)
