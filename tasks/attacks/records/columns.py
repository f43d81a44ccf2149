"""One column of published records beside people's values: what a cell says, and of whom.

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
"""Of which rows, or people, something holds (bool): of every one, or of each so manieth alone."""
Span = tuple[int, int]
"""The numbers of some cells, from one on and before another."""


class ComparedColumn(Protocol):
    """A published column and the same of people.

    Attributes:
        cells: which cell each published row has (int16 or int32, from 0).
        values: which value each person has (int16 or int32, from 0; null is one).
        single: which value each published row has (as values), -1 where its cell is no single one.
    """

    cells: np.ndarray
    values: np.ndarray
    single: np.ndarray

    def rows_like(self, row: int) -> Condition:
        """Which rows are like a published one; in a number, or beyond it."""
        ...

    def people_like(self, row: int) -> Condition:
        """Which people are."""
        ...

    def drawn(self, generator: np.random.Generator) -> Condition:
        """Of which people a condition holds that is drawn at random."""
        ...

    def rows_like_each(self, rows: np.ndarray, step: int) -> np.ndarray:
        """Which rows, each so manieth, are like each of some published ones (bool, like x rows)."""
        ...

    def distances(self, person: int) -> np.ndarray:
        """How far each cell is from a person, from 0 to 1 (float64, by the cells' numbers)."""
        ...

    def distance(self, person: int) -> np.ndarray:
        """How far each published row is from a person, from 0 to 1 (float64)."""
        ...


class ExactColumn:
    """A column that is published as it is: cells are values, numbered as they ascend, null last."""

    def __init__(self, shown: pa.Array, people: pa.Array) -> None:
        """Take the published values and those of people, of one type."""
        known, codes = rank(pa.chunked_array([shown, people]))
        narrow = np.int16 if len(known) < np.iinfo(np.int16).max else np.int32
        number: np.ndarray = np.where(codes < 0, len(known), codes).astype(narrow)
        self._has_null = bool((codes < 0).any())
        self.cells, self.values = number[: len(shown)], number[len(shown) :]
        self.single = self.cells
        self._null, self._shown = len(known), np.unique(self.cells)
        self._place = _places(known)
        self._times = np.bincount(self.cells, minlength=self._null + 1)
        self._median = _median(self.cells[self.cells < self._null])

    def rows_like(self, row: int) -> Condition:
        """The same value; of numbers as much and more above the median, as little and less below.

        Null is like null alone.
        """
        return self._like(row, self.cells)

    def people_like(self, row: int) -> Condition:
        """The same of people."""
        return self._like(row, self.values)

    def drawn(self, generator: np.random.Generator) -> Condition:
        """A value that is published, and one of =, ≠ and, of numbers, >, <, ≥, ≤."""
        cell = int(generator.choice(self._shown))
        ways = _UNORDERED if self._place is None or cell == self._null else _ORDERED
        return self._known(ways[generator.integers(len(ways))], self.values, cell)

    def span(self, cell: int) -> Span:
        """The cells that are like one, as `rows_like` has it."""
        if self._place is None or cell == self._null:
            return cell, cell + 1
        return (cell, self._null) if cell > self._median else (0, cell + 1)

    def rows_like_each(self, rows: np.ndarray, step: int) -> np.ndarray:
        """See `rows_like`."""
        some, cells = self.cells[::step], self.cells[rows][:, np.newaxis]
        if self._place is None:
            return np.asarray(some == cells)
        found = np.empty((len(cells), len(some)), dtype=bool)
        null, above = cells[:, 0] == self._null, cells[:, 0] > self._median
        for of, way in ((null, eq), (above & ~null, ge), (~above & ~null, le)):
            found[of] = way(some, cells[of])
        if self._has_null:
            found[~null] &= some < self._null
        return found

    def distance(self, person: int) -> np.ndarray:
        """See `distances`."""
        return np.asarray(self.distances(person).take(self.cells))

    def distances(self, person: int) -> np.ndarray:
        """The difference of numbers as a share of their range; otherwise 1 from another value."""
        value = int(self.values[person])
        if self._place is None or value == self._null:
            return np.where(np.arange(self._null + 1) == value, 0.0, 1.0)
        far = np.abs(self._place - self._place[value]) / (np.ptp(self._place) or 1.0)
        return np.append(far, 1.0)

    def share_right(self, person: int, tolerance: float) -> float:
        """The share of all published values that are; see `right`."""
        return float(self._times @ self._right(person, tolerance) / len(self.cells))

    def right(self, person: int, tolerance: float) -> np.ndarray:
        """Which published values are a person's; of numbers, nearly (bool, one per row).

        Args:
            person: whose.
            tolerance: by which share of the published number theirs may differ.
        """
        return np.asarray(self._right(person, tolerance)[self.cells])

    def _right(self, person: int, tolerance: float) -> np.ndarray:
        """Of each cell, null the last."""
        value = int(self.values[person])
        if self._place is None or value == self._null:
            return np.asarray(np.arange(self._null + 1) == value)
        near = np.abs(self._place - self._place[value]) <= tolerance * np.abs(self._place)
        return np.append(near, [False])

    def _like(self, row: int, numbers: np.ndarray) -> Condition:
        cell = int(self.cells[row])
        way: Callable[..., np.ndarray] = eq
        if self._place is not None and cell < self._null:
            way = ge if cell > self._median else le
        return self._known(way, numbers, cell)

    def _known(self, way: Callable[..., np.ndarray], numbers: np.ndarray, cell: int) -> Condition:
        """Of which numbers a comparison holds; of null none does but with null."""

        def holds(step: int) -> np.ndarray:
            some = numbers[::step]
            found = np.asarray(way(some, cell))
            whole = way in _UNORDERED or not self._has_null
            return found if whole else found & (some < self._null)

        return holds


class LabelColumn:
    """A column of labels, each of which admits some values."""

    def __init__(self, labels: Sequence[Admitted], cells: np.ndarray, people: "Fits") -> None:
        """Take the labels, each row's (int32), and of which people's values they hold."""
        self.cells, self.values, self._shown = cells, people.values, np.unique(cells)
        self._admits = people.admits
        alone = np.array([_is_single(label) for label in labels])
        first = np.where(alone & self._admits.any(axis=1), self._admits.argmax(axis=1), -1)
        self.single = first[cells]

    def rows_like(self, row: int) -> Condition:
        """Rows with the same label."""
        return lambda step: np.asarray(self.cells[::step] == self.cells[row])

    def people_like(self, row: int) -> Condition:
        """The people whom it admits."""
        return self._admitted(int(self.cells[row]), wanted=True)

    def drawn(self, generator: np.random.Generator) -> Condition:
        """A label that is published, and admitted or not."""
        cell = int(generator.choice(self._shown))
        return self._admitted(cell, wanted=bool(generator.integers(2)))

    def _admitted(self, cell: int, *, wanted: bool) -> Condition:
        return lambda step: np.asarray(self._admits[cell][self.values[::step]] == wanted)

    def rows_like_each(self, rows: np.ndarray, step: int) -> np.ndarray:
        """See `rows_like`."""
        return np.asarray(self.cells[::step] == self.cells[rows][:, np.newaxis])

    def distance(self, person: int) -> np.ndarray:
        """See `distances`."""
        return np.asarray(self.distances(person).take(self.cells))

    def distances(self, person: int) -> np.ndarray:
        """0 where the label admits the person's value, otherwise 1."""
        return np.where(self._admits[:, self.values[person]], 0.0, 1.0)


class Fits:
    """Which labels admit which people.

    Attributes:
        admits: which values each label admits, null the last (bool, labels x values).
        values: each person's (int32).
    """

    def __init__(self, admits: np.ndarray, codes: np.ndarray) -> None:
        """Take codes of values, -1 for null."""
        self.admits = admits
        self.values = np.where(codes < 0, admits.shape[1] - 1, codes).astype(np.int32)


_UNORDERED = (eq, ne)
_ORDERED = (eq, ne, gt, lt, ge, le)


def _is_single(label: Admitted) -> bool:
    """Whether a label admits one value alone, or null alone."""
    match label:
        case ListedValues(values=values, null=null):
            return len(values) + null == 1
        case Between(low=low, high=high, null=null):
            return low is not None and low == high and not null
    return False


def _places(values: pa.Array) -> np.ndarray | None:
    """Where values stand on a line (float64); None where they are no numbers."""
    type_ = values.type
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return np.array([float(one) for one in values.to_pylist()])
    return None


def _median(codes: np.ndarray) -> float:
    return float(np.median(codes)) if len(codes) else -1.0
