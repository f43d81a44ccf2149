"""Arbitrary selections: bounds of an average over rows picked one by one, not by a condition.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
Where quasi-identifiers are shown as they are, it is known how many rows of each group are picked.
Where labels are shown, a group is known to be meant only if all its rows are picked; of one of
which some are, it is open which ones count.
"""

import numpy as np

from sfumato.tasks.query.bounds.extremes import Counting, mean


class GroupedValues:
    """The sensitive values of groups, to be picked from.

    Args:
        group: of each row (int64), none below 0.
        values: the sensitive value of each row (int64).
    """

    def __init__(self, group: np.ndarray, values: np.ndarray) -> None:
        """Order the values within their groups."""
        self._group, self._values = group, values
        order = np.lexsort((values, group))
        self._sums = np.concatenate([[0], np.cumsum(values[order])])
        self._size = np.bincount(group)
        self._start = np.cumsum(self._size) - self._size
        self._distinct, self._code = np.unique(values, return_inverse=True)

    def error_where_rows_are_shown(self, picked: np.ndarray) -> float:
        """The width of the bounds by the truth, where each picked row's group is known.

        Args:
            picked: which rows are (bool), at least one.
        """
        hits = np.bincount(self._group[picked], minlength=len(self._size))
        ends = self._start + self._size
        low = (self._sums[self._start + hits] - self._sums[self._start]).sum()
        high = (self._sums[ends] - self._sums[ends - hits]).sum()
        return float((high - low) / self._values[picked].sum())

    def error_where_labels_are_shown(self, picked: np.ndarray) -> float:
        """The same where a group counts as a whole, or any number of its rows does."""
        hits = np.bincount(self._group[picked], minlength=len(self._size))
        whole, partly = (hits == self._size)[self._group], (hits > 0)[self._group]
        sure = np.bincount(self._code[whole], minlength=len(self._distinct))
        maybe = np.bincount(self._code[partly & ~whole], minlength=len(self._distinct))
        counting = Counting(sure, maybe)
        low, high = mean(self._distinct, counting, counting)
        return float(high - low) / float(self._values[picked].mean())


def pick_rows(rows: int, selected: int, number: int, rng: np.random.Generator) -> list[np.ndarray]:
    """So many random sets of so many rows (bool, one per row)."""
    found = []
    for _ in range(number):
        picked = np.zeros(rows, dtype=bool)
        picked[rng.choice(rows, min(selected, rows), replace=False)] = True
        found.append(picked)
    return found
