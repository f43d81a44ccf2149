"""Bounds where conditions are on sensitive values, from what each part counts of its groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.arrow import as_numpy
from sfumato.expectations.exact import exact
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.bounds.extremes import Counting
from sfumato.tasks.query.engines.direct.cell_values import ShownValues
from sfumato.tasks.query.engines.direct.cells import SelectedRows
from sfumato.tasks.query.engines.direct.counted import CountedBounds
from sfumato.tasks.query.engines.from_values import CountedRows, bounds_from_values
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Key


@dataclass
class _CountedCell:
    """What counts in a cell: rows, and by column the values of each part."""

    rows: CountedRows | None = None
    values: dict[str, list[CountedValues]] = field(default_factory=dict)


class CountedInParts:
    """The bounds of aggregates over the rows that are meant, in all parts that were added."""

    def __init__(self, aggregates: Sequence[Aggregate], *, estimates: bool) -> None:
        """Know of no part yet."""
        self._aggregates, self._estimates = aggregates, estimates
        self._cells: dict[Key, _CountedCell] = {}

    def add(self, rows: SelectedRows, counted: CountedBounds) -> None:
        """Join what the groups of a part contribute.

        Raises:
            NotDirectError: where there are too many values and cells.
        """
        names = [str(a.sensitive) for a in self._aggregates if not a.kind.counts_rows]
        for place, (key, of) in enumerate(zip(rows.keys, counted.rows, strict=True)):
            cell = self._cells.setdefault(key, _CountedCell())
            cell.rows = _sum(cell.rows, of)
            for name in dict.fromkeys(names) if of.most else ():
                found = counted.values(name, place)
                if found is not None:
                    cell.values.setdefault(name, []).append(found)

    def found(self, *, grouped: bool) -> dict[Key, dict[Aggregate, Bounds]]:
        """The bounds of each aggregate by the values of the group columns."""
        return {
            key: {a: self._bounds(a, cell) for a in self._aggregates}
            for key, cell in self._cells.items()
            if cell.rows is not None and (cell.rows.most or not grouped)
        }

    def _bounds(self, aggregate: Aggregate, cell: _CountedCell) -> Bounds:
        rows = cell.rows or CountedRows(0, 0, Fraction(0) if self._estimates else None)
        parts = cell.values.get(str(aggregate.sensitive), [])
        return bounds_from_values(aggregate, rows, joined_values(parts) if parts else None)


def _sum(one: CountedRows | None, other: CountedRows) -> CountedRows:
    if one is None:
        return other
    none = one.expected is None or other.expected is None
    expected = None if none else Fraction(one.expected or 0) + Fraction(other.expected or 0)
    return CountedRows(one.least + other.least, one.most + other.most, expected)


def joined_values(parts: Sequence[CountedValues]) -> CountedValues:
    """The values of several parts, each once, and how many of their copies count in all."""
    if len(parts) == 1:
        return parts[0]
    shown = [_array(part) for part in parts]
    every = pc.unique(pa.concat_arrays(shown))
    every = every.take(pc.sort_indices(every))
    places = [as_numpy(pc.index_in(of, value_set=every)) for of in shown]

    def total(numbers: Sequence[np.ndarray]) -> np.ndarray:
        summed = np.zeros(len(every), dtype=numbers[0].dtype)
        for place, number in zip(places, numbers, strict=True):
            summed[place] += number
        return summed

    low, high = (
        Counting(total([of.sure for of in sides]), total([of.maybe for of in sides]))
        for sides in ([p.low for p in parts], [p.high for p in parts])
    )
    chances = [part.expected for part in parts if part.expected is not None]
    return CountedValues(
        ShownValues(every),
        partial(exact, every, "aggregated"),
        low,
        high,
        parts[0].whole,
        total(chances) if len(chances) == len(parts) else None,
        sum(part.expected_rows for part in parts),
    )


def _array(part: CountedValues) -> pa.Array:
    if not isinstance(part.values, ShownValues):
        raise TypeError(type(part.values).__name__)
    return part.values.values
