"""One column of published records, compared with people's values.

Distances are Gower's (A general coefficient of similarity and some of its properties, 1971).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues
from sfumato.tasks.query.accuracy.vectors import ColumnTogether

Span = tuple[int, int]
"""A range of numbers: the first, and the first one after it."""
Spans = Sequence[Span]
"""Ranges of numbers without one in common."""


@dataclass(frozen=True, eq=False)
class PlacedNumbers:
    """The numbers of rows, or of people, in a column.

    Attributes:
        numbers: the number of each (int16 or int32, from 0).
    """

    numbers: np.ndarray

    @cached_property
    def _ends(self) -> np.ndarray:
        """The number of places below each number from 0 (int64)."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.numbers))])

    @cached_property
    def _order(self) -> np.ndarray:
        """The places in ascending order of their numbers (int32 where that suffices)."""
        narrow = np.int32 if len(self.numbers) <= np.iinfo(np.int32).max else np.int64
        return stable_order(self.numbers).astype(narrow)

    def times(self, bound: int) -> np.ndarray:
        """Return how many places have each number below a bound, above all numbers (int64)."""
        times = np.diff(self._ends)
        return np.concatenate([times, np.zeros(bound - len(times), dtype=np.int64)])

    def count(self, spans: Spans) -> int:
        """Count the places whose number is in one of some ranges."""
        return sum(end - begin for begin, end in self._limits(spans))

    def list_places(self, spans: Spans) -> np.ndarray:
        """Return the places whose number is in one of some ranges (int32 or int64, in no order)."""
        limits = self._limits(spans)
        parts = [self._order[begin:end] for begin, end in limits]
        return parts[0] if len(parts) == 1 else np.concatenate([self._order[:0], *parts])

    def test_places(self, places: np.ndarray, spans: Spans) -> np.ndarray:
        """Decide for each of some places whether its number is in one of some ranges (bool)."""
        numbers = self.numbers[places]
        inside = np.zeros(len(numbers), dtype=bool)
        for low, high in spans:
            inside |= (numbers >= low) & (numbers < high)
        return inside

    def _limits(self, spans: Spans) -> list[tuple[int, int]]:
        most = len(self._ends) - 1
        return [
            (int(self._ends[min(low, most)]), int(self._ends[min(high, most)]))
            for low, high in spans
        ]


def common_places(conditions: Sequence[tuple[PlacedNumbers, Spans]]) -> tuple[np.ndarray, int]:
    """Return the places that meet all conditions, and how many were listed to find them.

    The condition that the fewest places meet lists them, and the others are tested on these alone.

    Args:
        conditions: columns, and the ranges of numbers wanted in each; at least one.
    """
    counts = [numbers.count(spans) for numbers, spans in conditions]
    first, *others = sorted(range(len(conditions)), key=counts.__getitem__)
    numbers, spans = conditions[first]
    places = numbers.list_places(spans)
    for numbers, spans in (conditions[index] for index in others):
        places = places[numbers.test_places(places, spans)]
    return places, counts[first]


def runs_of(admitted: np.ndarray) -> Spans:
    """Return the ranges of numbers that are admitted (bool, by number).

    >>> runs_of(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], admitted, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


class ComparedColumn(Protocol):
    """A published column with the same column of people.

    Attributes:
        cells: the cell of each published row (int16 or int32, from 0).
        values: the value of each person (int16 or int32, from 0; null is one of them).
        single: the value of each published row (numbered as `values`), -1 if its cell has several.
    """

    cells: np.ndarray
    values: np.ndarray
    single: np.ndarray

    @property
    def placed_people(self) -> PlacedNumbers:
        """The people by their values."""
        ...

    def spans(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of the cells that are like each of some, and the first one after these.

        All integers. A cell is like itself; a number is also like those beyond it.
        """
        ...

    def spans_of_people(self, cells: Span) -> Spans:
        """Return the values of people that are like the cells of a range."""
        ...

    def draw_condition(self, generator: np.random.Generator) -> Spans:
        """Draw a condition on people at random: the values that meet it."""
        ...

    def distances(self, person: int) -> np.ndarray:
        """Return the distance of each cell from a person, from 0 to 1 (float64, by cell)."""
        ...


class ExactColumn:
    """A column published as it is: cells are values, numbered in ascending order, null last."""

    def __init__(self, together: ColumnTogether, rows: int) -> None:
        """Take the published values of so many rows, and those of people."""
        distinct, codes = together.values, together.codes
        narrow = np.int16 if len(distinct) < np.iinfo(np.int16).max else np.int32
        number: np.ndarray = np.where(codes < 0, len(distinct), codes).astype(narrow)
        self.cells, self.values = number[:rows], number[rows:]
        self.single = self.cells
        self._null, self._place = len(distinct), _places(distinct)
        self._times = np.bincount(self.cells, minlength=self._null + 1)
        self._shown = np.flatnonzero(self._times)
        self._median = _median(self._times[: self._null])

    @cached_property
    def placed_people(self) -> PlacedNumbers:
        """See `ComparedColumn`."""
        return PlacedNumbers(self.values)

    def spans(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `ComparedColumn`.

        Numbers above the median are like all that are as large or larger, other numbers like all
        that are as small or smaller. Other values, and null, are like equal ones only.
        """
        cells = cells.astype(np.int64)
        if self._place is None:
            return cells, cells + 1
        is_null, is_above = cells == self._null, cells > self._median
        low = np.where(is_null | is_above, cells, 0)
        return low, np.where(is_above & ~is_null, self._null, cells + 1)

    def spans_of_people(self, cells: Span) -> Spans:
        """See `ComparedColumn`: cells are values."""
        return [cells]

    def draw_condition(self, generator: np.random.Generator) -> Spans:
        """Draw a published value and one of =, ≠ and, for numbers, >, <, ≥, ≤.

        Null is neither larger nor smaller than any number.
        """
        cell = int(generator.choice(self._shown))
        ways = _UNORDERED if self._place is None or cell == self._null else _ORDERED
        return _values_that_are(ways[generator.integers(len(ways))], cell, self._null)

    def distances(self, person: int) -> np.ndarray:
        """Return the difference of numbers as a share of their range; of other values 0 or 1."""
        value = int(self.values[person])
        if self._place is None or value == self._null:
            return np.where(np.arange(self._null + 1) == value, 0.0, 1.0)
        far = np.abs(self._place - self._place[value]) / (np.ptp(self._place) or 1.0)
        return np.append(far, 1.0)

    def share_right(self, person: int, tolerance: float) -> float:
        """Return the share of published rows whose value is a person's, as `are_right` decides."""
        return float(self._times @ self.are_right(person, tolerance) / len(self.cells))

    def are_right(self, person: int, tolerance: float) -> np.ndarray:
        """Decide which cells are a person's value, or nearly if it is a number (bool, by cell).

        Args:
            person: the number of the person.
            tolerance: the largest difference from a published number, as a share of it.
        """
        value = int(self.values[person])
        if self._place is None or value == self._null:
            return np.asarray(np.arange(self._null + 1) == value)
        near = np.abs(self._place - self._place[value]) <= tolerance * np.abs(self._place)
        return np.append(near, [False])


class LabelColumn:
    """A column of labels, each of which admits some values."""

    def __init__(self, labels: Sequence[Admitted], cells: np.ndarray, people: "Fits") -> None:
        """Take the labels, each row's label (int32), and the people whom labels admit."""
        self.cells, self.values = cells, people.values
        self._shown = np.flatnonzero(np.bincount(cells))
        self._admits = people.admits
        alone = np.array([_is_single(label) for label in labels])
        first = np.where(alone & self._admits.any(axis=1), self._admits.argmax(axis=1), -1)
        self.single = first.astype(np.int32)[cells]

    @cached_property
    def placed_people(self) -> PlacedNumbers:
        """See `ComparedColumn`."""
        return PlacedNumbers(self.values)

    def spans(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `ComparedColumn`: a label is like itself only."""
        cells = cells.astype(np.int64)
        return cells, cells + 1

    def spans_of_people(self, cells: Span) -> Spans:
        """See `ComparedColumn`: values that a label of the range admits."""
        return runs_of(np.asarray(self._admits[cells[0] : cells[1]].any(axis=0)))

    def draw_condition(self, generator: np.random.Generator) -> Spans:
        """Draw a published label, and whether people are admitted or not."""
        cell, is_admitted = int(generator.choice(self._shown)), bool(generator.integers(2))
        return runs_of(np.asarray(self._admits[cell] == is_admitted))

    def distances(self, person: int) -> np.ndarray:
        """Return 0 where the label admits the person's value, otherwise 1."""
        return np.where(self._admits[:, self.values[person]], 0.0, 1.0)


class Fits:
    """The values that labels admit, and the values of people.

    Attributes:
        admits: whether each label admits each value, null last (bool, labels x values).
        values: the value of each person (int32).
    """

    def __init__(self, admits: np.ndarray, codes: np.ndarray) -> None:
        """Take codes of values, -1 for null."""
        self.admits = admits
        self.values = np.where(codes < 0, admits.shape[1] - 1, codes).astype(np.int32)


_UNORDERED = "=≠"
_ORDERED = "=≠><≥≤"


def _values_that_are(way: str, cell: int, null: int) -> Spans:
    """Return the values that compare so with one of them; null is the last number, if there.

    >>> _values_that_are("≠", 0, 5), _values_that_are("≥", 3, 5)
    ([(1, 6)], [(3, 5)])
    """
    spans = {
        "=": [(cell, cell + 1)],
        "≠": [(0, cell), (cell + 1, null + 1)],
        ">": [(cell + 1, null)],
        "<": [(0, cell)],
        "≥": [(cell, null)],
        "≤": [(0, cell + 1)],
    }
    return [(low, high) for low, high in spans[way] if low < high]


def _is_single(label: Admitted) -> bool:
    """Decide whether a label admits only one value, or only null."""
    match label:
        case ListedValues(values=values, null=null):
            return len(values) + null == 1
        case Between(low=low, high=high, null=null):
            return low is not None and low == high and not null
    return False


def _places(values: pa.Array) -> np.ndarray | None:
    """Return the values as numbers (float64), or None if they are no numbers."""
    type_ = values.type
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    if pa.types.is_decimal(type_):
        return np.array([float(value) for value in values.to_pylist()])
    return None


def _median(times: np.ndarray) -> float:
    """Return the median of numbers from 0, of which each occurs so often; -1 without any."""
    ends = np.cumsum(times)
    total = int(ends[-1]) if len(ends) else 0
    middle = np.searchsorted(ends, [(total - 1) // 2, total // 2], side="right")
    return float(middle.mean()) if total else -1.0
