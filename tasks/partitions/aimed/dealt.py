"""Values dealt at random to some rows, in the groups of `ke` that they would be shown in."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.partitions.aimed.widths import (
    GroupWidths,
    chance_of_too_few,
    group_count_widths,
    group_widths,
    mean_widths,
)
from sfumato.tasks.partitions.ke.runs import WORTH_COMPILING
from sfumato.tasks.partitions.ke.weighted import minimum_weighted

_POINTS = 4096  # different values, to which larger hands are thinned
_MANY = 100_000  # rows of a table, from which on its loops are compiled
_HANDS, _DEALT = 16, 2000  # at most so many are dealt, and about so many values in all
REFUSAL = 1e-3
"""The chance, at most, that values dealt at random to all rows leave one part without groups."""


class Dealt:
    """What is known of rows when nobody knows who of them has which value: the multiset.

    Some of the rows have a hand of it, dealt at random.
    """

    def __init__(
        self,
        units: np.ndarray,
        k: int,
        e: int,
        randomness: Randomness,
        of: int,
        limits: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Keep the values of the rows, ascending (int64 or Python integers), and what groups need.

        Args:
            units: the values.
            k: smallest number of distinct values in a group.
            e: smallest range of a group.
            randomness: what hands are dealt by.
            of: the rows of the whole table.
            limits: of the conditions of each kind that values are counted by (float64, n x 2).
        """
        self._limits = limits or {}
        self._of = of
        self._units, self._k, self._e, self._randomness = units, k, e, randomness
        self._orders: list[np.ndarray] = []
        self._known: dict[int, GroupWidths | None] = {}
        self._allowed: dict[int, bool] = {}

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        starts = np.flatnonzero(np.append(True, self._units[1:] != self._units[:-1]))
        return self._units[starts], np.diff(np.append(starts, len(self._units)))

    def widths(self, rows: int) -> GroupWidths | None:
        """The mean widths of hands of so many rows; None where one of them has no groups."""
        if rows not in self._known:
            hands = min(_HANDS, max(2, _DEALT // max(rows, 1))) if rows < len(self._units) else 1
            made = [self._grouped(self._hand(rows, number)) for number in range(hands)]
            whole = [one for one in made if one is not None]
            self._known[rows] = mean_widths(whole) if len(whole) == hands else None
        return self._known[rows]

    def allows(self, rows: int) -> bool:
        """Decide whether so many of the rows have groups, but for a chance to be refused.

        The chances of all parts of the table add up to `REFUSAL` at most.
        """
        if rows not in self._allowed:
            values, counts = self._distinct
            chance = chance_of_too_few(values, counts, rows, self._k, self._e)
            self._allowed[rows] = chance <= REFUSAL * rows / max(self._of, 1)
        return self._allowed[rows]

    def _hand(self, rows: int, number: int) -> np.ndarray:
        """The values of some rows, ascending; hands of one order have no value in common."""
        if rows == len(self._units):
            return self._units
        order, place = divmod(number, len(self._units) // rows)
        while len(self._orders) <= order:
            self._orders.append(np.argsort(self._randomness(len(self._units)), kind="stable"))
        hand: np.ndarray = self._units[
            np.sort(self._orders[order][place * rows : (place + 1) * rows])
        ]
        return hand

    def _grouped(self, hand: np.ndarray) -> GroupWidths | None:
        rows, k = len(hand), self._k
        values, counts = np.unique(hand, return_counts=True)
        if len(values) > _POINTS:
            hand = hand[(2 * np.arange(_POINTS) + 1) * rows // (2 * _POINTS)]
            values, counts = np.unique(hand, return_counts=True)
            k = -(-k * _POINTS // rows)  # fewer values stand for as many
        worth = 0 if self._of >= _MANY else WORTH_COMPILING
        found = minimum_weighted(values, counts, k, self._e, worth)
        if found is None:
            return None
        numbers, bounds = hand.astype(np.float64), found[0]
        of_counts = {
            kind: group_count_widths(numbers, bounds, rows, limits)
            for kind, limits in self._limits.items()
        }
        return replace(group_widths(numbers, bounds, rows), counts=of_counts)


def sorted_units(units: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The values of rows, ascending.

    Args:
        units: of each code, ascending.
        codes: of each row (integers).
    """
    found: np.ndarray = units[np.sort(codes)]
    return found
