"""Conditions on a release whose values are shuffled anew for each condition.

A permuted table is one draw of many, and conditions made from it hold in that draw. So each
condition is made from a draw of its own. Only the needed part is drawn: the value of one row, and
the number of other rows with its quasi-identifiers that have such a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.tasks.attacks.records.columns import common_places
from sfumato.tasks.attacks.records.records import ComparedRecords

FIRST = 1_000, 30_000  # about so many rows, or people, are tested before all are
_TOGETHER = 60_000  # most rows on which many conditions are tested together
_AS_MATRIX = 2_000  # most rows on which conditions are tested without looking cells up


@dataclass(frozen=True, eq=False)
class RowConditions:
    """Conditions to be like a row in some columns, each once values are shuffled anew.

    Attributes:
        records: the release.
        rows: the row of each condition (int64).
        columns: the positions of its columns; quasi-identifiers among them (int64, 2-D).
        low: the first cell that is like the row's, by condition and column (int64, 2-D).
        high: the first cell after these (int64, 2-D).
    """

    records: ComparedRecords
    rows: np.ndarray
    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @cached_property
    def _by_value(self) -> np.ndarray:
        """True for conditions with the sensitive column (bool)."""
        return np.asarray((self.columns >= len(self.records.quasi_identifiers)).any(axis=1))

    @cached_property
    def _limits_of_values(self) -> tuple[np.ndarray, np.ndarray]:
        """The values that are like the row's, of conditions with the sensitive column (int64)."""
        is_value = self.columns >= len(self.records.quasi_identifiers)
        return (self.low * is_value).max(axis=1), (self.high * is_value).max(axis=1)

    def test_together(self, drawing: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        """Test conditions on some of the rows, and on more those that no other row met.

        Those that a row of the same group surely meets are not tested.

        Returns:
            The conditions that none of these rows met (positions, int64), how many rows each
            condition was tested on (int64), and the step at which rows were tested last.
        """
        number, before = self.records.rows, 0
        met, tested = np.flatnonzero(~self._is_surely_met()), np.zeros(len(self.rows), np.int64)
        for step in (step for step in steps(number) if number <= _TOGETHER * step):
            tested[met] += -(-number // step)
            others = self._others_like(met, step)
            met = np.setdiff1d(met, self._met_by(*others, before, drawing), assume_unique=True)
            before = step
        return met, tested, before

    def _is_surely_met(self) -> np.ndarray:
        """True for conditions that another row meets in each draw (bool): one of the same group."""
        if not self.records.are_groups_alike:
            return np.zeros(len(self.rows), dtype=bool)
        group, values = self.records.group[self.rows], self.records.shuffled_values
        if values is None:
            return np.asarray(np.bincount(self.records.group)[group] > 1)
        like = values.count_between(group, *self._limits_of_values)
        return np.where(self._by_value, like, values.sizes[group]) > 1

    def is_met_once(
        self, index: int, before: int, drawing: np.random.Generator
    ) -> tuple[bool, int]:
        """Decide whether no other row meets a condition; return also how many rows were tested.

        Args:
            index: its position.
            before: every such row was tested before, and did not meet it.
            drawing: the source of randomness for the values of rows.
        """
        if before == 1:
            return True, 0
        like, tested = self._like_quasi_identifiers(index, 1)
        others = like[like != self.rows[index]]
        met = self._met_by(np.full(len(others), index), others, before, drawing)
        return not len(met), tested

    def is_one_person(self, index: int) -> tuple[bool, int]:
        """Decide whether exactly one person meets a condition; return also the people tested."""
        columns = self.records.columns
        people, tested = common_places(
            [
                (columns[position].placed_people, columns[position].spans_of_people((low, high)))
                for position, low, high in self._parts(index)
            ]
        )
        return len(people) == 1, tested

    def _parts(self, index: int) -> Sequence[tuple[int, int, int]]:
        """Return the columns of a condition (positions), each with its first and last cells."""
        each = (self.columns[index], self.low[index], self.high[index])
        return list(zip(*(part.tolist() for part in each), strict=True))

    def _others_like(self, conditions: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return conditions, each with another row that has its quasi-identifiers (int64 both).

        Args:
            conditions: those that are tested (positions, int64).
            step: every `step`th row is tested.
        """
        if self.records.rows > _AS_MATRIX * step:
            listed = [self._like_quasi_identifiers(index, step)[0] for index in conditions.tolist()]
            tested = np.repeat(np.arange(len(conditions)), [len(rows) for rows in listed])
            row = np.concatenate([conditions[:0], *listed])
        else:
            tested, row = self._like_in_matrix(conditions, step)
        row *= step
        is_other = row != self.rows[conditions][tested]
        return conditions[tested[is_other]], row[is_other]

    def _like_quasi_identifiers(self, index: int, step: int) -> tuple[np.ndarray, int]:
        """Return those of every `step`th row with a condition's quasi-identifiers, and the tests.

        Rows are numbered among those that are tested.
        """
        placed = self.records.placed_rows(step)
        return common_places(
            [
                (placed[position], [(low, high)])
                for position, low, high in self._parts(index)
                if position < len(placed)
            ]
        )

    def _like_in_matrix(self, conditions: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same of many conditions: the condition's place, and the row (int64 both)."""
        holds = np.ones((len(conditions), -(-self.records.rows // step)), dtype=bool)
        columns, low, high = (part[conditions] for part in (self.columns, self.low, self.high))
        for position, column in enumerate(self.records.quasi_identifiers):
            tested, place = np.nonzero(columns == position)
            cells = column.cells[::step]
            first, end = (
                part[tested, place].astype(cells.dtype)[:, np.newaxis] for part in (low, high)
            )
            holds[tested] &= (cells >= first) & (cells < end)
        places, rows = np.nonzero(holds)
        return places, rows

    def _met_by(
        self, condition: np.ndarray, row: np.ndarray, before: int, drawing: np.random.Generator
    ) -> np.ndarray:
        """Return the conditions that other rows meet in this draw (positions, int64, ascending).

        The row itself has one of the like values of its group. Rows that were tested before have
        none, so all others are equally likely in the group's remaining rows.

        Args:
            condition: the conditions (positions, int64), one for each row.
            row: the other rows that have its quasi-identifiers (int64).
            before: every such row was tested before; 0 for none.
            drawing: the source of randomness for the values of rows.
        """
        is_new = row % before != 0 if before else np.ones(len(row), dtype=bool)
        values, by_value = self.records.shuffled_values, self._by_value[condition]
        surely = condition[is_new & ~by_value]
        if values is None or not by_value.any():
            return np.unique(surely)
        key, place = _number(condition[by_value] * len(values.sizes) + values.group[row[by_value]])
        index, group = np.divmod(key, len(values.sizes))
        own = group == values.group[self.rows[index]]
        low, high = (limits[index] for limits in self._limits_of_values)
        like = values.count_between(group, low, high) - own
        number = np.bincount(place[is_new[by_value]], minlength=len(key))
        gone = np.bincount(place, minlength=len(key)) - number + own
        having = drawing.hypergeometric(like, values.sizes[group] - gone - like, number)
        return np.union1d(surely, index[having > 0])


def _number(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different keys, ascending, and the place of each among them (int64 both)."""
    place, number = dense(keys)
    different = np.empty(number, dtype=np.int64)
    different[place] = keys
    return different, place


def draw_conditions(
    records: ComparedRecords, rows: np.ndarray, columns: np.ndarray, drawing: np.random.Generator
) -> RowConditions:
    """Return the conditions to be like rows in some columns, each once values are shuffled anew.

    Args:
        records: the release.
        rows: the row of each condition (int64).
        columns: the positions of its columns, some of them quasi-identifiers (int64, 2-D).
        drawing: the source of randomness for the rows' values.
    """
    low, high = (np.zeros(columns.shape, dtype=np.int64) for _ in range(2))
    values, number = records.shuffled_values, len(records.quasi_identifiers)
    for position, column in enumerate(records.columns):
        condition, place = np.nonzero(columns == position)
        some = rows[condition]
        if position == number and values is not None:
            cells = values.draw(some, drawing)
        else:
            cells = column.cells[some]
        low[condition, place], high[condition, place] = column.spans(cells)
    return RowConditions(records, rows, columns, low, high)


def steps(number: int) -> Sequence[int]:
    """Return steps, each a multiple of the next, and 1 at last.

    With step s every s-th of `number` rows is tested: about as many as `FIRST` says, then all.

    >>> steps(100_000)
    [99, 3, 1]
    """
    finest: list[int] = [1]
    for some in reversed(FIRST):
        step = number // some // finest[-1] * finest[-1]
        finest += [step] if step > finest[-1] else []
    return finest[::-1]
