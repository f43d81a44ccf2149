"""Sensitive values dealt at random to some rows, and the widths of the `ke` groups they make."""

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
_HANDS, _DEALT = 16, 2000  # hands of one size, at most, and about the values in all of them
REFUSAL = 1e-3
"""The chance, at most, that values dealt at random to all rows leave one part without groups."""


class DealtValues:
    """The multiset of values of some rows, without the knowledge of whose each value is.

    A hand is the values that some of the rows get when the multiset is dealt at random.
    """

    def __init__(
        self,
        units: np.ndarray,
        k: int,
        e: int,
        randomness: Randomness,
        table_rows: int,
        limits: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Keep the values of the rows and the limits of groups.

        Args:
            units: the values, ascending (int64 or Python integers).
            k: smallest number of distinct values in a group.
            e: smallest range of a group.
            randomness: the source of the keys by which hands are dealt.
            table_rows: the number of rows of the whole table.
            limits: by kind, the least and the greatest value on which each condition holds
                (float64, n x 2), for counts; None if nothing is counted.
        """
        self._limits = limits or {}
        self._table_rows = table_rows
        self._units, self._k, self._e, self._randomness = units, k, e, randomness
        self._orders: list[np.ndarray] = []
        self._widths_by_rows: dict[int, GroupWidths | None] = {}
        self._allowed: dict[int, bool] = {}

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        starts = np.flatnonzero(np.append(True, self._units[1:] != self._units[:-1]))
        return self._units[starts], np.diff(np.append(starts, len(self._units)))

    def widths(self, rows: int) -> GroupWidths | None:
        """Return the mean widths of hands of so many rows; None if one of them has no groups."""
        if rows not in self._widths_by_rows:
            hands = min(_HANDS, max(2, _DEALT // max(rows, 1))) if rows < len(self._units) else 1
            made = [self._group_hand(self._hand(rows, number)) for number in range(hands)]
            whole = [widths for widths in made if widths is not None]
            self._widths_by_rows[rows] = mean_widths(whole) if len(whole) == hands else None
        return self._widths_by_rows[rows]

    def allows(self, rows: int) -> bool:
        """Return True if a hand of so many rows has groups, except with a negligible chance.

        The chances of all parts of the table that some part has no groups add up to `REFUSAL` at
        most.
        """
        if rows not in self._allowed:
            values, counts = self._distinct
            chance = chance_of_too_few(values, counts, rows, self._k, self._e)
            self._allowed[rows] = chance <= REFUSAL * rows / max(self._table_rows, 1)
        return self._allowed[rows]

    def _hand(self, rows: int, number: int) -> np.ndarray:
        """Return the values of the hand with this number, ascending.

        As many hands as fit are dealt from one random order of the rows, and share no row. Then
        another order is drawn.
        """
        if rows == len(self._units):
            return self._units
        order, place = divmod(number, len(self._units) // rows)
        while len(self._orders) <= order:
            self._orders.append(np.argsort(self._randomness(len(self._units)), kind="stable"))
        hand: np.ndarray = self._units[
            np.sort(self._orders[order][place * rows : (place + 1) * rows])
        ]
        return hand

    def _group_hand(self, hand: np.ndarray) -> GroupWidths | None:
        """Return the widths of the best groups of a hand, None if it has no groups.

        A hand with very many values is thinned first.
        """
        rows, k = len(hand), self._k
        values, counts = np.unique(hand, return_counts=True)
        if len(values) > _POINTS:
            hand = hand[(2 * np.arange(_POINTS) + 1) * rows // (2 * _POINTS)]
            values, counts = np.unique(hand, return_counts=True)
            k = -(-k * _POINTS // rows)  # fewer values represent as many rows
        worth = 0 if self._table_rows >= _MANY else WORTH_COMPILING
        solution = minimum_weighted(values, counts, k, self._e, worth)
        if solution is None:
            return None
        numbers, bounds = hand.astype(np.float64), solution[0]
        of_counts = {
            kind: group_count_widths(numbers, bounds, rows, limits)
            for kind, limits in self._limits.items()
        }
        return replace(group_widths(numbers, bounds, rows), counts=of_counts)


def sorted_units(units: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the values of rows, ascending.

    Args:
        units: the value of each code, ascending.
        codes: the code of each row (integers).
    """
    ascending: np.ndarray = units[np.sort(codes)]
    return ascending
