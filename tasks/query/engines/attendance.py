"""Attendance: which published rows belong to people, in a release that has rows of people who left.

A class is a group of a release whose versions are composed. Of its n rows, v are vacant: they
belonged to people who left. Nothing shows which rows these are. A condition possibly holds on some
rows of the class, and surely holds on some of these. In any table that the release may come from,
the rows that count are a set of the possible ones. At most v of the sure rows are missing from it,
because a missing row is vacant. It has at most n - v rows, because no others belong to people. For
every such set there is such a table: the vacant rows are among the others. So for lower bounds the
least values of the sure rows must count, as many as cannot all be vacant, and the least others may
count up to n - v. For upper bounds the same holds from the greatest values.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import as_integers
from sfumato.tasks.forms.lineage import LINEAGE, rows_of
from sfumato.tasks.query.bounds.extremes import Counting
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.engines.engine import Files, read_table
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class PossibleRows:
    """Rows on which a question's condition may hold.

    Attributes:
        rows: their positions (int64, one per row).
        must: whether the condition surely holds on the row (bool, one per row).
        chance: the chance that it holds, NaN if unknown (float64, one per row).
        times: the number of published rows that each stands for (int64, one per row); None for one
            each.
    """

    rows: np.ndarray
    must: np.ndarray
    chance: np.ndarray
    times: np.ndarray | None = None

    def where(self, chosen: np.ndarray) -> "PossibleRows":
        """Return the chosen rows (bool, one per row)."""
        times = None if self.times is None else self.times[chosen]
        return PossibleRows(self.rows[chosen], self.must[chosen], self.chance[chosen], times)


class Attendance(Protocol):
    """The knowledge of a release about which of its rows belong to people."""

    def counts(self, rows: PossibleRows) -> tuple[int, int]:
        """Return the least and the greatest number of rows that count."""
        ...

    def chances(self, rows: PossibleRows) -> np.ndarray:
        """Return the expected number of published rows that count (float64, one per row).

        For a row that stands only for itself, this is the chance that it counts.
        """
        ...

    def countings(
        self, rows: PossibleRows, codes: np.ndarray, values: int
    ) -> tuple[Counting, Counting]:
        """Return the copies of each value that count for lower bounds, and for upper bounds.

        Args:
            rows: the rows.
            codes: the codes of their values, in the order of the values (int64, one per row).
            values: the number of different values.
        """
        ...

    def choices(self, rows: PossibleRows, units: np.ndarray, digits: int) -> Choices:
        """Return the choices among the rows' numbers: `units` (one per row), 10**digits to 1."""
        ...


class FullAttendance:
    """Every row belongs to a person."""

    def counts(self, rows: PossibleRows) -> tuple[int, int]:
        """Return the number of rows that surely count, and the number of all rows."""
        if rows.times is None:
            return int(rows.must.sum()), len(rows.rows)
        return int(rows.times[rows.must].sum()), int(rows.times.sum())

    def chances(self, rows: PossibleRows) -> np.ndarray:
        """Return each row's chance to count, times the published rows that it stands for."""
        return rows.chance if rows.times is None else rows.chance * rows.times

    def countings(
        self, rows: PossibleRows, codes: np.ndarray, values: int
    ) -> tuple[Counting, Counting]:
        """Count the values of the rows that surely count, and those of the others."""
        counting = Counting(
            *(
                _count_by_value(codes, is_counted, rows.times, values)
                for is_counted in (rows.must, ~rows.must)
            )
        )
        return counting, counting

    def choices(self, rows: PossibleRows, units: np.ndarray, digits: int) -> Choices:
        """Return choices in which all numbers that must count do, and any of the others may."""
        sure, every = self.counts(rows)
        # two groups: rows that must count, and the others; these are the least and the most of each
        counts = np.array([sure, 0]), np.array([sure, every - sure])
        kind = np.where(rows.must, 0, 1)
        if rows.times is not None:
            kind, units = kind.repeat(rows.times), units.repeat(rows.times)
        return Choices(kind, units, units, *counts, digits=digits)


def _count_by_value(
    codes: np.ndarray, is_counted: np.ndarray, times: np.ndarray | None, values: int
) -> np.ndarray:
    """Count the published rows of each value among some rows (bool); int64, one per value."""
    weights = None if times is None else times[is_counted]
    return np.bincount(codes[is_counted], weights, values).astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class PartialAttendance:
    """A known number of rows in each class belongs to people, and nothing shows which rows.

    Each row stands only for itself.

    Attributes:
        group: the class of each row 0, 1, … (int64, one per row).
        live: the number of rows of each class that belong to people (int64, one per class).
    """

    group: np.ndarray
    live: np.ndarray

    def counts(self, rows: PossibleRows) -> tuple[int, int]:
        """Return how many rows surely count although some are vacant, and how many may count."""
        least, most = self._limits(rows)
        return int(least.sum()), int(most.sum())

    def chances(self, rows: PossibleRows) -> np.ndarray:
        """Return each row's chance to count, times the share of people in its class."""
        group = self.group[rows.rows]
        chances: np.ndarray = rows.chance * self.live[group] / self._sizes[group]
        return chances

    def countings(
        self, rows: PossibleRows, codes: np.ndarray, values: int
    ) -> tuple[Counting, Counting]:
        """Count in each class the best values that must count, and the best of the others."""
        low = self._counting(rows, codes, values)
        high = self._counting(rows, values - 1 - codes, values)
        return low, Counting(high.sure[::-1], high.maybe[::-1])

    def choices(self, rows: PossibleRows, units: np.ndarray, digits: int) -> Choices:
        """Return choices of sure numbers and of other numbers, per class.

        If a class has both, each kind is limited on its own by the number of rows that belong to
        people.
        """
        # the rows of a class that surely count are one group of choices, the others another one
        kind = 2 * self.group[rows.rows] + ~rows.must
        _, first, number = np.unique(kind, return_index=True, return_inverse=True)
        group, must = self.group[rows.rows[first]], rows.must[first]
        times = np.bincount(number, minlength=len(first))
        least = np.where(must, np.maximum(times - self._vacant[group], 0), 0)
        return Choices(
            number, units, units, least, np.minimum(times, self.live[group]), digits=digits
        )

    def _counting(self, rows: PossibleRows, codes: np.ndarray, values: int) -> Counting:
        """Return the copies that count if values of lower codes are the better ones."""
        least, most = self._limits(rows)
        group = self.group[rows.rows]
        sure = _first_of_groups(group, codes, rows.must, least)
        maybe = _first_of_groups(group, codes, ~sure, most - least)
        return Counting(
            *(np.bincount(codes[is_counted], minlength=values) for is_counted in (sure, maybe))
        )

    def _limits(self, rows: PossibleRows) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest number of rows of each class that count (int64)."""
        group, classes = self.group[rows.rows], len(self.live)
        surely = np.bincount(group[rows.must], minlength=classes)
        possibly = np.bincount(group, minlength=classes)
        return np.maximum(surely - self._vacant, 0), np.minimum(possibly, self.live)

    @cached_property
    def _sizes(self) -> np.ndarray:
        return np.bincount(self.group, minlength=len(self.live))

    @cached_property
    def _vacant(self) -> np.ndarray:
        vacant: np.ndarray = self._sizes - self.live
        return vacant


def attendance_in(tables: Files, rows: pa.Table, declared: Terms) -> Attendance:
    """Return the attendance of a release's rows, which is full unless versions are composed."""
    if not declared.is_composed:
        return FullAttendance()
    lineage = read_table(tables[LINEAGE])
    return PartialAttendance(as_integers(rows[GROUP_ID]), rows_of(lineage))


def _first_of_groups(
    group: np.ndarray, codes: np.ndarray, among: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """Mark the first rows of each group (bool, one per row).

    Args:
        group: the group of each row (int64).
        codes: the codes that order the rows of a group (int64).
        among: the rows that may be marked (bool).
        number: the number of rows to mark in each group (int64, one per group).
    """
    places = np.flatnonzero(among)
    order = places[np.lexsort((codes[places], group[places]))]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    chosen = np.zeros(len(group), dtype=bool)
    chosen[order[rank < number[group[order]]]] = True
    return chosen
