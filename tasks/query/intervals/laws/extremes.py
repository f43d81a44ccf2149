"""The law of the least or the greatest value of selected rows.

Items are the values that may be among those of the selected rows, the best ones first: the greatest
for a maximum. The chance that none of the first ones is among them is all that an extreme depends
on. For shuffled groups it is known exactly: of a group with n values, of which the a best ones are
none of the h selected rows', the next one is not either with chance (n - a - h) / (n - a).
"""

import math
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.query.intervals.laws.normal import Z95, deviations_of, log_tail


@dataclass(frozen=True, eq=False)
class ExtremeLaw:
    """The distribution of the best of some values.

    Attributes:
        codes: of the distinct values, the best one first (int64).
        none: the logarithm of the chance that no value as good is there (float64, one per value).
    """

    codes: np.ndarray
    none: np.ndarray

    @property
    def middle(self) -> int:
        """The place of the value that is reached with a chance of a half."""
        return int(np.argmax(self._reached >= math.log(0.5)))

    def within(self, factor: float) -> tuple[int, int]:
        """The places of the best and of the worst value of an interval, `factor` times as wide."""
        least = log_tail(Z95 * factor)
        best = int(np.argmax(self._reached > least))
        worst = int(len(self.codes) - 1 - np.argmax(self._not_exceeded[::-1] > least))
        return best, max(best, worst)

    def needed(self, place: int) -> float:
        """The least factor whose interval has the value at a place."""
        rarer = min(self._reached[place], self._not_exceeded[place])
        return deviations_of(float(rarer)) / Z95

    @property
    def _reached(self) -> np.ndarray:
        """The logarithm of the chance that a value as good is there."""
        with np.errstate(divide="ignore"):
            reached: np.ndarray = np.log(-np.expm1(self.none))
        return reached

    @property
    def _not_exceeded(self) -> np.ndarray:
        """The logarithm of the chance that no better one is there."""
        return np.append(0.0, self.none[:-1])


def extreme_law(codes: np.ndarray, missed: np.ndarray) -> ExtremeLaw:
    """The distribution where items are missed one by one.

    Args:
        codes: of the items' values, those of the best ones first (int64, one per item).
        missed: the logarithm of the chance that an item is not there, if no better one is
            (float64, one per item).
    """
    last = np.append(np.flatnonzero(np.diff(codes)), len(codes) - 1)
    with np.errstate(invalid="ignore"):
        none = np.cumsum(missed)[last]
    none = np.where(np.isnan(none), -np.inf, none)
    none[-1] = -np.inf  # some value is there
    return ExtremeLaw(codes[last].astype(np.int64), none)


def missed_of_groups(size: np.ndarray, better: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """The logarithm of the chance that an item of a shuffled group is no selected row's.

    Args:
        size: how many values its group has (int64, one per item).
        better: how many of these come before it (int64).
        selected: how many rows of its group are selected (int64).
    """
    left = size - better
    with np.errstate(divide="ignore"):
        missed: np.ndarray = np.log(np.maximum(left - selected, 0)) - np.log(left)
    return missed
