"""What may stand behind the labels of several columns together, as a table of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import dense, pack
from sfumato.tasks.query.behind_labels.values_behind_labels import MOST


@dataclass(frozen=True, eq=False)
class TriedColumn:
    """A column, and for each of its labels the values that are tried in its place.

    Attributes:
        codes: the label of each row (integers).
        values: of all labels, one label after the other.
        start: where those of each label begin (int64, one per label).
        count: how many each label has (int64), 0 where too many would have to be tried.
        is_few: which labels have these values, and no others (bool).
    """

    codes: np.ndarray
    values: pa.Array
    start: np.ndarray
    count: np.ndarray
    is_few: np.ndarray


def tried_column(
    codes: np.ndarray,
    tried: Sequence[Sequence[Any] | None],
    is_few: Sequence[bool],
    type_: pa.DataType,
) -> TriedColumn:
    """A column whose labels stand for values of a type, None for too many."""
    count = np.array([len(values or ()) for values in tried], dtype=np.int64)
    values = pa.array([value for of in tried for value in of or ()], type_)
    return TriedColumn(codes, values, np.cumsum(count) - count, count, np.array(is_few, bool))


def exact_column(codes: np.ndarray, values: pa.Array) -> TriedColumn:
    """A column that is published as it is; code 0 is null."""
    place = np.arange(len(values) + 1)
    with_null = pa.concat_arrays([pa.nulls(1, values.type), values])
    return TriedColumn(codes, with_null, place, np.ones_like(place), np.ones(len(place), bool))


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of labels that rows have in some columns, and values of each.

    Attributes:
        of_row: the combination of each row (int64).
        first: one row of each combination (int64).
        table: of values tried, a row each time for a combination.
        combination: of each row of the table (int64).
        is_open: for which combinations too many values would have to be tried (bool).
        is_few: which have the values tried, and no others (bool).
    """

    of_row: np.ndarray
    first: np.ndarray
    table: pa.Table
    combination: np.ndarray
    is_open: np.ndarray
    is_few: np.ndarray

    @property
    def number(self) -> int:
        """The number of combinations."""
        return len(self.is_open)


def combine(columns: Mapping[str, TriedColumn], rows: int) -> Combinations:
    """The combinations of labels that rows have: all of one value each, and those of few."""
    sizes = [max(len(column.count), 1) for column in columns.values()]
    codes = [column.codes.astype(np.int64) for column in columns.values()]
    of_row, number = dense(pack(codes, sizes)[0]) if rows else (np.zeros(0, np.int64), 0)
    first = np.empty(number, dtype=np.int64)
    first[of_row] = np.arange(rows)
    times, few = np.ones(number), np.ones(number, dtype=bool)
    for column in columns.values():
        label = column.codes[first]
        times *= np.where(column.count > 0, column.count, np.inf)[label]
        few &= column.is_few[label]
    order = np.argsort(times, kind="stable")
    budget = np.cumsum(np.where(times[order] > 1, times[order], 0))
    chosen = np.sort(order[budget <= MOST])
    is_open = np.ones(number, dtype=bool)
    is_open[chosen] = False
    combination = np.repeat(chosen, times[chosen].astype(np.int64))
    table = _product(columns, first[chosen], times[chosen].astype(np.int64))
    return Combinations(of_row, first, table, combination, is_open, few)


def _product(columns: Mapping[str, TriedColumn], row: np.ndarray, times: np.ndarray) -> pa.Table:
    """The values of some rows' labels, each with each, `times` of each row."""
    row = np.repeat(row, times)
    left = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    table = {}
    for name, column in columns.items():
        label = column.codes[row]
        place = column.start[label] + left % column.count[label]
        left //= column.count[label]
        table[name] = column.values.take(pa.array(place))
    return pa.table(table)
