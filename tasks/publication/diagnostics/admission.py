"""The categories that labels admit: spans of codes, and sets of those that leave some out."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.tasks.forms.recoded.labels import Admitted, Between, ListedValues, Prefixed, admits
from sfumato.tasks.microdata.table import Column


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
        return found


def admission(column: Column, labels: Sequence[Admitted]) -> Admission:
    """The categories of a column (nulls first, if any) that its labels admit."""
    values = [value for value in column.values.to_pylist() if value == value]  # NaN stands last
    place = {value: column.has_null + number for number, value in enumerate(values)}
    found = [_categories(label, column, values, place) for label in labels]
    sizes = np.array([len(one) for one in found], dtype=np.int64)
    low = np.array([one[0] if len(one) else 0 for one in found], dtype=np.int64)
    high = np.array([one[-1] + 1 if len(one) else 0 for one in found], dtype=np.int64)
    number = column.category()[1]
    gaps = np.flatnonzero(sizes < high - low)
    members = [label * number + np.asarray(found[label], dtype=np.int64) for label in gaps]
    return Admission(
        number, low, high, sizes, np.concatenate(members or [np.array([], dtype=np.int64)])
    )


def _categories(
    label: Admitted, column: Column, values: Sequence[Any], place: dict[Any, int]
) -> range | list[int]:
    """The categories that a label admits, in ascending order."""
    first, null = int(column.has_null), column.has_null and label.null
    match label:
        case ListedValues(values=listed):
            found: range | list[int] = sorted({place[value] for value in listed if value in place})
        case Between(low=low, high=high) if low is not None:
            start, end = bisect_left(values, low), bisect_right(values, high)
            found = range(first + start, first + end)
        case Prefixed(kept=kept):
            start = bisect_left(values, kept)
            end = bisect_left(values, kept + chr(0x10FFFF), lo=start)
            within = range(start, end)
            found = [first + n for n in within if admits(label, values[n])]
        case _:
            found = range(first, first + len(column.values))
    if null:
        return range(found.stop) if _begins(found, first) else [0, *found]
    return found


def _begins(found: range | list[int], first: int) -> bool:
    return isinstance(found, range) and len(found) > 0 and found.start == first
