"""The categories that labels admit: spans of codes, and sets of those that leave some out."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.tasks.forms.recoded.labels import Admitted, Between, ListedValues, Prefixed, admits
from sfumato.tasks.microdata.table import Column

_LAST = chr(0x10FFFF)  # of all characters


@dataclass(frozen=True, eq=False)
class Admission:
    """The categories that each label of a column admits; arrays have an entry per label.

    Attributes:
        categories: how many there are.
        low: the first that the label admits (int64).
        high: the one after the last that it admits (int64).
        size: how many it admits (int64); fewer than lie between where it has gaps.
        members: of labels with gaps, label x categories + category (int64, ascending).
    """

    categories: int
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    members: np.ndarray

    @cached_property
    def gaps(self) -> np.ndarray:
        """Which labels do not admit all categories between their first and last (bool)."""
        return np.asarray(self.size < self.high - self.low)

    def rows_behind(self, rows: np.ndarray) -> np.ndarray:
        """The rows whose category each label admits (int64), of the rows of each category."""
        before = np.append(0, np.cumsum(rows))
        found = before[self.high] - before[self.low]
        label, category = np.divmod(self.members, self.categories)
        of_sets = np.bincount(label, rows[category], minlength=len(found)).astype(np.int64)
        return np.where(self.gaps, of_sets, found)

    def admits(self, label: np.ndarray, category: np.ndarray) -> np.ndarray:
        """Decide for pairs within the spans, with their positions, whether they are admitted."""
        found = ~self.gaps[label]
        asked = label[~found] * self.categories + category[~found]
        place = np.minimum(np.searchsorted(self.members, asked), max(len(self.members) - 1, 0))
        found[~found] = self.members[place] == asked if len(asked) else False
        return np.asarray(found)


def admission(column: Column, labels: Sequence[Admitted]) -> Admission:
    """The categories of a column (nulls first, if any) that its labels admit."""
    values, nulls = column.values.to_pylist(), int(column.has_null)
    known = [value for value in values if value == value]  # NaN stands last
    place = {value: nulls + number for number, value in enumerate(known)}
    within = _Categories(nulls, known, place, nulls + len(values))
    found = [within.of(label) for label in labels]
    sizes = np.array([len(one) for one in found], dtype=np.int64)
    low = np.array([one[0] if len(one) else 0 for one in found], dtype=np.int64)
    high = np.array([one[-1] + 1 if len(one) else 0 for one in found], dtype=np.int64)
    number = column.category()[1]
    gaps = np.flatnonzero(sizes < high - low)
    members = [label * number + np.asarray(found[label], dtype=np.int64) for label in gaps]
    return Admission(
        number, low, high, sizes, np.concatenate(members or [np.array([], dtype=np.int64)])
    )


@dataclass(frozen=True, eq=False)
class _Categories:
    """The categories of a column: one for nulls, where there are any, then those of its values.

    Attributes:
        first: the category of the first value, 0 or 1.
        values: in ascending order, NaN left out.
        place: the category of each.
        end: one past the last category.
    """

    first: int
    values: Sequence[Any]
    place: Mapping[Any, int]
    end: int

    def of(self, label: Admitted) -> range | list[int]:
        """The categories that a label admits, in ascending order."""
        found = self._of_values(label)
        if not (self.first and label.null):
            return found
        if isinstance(found, range) and found.start == self.first:
            return range(found.stop)
        return [0, *found]

    def _of_values(self, label: Admitted) -> range | list[int]:
        match label:
            case ListedValues(values=listed):
                return sorted({self.place[value] for value in listed if value in self.place})
            case Between(low=low, high=high) if low is not None:
                start, end = bisect_left(self.values, low), bisect_right(self.values, high)
                return range(self.first + start, self.first + end)
            case Prefixed(kept=kept):
                start = bisect_left(self.values, kept)
                end = bisect_left(self.values, kept + _LAST, lo=start)
                some = range(start, end)
                return [self.first + n for n in some if admits(label, self.values[n])]
        return range(self.first, self.end)
