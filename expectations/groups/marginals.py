"""Groups beside published marginals: the rows of all groups together with each value of a column.

A group j of g(j) rows admits m(j) values of a column A, each of which occurs; s(j) = g(j) - m(j)
rows are spare. If T(a) rows have the value a and n(a) groups admit it, E(a) = T(a) - n(a) spare
rows have it. The numbers e(j, a) of spare rows solve a transportation problem: they are 0 or more,
add up to s(j) in each group and to E(a) for each value. Every solution satisfies

    e(j, a) >= least(j, a) = max(0, s(j) - the other E(b) of j, E(a) - the other s(k) of a)
    e(j, a) <= most(j, a)  = min(s(j) - the other least(j, b), E(a) - the other least(k, a))

A *cell* is a group with one admitted value of each column that has a marginal. Its presence is the
most rows that it can have, by the tightest of these columns, divided by the number of combinations
of the values that the group admits of all other columns. This bounds the presence of a vector from
above: exchanging two values of another column within a group changes no published table, so for
given rows of cells all combinations of a cell are equally likely. It holds for every solution, and
therefore for every distribution over solutions, and also if several marginals are published.

Source: Kifer and Gehrke, Injecting utility into anonymized datasets (SIGMOD 2006), who publish
marginals beside anonymized tables; the bounds are this project's own.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.groups.groups import Cover
from sfumato.expectations.shared.errors import PromiseError


@dataclass(frozen=True, eq=False)
class MarginalCells:
    """Cells as if each were a group, and the group of each cell (int64, ascending)."""

    coverage: Covering
    group: np.ndarray

    def largest_by_group(self, numbers: np.ndarray) -> np.ndarray:
        """Return the largest number of the cells of each group; numbers are one per cell."""
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        largest: np.ndarray = np.maximum.reduceat(numbers, starts)
        return largest


def rows_of_cells(sizes: np.ndarray, cover: Cover) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the most rows of each group with each value that it admits.

    Args:
        sizes: the rows of each group (int64).
        cover: the admitted values of a column, whose totals are published.

    Returns:
        int64, parallel to the entries of the cover.

    Raises:
        PromiseError: if no table has these totals.
    """
    if cover.totals is None:
        raise PromiseError("the rows with each value are not published")
    spare = (sizes - cover.sizes(len(sizes)))[cover.group]
    excess = (cover.totals - np.bincount(cover.value, minlength=cover.values))[cover.value]
    in_group = _others(excess, cover.group, len(sizes))
    of_value = _others(spare, cover.value, cover.values)
    least = np.maximum(0, np.maximum(spare - in_group, excess - of_value))
    most = np.minimum(
        spare - _others(least, cover.group, len(sizes)),
        excess - _others(least, cover.value, cover.values),
    )
    if (least > most).any():
        raise PromiseError("no table has this many rows with each value")
    return 1 + least, 1 + most


def cells_of(coverage: Covering, counted: Collection[int] = ()) -> MarginalCells:
    """Return the cells of groups; the groups themselves if no marginal is published.

    `counted` are the places of columns among the covers whose marginals will be published, and are
    not known yet: a group can then have each value in all its spare rows.
    """
    group, most = np.arange(len(coverage.sizes)), coverage.sizes
    entries: dict[int, np.ndarray] = {}  # by column, the entry of its cover of each cell
    for number, cover in enumerate(coverage.covers):
        if cover.totals is None and number not in counted:
            continue
        entry, cell = _entries_of(cover, group, len(coverage.sizes))
        entries = {other: entry_of[cell] for other, entry_of in entries.items()}
        entries[number] = entry
        group = group[cell]
        most = np.minimum(most[cell], _most_rows(coverage.sizes, cover)[entry])
    if not entries:
        return MarginalCells(coverage, group)
    covers = []
    for number, cover in enumerate(coverage.covers):
        if number in entries:
            cell, entry = np.arange(len(group)), entries[number]
        else:
            entry, cell = _entries_of(cover, group, len(coverage.sizes))
        covers.append(Cover(cell, cover.value[entry], cover.values))
    return MarginalCells(Covering(most, tuple(covers)), group)


def _most_rows(sizes: np.ndarray, cover: Cover) -> np.ndarray:
    """Return the most rows of each group with each value that it admits (int64)."""
    if cover.totals is not None:
        return rows_of_cells(sizes, cover)[1]
    most: np.ndarray = (1 + sizes - cover.sizes(len(sizes)))[cover.group]
    return most


def _others(numbers: np.ndarray, key: np.ndarray, keys: int) -> np.ndarray:
    """Return the sum of the other numbers with the same key (int64, one per number)."""
    sums = np.zeros(keys, dtype=np.int64)
    np.add.at(sums, key, numbers)
    others: np.ndarray = sums[key] - numbers
    return others


def _entries_of(cover: Cover, group: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of a cover that belong to the groups of some cells, and their cells.

    Both are int64, ascending by cell and then by value.
    """
    admitted = cover.sizes(groups)
    times = admitted[group]
    cell = np.repeat(np.arange(len(group)), times)
    first = (np.cumsum(admitted) - admitted)[group]
    within = np.arange(len(cell)) - np.repeat(np.cumsum(times) - times, times)
    return first[cell] + within, cell
