"""Ambiguous groups as Algorithms 2, 3 and 4 of the paper print them.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss. As printed, a group begins with ⌈1/β⌉ + 1 rows (the loop runs from 0 to ⌈1/β⌉), its presence
is the number of its *distinct sensitive values* over its combinations, where the theorem needs the
number of its rows, and the row that is added is the one that covers the *fewest* new values, where
the text asks for the most. The loop that adds rows has no end where no value is left to add.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np


@dataclass(frozen=True, eq=False)
class PrintedGroups:
    """The group of each row (int64, -1 for none), and how many groups would grow without end."""

    group: np.ndarray
    endless: int


def printed_presence(values: np.ndarray, cells: np.ndarray) -> float:
    """The presence of a group as Algorithm 3 has it: distinct sensitive values by combinations.

    Args:
        values: the sensitive value of each of its rows.
        cells: their quasi-identifiers (rows x attributes).
    """
    admitted = [len(np.unique(column)) for column in cells.T]
    return len(np.unique(values)) / float(np.prod(admitted))


def printed_groups(
    values: np.ndarray, cells: np.ndarray, alpha: float, beta: float, rng: np.random.Generator
) -> PrintedGroups:
    """Group rows as printed; the loop without end is left where it would begin.

    Args:
        values: the sensitive value of each row (int64; 0, 1, …).
        cells: the quasi-identifiers of each row (int64, rows x attributes).
        alpha: the bound on presence.
        beta: the bound on association.
        rng: decides among rows that cover as much.
    """
    least = ceil(1 / beta - 1e-12)
    left = [rng.permutation(np.flatnonzero(values == value)) for value in range(values.max() + 1)]
    group = np.full(len(values), -1, dtype=np.int64)
    groups, endless = 0, 0
    while sum(len(bucket) > 0 for bucket in left) > least:
        members = _grow(left, values, cells, least + 1, alpha)
        if printed_presence(values[members], cells[members]) > alpha:
            endless += 1
            break
        group[members] = groups
        groups += 1
    _place_left(group, groups, values, cells, alpha)
    return PrintedGroups(group, endless)


def _grow(
    left: list[np.ndarray], values: np.ndarray, cells: np.ndarray, picks: int, alpha: float
) -> np.ndarray:
    """The rows of one more group, which are left no more."""
    members: list[int] = []
    used: set[int] = set()
    while len(members) < picks or printed_presence(values[members], cells[members]) > alpha:
        value = max(
            (v for v in range(len(left)) if v not in used), key=lambda v: len(left[v]), default=-1
        )
        if value < 0 or not len(left[value]):
            break
        at = _fewest_new(cells[left[value]], cells[members])
        members.append(int(left[value][at]))
        left[value] = np.delete(left[value], at)
        used.add(value)
    return np.array(members, dtype=np.int64)


def _fewest_new(candidates: np.ndarray, members: np.ndarray) -> int:
    """The candidate that covers the fewest values anew."""
    new = [~np.isin(column, had) for column, had in zip(candidates.T, members.T, strict=True)]
    return int(np.argmin(np.sum(new, axis=0)))


def _place_left(
    group: np.ndarray, groups: int, values: np.ndarray, cells: np.ndarray, alpha: float
) -> None:
    """Let rows that are left join the first group that lacks their value and keeps α as printed."""
    for row in np.flatnonzero(group < 0):
        for one in range(groups):
            joined = np.append(np.flatnonzero(group == one), row)
            had = values[joined[:-1]]
            if values[row] not in had and printed_presence(values[joined], cells[joined]) <= alpha:
                group[row] = one
                break
