"""The groups of a part beside all other rows of its release, which stand there as one group.

What compares a group with all rows sees all rows so. The one group is no worse than the worst of
those that it is made of: shares in it are means of theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import Coded
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.published import DeclaredColumn


@dataclass
class Totals:
    """How often each value of a sensitive column occurs in all parts (int64, one per value)."""

    name: str
    values: pa.Array | None = None
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(self, counts: Counts) -> None:
        """Count the values of a part's groups."""
        self.add_values(labels_of(counts), counts.totals)

    def add_totals(self, other: "Totals") -> None:
        """Count what others counted."""
        if other.values is not None:
            self.add_values(other.values, other.counts)

    def add_values(self, values: pa.Array, counts: np.ndarray) -> None:
        """Count values (each once), so many of each (int64)."""
        if self.values is None:
            self.values = values.slice(0, 0)
        known = self.values.cast(values.type)
        every = pc.unique(pa.concat_arrays([known, values]))
        every = every.take(pc.sort_indices(every))
        summed = np.zeros(len(every), dtype=np.int64)
        for of, number in ((known, self.counts), (values, counts)):
            np.add.at(summed, places(of, every), number)
        self.values, self.counts = every, summed


def labels_of(counts: Counts) -> pa.Array:
    """The values that counts are of."""
    return pa.nulls(counts.values) if counts.labels is None else counts.labels


def places(values: pa.Array, among: pa.Array) -> np.ndarray:
    """Where values stand among others that have all of them (int64)."""
    found = pc.index_in(values, value_set=among)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def with_rest(groups: Groups, totals: Totals, columns: Mapping[str, DeclaredColumn]) -> Groups:
    """The groups of a part, and after them one of the rows of all others."""
    counts = groups.of(totals.name)
    here = np.zeros(len(totals.counts), dtype=np.int64)
    place = places(labels_of(counts), totals.values)
    np.add.at(here, place, counts.totals)
    left = totals.counts - here
    others = np.flatnonzero(left)
    whole = _whole(totals, columns[totals.name])
    joined = replace(
        counts,
        group=np.append(counts.group, np.full(len(others), len(groups))),
        value=np.append(place[counts.value], others),
        count=np.append(counts.count, left[others]),
        values=whole.values,
        numbers=whole.numbers,
        labels=whole.labels,
        ancestors=whole.ancestors,
    )
    sizes = np.append(groups.sizes, left.sum()) if len(others) else groups.sizes
    return Groups(sizes, {totals.name: joined})


def _whole(totals: Totals, column: DeclaredColumn) -> Coded:
    """All values as an attribute that is counted; there are no nulls among sensitive ones."""
    values = pa.array([], pa.null()) if totals.values is None else totals.values
    every = Column(totals.name, "sensitive", values, np.arange(len(values), dtype=np.int32))
    if column.hierarchy is not None:
        every = with_ancestors(every, hierarchy_of(every, column.hierarchy))
    return every.coded()
