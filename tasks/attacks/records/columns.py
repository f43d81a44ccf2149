"""One column of published records, compared with people's values.

Distances are Gower's (A general coefficient of similarity and some of its properties, 1971).
"""

from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.ranks import rank
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues

Condition = Callable[[int], np.ndarray]
"""Test of rows or people (bool): called with a step, it tests every `step`th one."""
Span = tuple[int, int]
"""A range of cells' numbers: the first, and the first one after it."""


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

    def rows_like(self, row: int) -> Condition:
        """Return the condition that a row has the value of `row`, or for numbers one beyond it."""
        ...

    def people_like(self, row: int) -> Condition:
        """Return the condition that a person has the value of `row`, or one beyond it."""
        ...

    def draw_condition(self, generator: np.random.Generator) -> Condition:
        """Draw a condition on people at random."""
        ...

    def rows_like_each(self, rows: np.ndarray, step: int) -> np.ndarray:
        """Decide which of every `step`th row are like each of `rows` (bool, rows x tested rows)."""
        ...

    def distances(self, person: int) -> np.ndarray:
        """Return the distance of each cell from a person, from 0 to 1 (float64, by cell)."""
        ...

    def distance(self, person: int) -> np.ndarray:
        """Return the distance of each published row from a person, from 0 to 1 (float64)."""
        ...


class ExactColumn:
    """A column published as it is: cells are values, numbered in ascending order, null last."""

    def __init__(self, published: pa.Array, people: pa.Array) -> None:
        """Take the published values and those of people, of one type."""
        distinct, codes = rank(pa.chunked_array([published, people]))
        narrow = np.int16 if len(distinct) < np.iinfo(np.int16).max else np.int32
        number: np.ndarray = np.where(codes < 0, len(distinct), codes).astype(narrow)
        self._has_null = bool((codes < 0).any())
        self.cells, self.values = number[: len(published)], number[len(published) :]
        self.single = self.cells
        self._null, self._shown = len(distinct), np.unique(self.cells)
        self._place = _places(distinct)
        self._times = np.bincount(self.cells, minlength=self._null + 1)
        self._median = _median(self.cells[self.cells < self._null])

    def rows_like(self, row: int) -> Condition:
        """Return the condition that a row is like `row`.

        Numbers above the median are like all that are as large or larger, other numbers like all
        that are as small or smaller. Other values, and null, are like equal ones only.
        """
        return self._condition_of_row(row, self.cells)

    def people_like(self, row: int) -> Condition:
        """Return the condition that a person's value is like that of `row` (see `rows_like`)."""
        return self._condition_of_row(row, self.values)

    def draw_condition(self, generator: np.random.Generator) -> Condition:
        """Draw a published value and one of =, ≠ and, for numbers, >, <, ≥, ≤."""
        cell = int(generator.choice(self._shown))
        ways = _UNORDERED if self._place is None or cell == self._null else _ORDERED
        return self._compare(ways[generator.integers(len(ways))], self.values, cell)

    def span(self, cell: int) -> Span:
        """Return the range of cells that are like `cell`, as `rows_like` compares."""
        if self._place is None or cell == self._null:
            return cell, cell + 1
        return (cell, self._null) if cell > self._median else (0, cell + 1)

    def rows_like_each(self, rows: np.ndarray, step: int) -> np.ndarray:
        """See `rows_like`."""
        some, cells = self.cells[::step], self.cells[rows][:, np.newaxis]
        if self._place is None:
            return np.asarray(some == cells)
        is_like = np.empty((len(cells), len(some)), dtype=bool)
        null, above = cells[:, 0] == self._null, cells[:, 0] > self._median
        for mask, way in ((null, eq), (above & ~null, ge), (~above & ~null, le)):
            is_like[mask] = way(some, cells[mask])
        if self._has_null:
            is_like[~null] &= some < self._null
        return is_like

    def distance(self, person: int) -> np.ndarray:
        """See `distances`."""
        return np.asarray(self.distances(person).take(self.cells))

    def distances(self, person: int) -> np.ndarray:
        """Return the difference of numbers as a share of their range; of other values 0 or 1."""
        value = int(self.values[person])
        if self._place is None or value == self._null:
            return np.where(np.arange(self._null + 1) == value, 0.0, 1.0)
        far = np.abs(self._place - self._place[value]) / (np.ptp(self._place) or 1.0)
        return np.append(far, 1.0)

    def share_right(self, person: int, tolerance: float) -> float:
        """Return the share of published rows whose value is a person's, as `right` decides."""
        return float(self._times @ self._right(person, tolerance) / len(self.cells))

    def right(self, person: int, tolerance: float) -> np.ndarray:
        """Decide which rows have a person's value, or nearly if it is a number (bool, one per row).

        Args:
            person: the number of the person.
            tolerance: the largest difference from a published number, as a share of it.
        """
        return np.asarray(self._right(person, tolerance)[self.cells])

    def _right(self, person: int, tolerance: float) -> np.ndarray:
        """Decide which cells are a person's value (bool, one per cell, null last)."""
        value = int(self.values[person])
        if self._place is None or value == self._null:
            return np.asarray(np.arange(self._null + 1) == value)
        near = np.abs(self._place - self._place[value]) <= tolerance * np.abs(self._place)
        return np.append(near, [False])

    def _condition_of_row(self, row: int, numbers: np.ndarray) -> Condition:
        cell = int(self.cells[row])
        way: Callable[..., np.ndarray] = eq
        if self._place is not None and cell < self._null:
            way = ge if cell > self._median else le
        return self._compare(way, numbers, cell)

    def _compare(self, way: Callable[..., np.ndarray], numbers: np.ndarray, cell: int) -> Condition:
        """Return the condition that a comparison with a cell holds; null equals only null."""

        def holds(step: int) -> np.ndarray:
            some = numbers[::step]
            is_true = np.asarray(way(some, cell))
            whole = way in _UNORDERED or not self._has_null
            return is_true if whole else is_true & (some < self._null)

        return holds


class LabelColumn:
    """A column of labels, each of which admits some values."""

    def __init__(self, labels: Sequence[Admitted], cells: np.ndarray, people: "Fits") -> None:
        """Take the labels, each row's label (int32), and the people whom labels admit."""
        self.cells, self.values, self._shown = cells, people.values, np.unique(cells)
        self._admits = people.admits
        alone = np.array([_is_single(label) for label in labels])
        first = np.where(alone & self._admits.any(axis=1), self._admits.argmax(axis=1), -1)
        self.single = first[cells]

    def rows_like(self, row: int) -> Condition:
        """Return the condition that a row has the same label as `row`."""
        return lambda step: np.asarray(self.cells[::step] == self.cells[row])

    def people_like(self, row: int) -> Condition:
        """Return the condition that the label of `row` admits a person."""
        return self._people_admitted(int(self.cells[row]), is_admitted=True)

    def draw_condition(self, generator: np.random.Generator) -> Condition:
        """Draw a published label, and whether people are admitted or not."""
        cell = int(generator.choice(self._shown))
        return self._people_admitted(cell, is_admitted=bool(generator.integers(2)))

    def _people_admitted(self, cell: int, *, is_admitted: bool) -> Condition:
        return lambda step: np.asarray(self._admits[cell][self.values[::step]] == is_admitted)

    def rows_like_each(self, rows: np.ndarray, step: int) -> np.ndarray:
        """See `rows_like`."""
        return np.asarray(self.cells[::step] == self.cells[rows][:, np.newaxis])

    def distance(self, person: int) -> np.ndarray:
        """See `distances`."""
        return np.asarray(self.distances(person).take(self.cells))

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


_UNORDERED = (eq, ne)
_ORDERED = (eq, ne, gt, lt, ge, le)


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
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return np.array([float(value) for value in values.to_pylist()])
    return None


def _median(codes: np.ndarray) -> float:
    return float(np.median(codes)) if len(codes) else -1.0
