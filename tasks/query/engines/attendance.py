"""Which rows that a question may mean are people's, where some are those of people who left.

Of a class of n rows, v are vacant, and nothing tells which. A question may mean some rows of the
class, and surely means some of these. In a world it counts a set of the former, from which at most
v of the latter are missing, for what is missing is vacant; and at most n - v rows, for no others
are people's. Every such set is that of some world: the vacant rows are found among the others. So
from below the least values that must count are those of the least rows that are surely meant, as
many as cannot all be vacant, and the least others may count up to n - v; from above the same.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_integers
from sfumato.tasks.forms.lineage import LINEAGE, rows_of
from sfumato.tasks.query.bounds.extremes import Counting
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.engines.engine import Files, read_table
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class Meant:
    """Rows that a question may mean.

    Attributes:
        rows: their positions (int64, one per row).
        must: which of them it surely means (bool, one per row).
        chance: that it means them, NaN where nothing is known (float64, one per row).
        times: how many published rows each stands for (int64, one per row); None for one each.
    """

    rows: np.ndarray
    must: np.ndarray
    chance: np.ndarray
    times: np.ndarray | None = None

    def where(self, kept: np.ndarray) -> "Meant":
        """Some of them (bool, one per row)."""
        times = None if self.times is None else self.times[kept]
        return Meant(self.rows[kept], self.must[kept], self.chance[kept], times)


class Attendance(Protocol):
    """What is known of whether published rows are people's."""

    def counts(self, meant: Meant) -> tuple[int, int]:
        """The least and the greatest number of rows that count."""
        ...

    def chances(self, meant: Meant) -> np.ndarray:
        """How many of the rows that each stands for are expected to count (float64, one per row).

        Of one that stands for itself, the chance that it counts.
        """
        ...

    def countings(self, meant: Meant, codes: np.ndarray, values: int) -> tuple[Counting, Counting]:
        """How many copies of each value count, from below and from above.

        Args:
            meant: the rows.
            codes: of their values, in the order of these (int64, one per row).
            values: how many different ones there are.
        """
        ...

    def choices(self, meant: Meant, units: np.ndarray, digits: int) -> Choices:
        """The choices among the rows' numbers (one per row, units of which 10**digits make one)."""
        ...


class EveryoneIsHere:
    """Every row is somebody's."""

    def counts(self, meant: Meant) -> tuple[int, int]:
        """As many as are surely meant, and all."""
        if meant.times is None:
            return int(meant.must.sum()), len(meant.rows)
        return int(meant.times[meant.must].sum()), int(meant.times.sum())

    def chances(self, meant: Meant) -> np.ndarray:
        """Those of being meant, of each published row that a row stands for."""
        return meant.chance if meant.times is None else meant.chance * meant.times

    def countings(self, meant: Meant, codes: np.ndarray, values: int) -> tuple[Counting, Counting]:
        """The values of the rows that are surely meant, and those of the others."""
        counting = Counting(
            *(_counted(codes, of, meant.times, values) for of in (meant.must, ~meant.must))
        )
        return counting, counting

    def choices(self, meant: Meant, units: np.ndarray, digits: int) -> Choices:
        """All numbers that must count, and any of those that may."""
        sure, every = self.counts(meant)
        counts = np.array([sure, 0]), np.array([sure, every - sure])
        kind = np.where(meant.must, 0, 1)
        if meant.times is not None:
            kind, units = kind.repeat(meant.times), units.repeat(meant.times)
        return Choices(kind, units, units, *counts, digits=digits)


def _counted(
    codes: np.ndarray, some: np.ndarray, times: np.ndarray | None, values: int
) -> np.ndarray:
    """How many published rows of some (bool) have each value (int64, one per value)."""
    weights = None if times is None else times[some]
    return np.bincount(codes[some], weights, values).astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class SomeHaveLeft:
    """Of each class so many rows are people's, and nothing tells which; each row stands for itself.

    Attributes:
        group: the class of each row 0, 1, … (int64, one per row).
        live: how many rows of each class are people's (int64, one per class).
    """

    group: np.ndarray
    live: np.ndarray

    def counts(self, meant: Meant) -> tuple[int, int]:
        """As many as cannot all be vacant, and as many as may be people's."""
        least, most = self._limits(meant)
        return int(least.sum()), int(most.sum())

    def chances(self, meant: Meant) -> np.ndarray:
        """Those of being meant, times the share of the class that is people's."""
        group = self.group[meant.rows]
        found: np.ndarray = meant.chance * self.live[group] / self._sizes[group]
        return found

    def countings(self, meant: Meant, codes: np.ndarray, values: int) -> tuple[Counting, Counting]:
        """Of each class the best values that must count, and the best of the others."""
        low = self._counting(meant, codes, values)
        high = self._counting(meant, values - 1 - codes, values)
        return low, Counting(high.sure[::-1], high.maybe[::-1])

    def choices(self, meant: Meant, units: np.ndarray, digits: int) -> Choices:
        """Numbers that are surely meant, and others, of each class.

        Where a class has both, that so many rows at most are people's is known of each alone.
        """
        kind = 2 * self.group[meant.rows] + ~meant.must
        _, first, number = np.unique(kind, return_index=True, return_inverse=True)
        group, must = self.group[meant.rows[first]], meant.must[first]
        times = np.bincount(number, minlength=len(first))
        least = np.where(must, np.maximum(times - self._vacant[group], 0), 0)
        return Choices(
            number, units, units, least, np.minimum(times, self.live[group]), digits=digits
        )

    def _counting(self, meant: Meant, codes: np.ndarray, values: int) -> Counting:
        """The copies that count, where values of lower codes are the better ones."""
        least, most = self._limits(meant)
        group = self.group[meant.rows]
        sure = _first(group, codes, meant.must, least)
        maybe = _first(group, codes, ~sure, most - least)
        return Counting(*(np.bincount(codes[of], minlength=values) for of in (sure, maybe)))

    def _limits(self, meant: Meant) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest number of rows of each class that count (int64)."""
        group, classes = self.group[meant.rows], len(self.live)
        surely = np.bincount(group[meant.must], minlength=classes)
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
    """What a release tells of whether its rows are people's."""
    if not declared.composed:
        return EveryoneIsHere()
    lineage = read_table(tables[LINEAGE])
    return SomeHaveLeft(as_integers(rows[GROUP_ID]), rows_of(lineage))


def _first(
    group: np.ndarray, codes: np.ndarray, among: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """Which rows are the first of their group (bool, one per row).

    Args:
        group: of each row (int64).
        codes: by which rows are ordered in their group (int64).
        among: the rows of which they are the first (bool).
        number: of rows of each group (int64, one per group).
    """
    places = np.flatnonzero(among)
    order = places[np.lexsort((codes[places], group[places]))]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    chosen = np.zeros(len(group), dtype=bool)
    chosen[order[rank < number[group[order]]]] = True
    return chosen
