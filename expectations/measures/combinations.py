"""Combinations of labels: what is seen of a table by who knows a few of its quasi-identifiers.

A combination is a label for each of some columns, and its rows are those that show these labels.
Whoever knows fewer columns sees unions of the combinations of more: they have at least as many
rows, and no value a larger share of them. So only combinations of the largest number of columns
are counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import add_up, dense
from sfumato.expectations.groups.groups import People
from sfumato.expectations.shared.sorting import distinct, starts

_TABLE = 2**22  # cells that are counted in a table, whatever there is to count


@dataclass(frozen=True, eq=False)
class Combination:
    """The combinations of labels of some columns.

    Attributes:
        columns: the places of the columns.
        key: the combination of each group (int64, one per group, in [0, bound)).
        bound: above every key; a number below it may be no group's.
    """

    columns: tuple[int, ...]
    key: np.ndarray
    bound: int


def combinations(
    labels: Sequence[np.ndarray], knowledge: int, including: int | None = None
) -> Iterator[Combination]:
    """Yield the combinations of every `knowledge` columns, or of all if there are fewer.

    Columns in which all groups show one label are left out: they separate nothing.

    Args:
        labels: by column, the number of the label of each group (integers, one per group).
        knowledge: the most columns that anybody knows, at least 1.
        including: the place of a column that is always one of them.
    """
    columns = [_Coded(place, *dense(np.asarray(codes))) for place, codes in enumerate(labels)]
    groups = len(labels[0]) if len(labels) else 0
    taken = Combination((), np.zeros(groups, dtype=np.int64), 1)
    telling = [c for c in columns if c.values > 1 and c.place != including]
    if including is not None:
        taken, knowledge = _extend(taken, columns[including]), knowledge - 1
    yield from _extensions(taken, telling, min(knowledge, len(telling)))


class _Coded(NamedTuple):
    place: int
    codes: np.ndarray
    values: int


def _extensions(taken: Combination, columns: Sequence[_Coded], more: int) -> Iterator[Combination]:
    """Yield a combination with every choice of so many further columns."""
    if not more:
        yield taken
        return
    for place in range(len(columns) - more + 1):
        wider = _extend(taken, columns[place])
        yield from _extensions(wider, columns[place + 1 :], more - 1)


def _extend(taken: Combination, column: _Coded) -> Combination:
    key, bound = taken.key * column.values, taken.bound * column.values
    key += column.codes
    if bound > max(_TABLE, 4 * len(key)):
        key, bound = dense(key)
    return Combination((*taken.columns, column.place), key, bound)


def count_rows(seen: Combination, sizes: np.ndarray) -> np.ndarray:
    """Return the rows of each combination (int64, one per key), of groups of these sizes."""
    return np.bincount(seen.key, sizes, seen.bound).astype(np.int64)  # exact below 2^53


def count_people(seen: Combination, people: People) -> np.ndarray:
    """Return the people of each combination (int64, one per key)."""
    persons = int(people.person.max(initial=-1)) + 1
    pairs = distinct(seen.key[people.group] * persons + people.person)
    return np.bincount(pairs // max(persons, 1), minlength=seen.bound)


def most_of_one_value(
    seen: Combination, group: np.ndarray, value: np.ndarray, count: np.ndarray
) -> np.ndarray:
    """Return the rows of each combination that have its most frequent value (int64, one per key).

    Args:
        seen: the combinations.
        group: the group of each count (int64).
        value: the value that it is of (int64, from 0).
        count: rows (int64).
    """
    values = int(value.max(initial=0)) + 1
    cells = seen.bound * values
    if cells <= max(_TABLE, 4 * len(group)):
        table = np.bincount(seen.key[group] * values + value, count, cells)
        return np.asarray(table.reshape(seen.bound, values).max(axis=1).astype(np.int64))
    key, _, rows = add_up([seen.key[group], value], count)
    first = starts(key)
    most = np.zeros(seen.bound, dtype=np.int64)
    most[key[first]] = np.maximum.reduceat(rows, first) if len(first) else rows
    return most
