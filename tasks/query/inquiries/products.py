"""Sums of products of an unchanged column and a sensitive one, for example of weights.

Any of a group's rows may have any of its values. By the rearrangement inequality a sum of products
is greatest if the greatest numbers are multiplied by the greatest values, and least if they are
multiplied by the least. If there are fewer rows than values, rows with positive numbers take values
from one end, and the others from the other end. Sums of groups add up. Exact, in integers.

Source: Hardy, Littlewood, Pólya, Inequalities (1934), section 10.2.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import as_integers, as_numpy
from sfumato.expectations.shared.errors import QueryError
from sfumato.expectations.shared.exact import Exact, exact
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.question.ways import GROUP_ID, Relations, relations
from sfumato.tasks.query.sql.sensitive_conditions import count_of, group_parts
from sfumato.tasks.query.sql.trees import (
    alias,
    key_names,
    own,
    published_column,
    select,
    with_parts,
)
from sfumato.tasks.sql.session import fetch_table
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    import duckdb

Answers = dict[Key, dict[Aggregate, Bounds]]


def products(
    connection: "duckdb.DuckDBPyConnection",
    declared: Declared,
    question: Question,
    aggregates: Sequence[Aggregate],
) -> Answers:
    """Return the bounds of sums of products by the values of the group columns.

    Args:
        connection: sees the published tables.
        declared: of the release.
        question: selects and groups the rows.
        aggregates: each of a sensitive column, with the column that it is multiplied by.

    Raises:
        QueryError: where a condition is on sensitive values.
    """
    if question.matching and aggregates:
        raise QueryError(
            "the sum of a product with a sensitive column is not possible with a "
            "condition on sensitive values. Leave the condition out"
        )
    tables = relations(declared)
    answers: Answers = {}
    for aggregate in aggregates:
        values = _values(connection, tables, str(aggregate.sensitive))
        for key, rows in _rows(connection, tables, question, str(aggregate.weight)):
            answers.setdefault(key, {})[aggregate] = values.bounds(*rows)
    return answers


class _GroupValues:
    """The values of each group, descending; groups are 0, 1, … in the order of their numbers.

    `units` are all values (Python integers), group by group, and `starts` the position of each
    group's first. Missing values are zeros, which add nothing; `missing` counts them by group.
    """

    def __init__(
        self, numbers: Exact, group: np.ndarray, times: np.ndarray, is_null: np.ndarray
    ) -> None:
        order = np.lexsort((np.repeat(-numbers.units, times), np.repeat(group, times)))
        self._units = np.repeat(numbers.units, times)[order].astype(object)
        self._groups, self._starts, self._sizes = np.unique(
            np.repeat(group, times)[order], return_index=True, return_counts=True
        )
        self._missing = np.zeros(len(self._groups), dtype=np.int64)
        np.add.at(self._missing, np.searchsorted(self._groups, group), times * is_null)
        self._digits = numbers.digits

    def bounds(self, group: np.ndarray, numbers: Exact) -> Bounds:
        """Bound the sum of products over rows, each with a group (int64) and a number."""
        order = np.lexsort((-numbers.units, group))
        place = np.searchsorted(self._groups, group[order])
        hits = np.bincount(place, minlength=len(self._groups))
        if not np.minimum(hits, self._sizes - self._missing).any():
            return Bounds(None, None)
        maybe_none = not np.maximum(hits - self._missing, 0).any()
        units = numbers.units[order].astype(object)
        scale = 10 ** (numbers.digits + self._digits)
        high = self._greatest(place, units, 1)
        low = -self._greatest(place, units, -1)
        totals = np.add.reduceat(self._units, self._starts)
        expected = sum(
            Fraction(int(unit) * int(totals[position]), int(self._sizes[position]))
            for unit, position in zip(units, place, strict=True)
        )
        ends = Fraction(low, scale), Fraction(high, scale)
        guess = clamp_estimate(Fraction(expected, scale), *ends)
        low_end, high_end = map(_whole, ends)
        return Bounds(low_end, high_end, guess, maybe_none, attained=not maybe_none)

    def _greatest(self, place: np.ndarray, units: np.ndarray, sign: int) -> int:
        """Return the greatest sum of products with the values (sign 1) or their negatives (-1)."""
        _, starts, hits = np.unique(place, return_index=True, return_counts=True)
        rank = np.arange(len(place)) - np.repeat(starts, hits)
        size, number = self._sizes[place], np.repeat(hits, hits)
        from_above = np.where(units >= 0, rank, size - number + rank).astype(np.int64)
        chosen = from_above if sign > 0 else size - 1 - from_above
        return int((units * sign * self._units[self._starts[place] + chosen]).sum())


def _whole(number: Fraction) -> int | Fraction:
    return int(number) if number == int(number) else number


def _values(connection: "duckdb.DuckDBPyConnection", tables: Relations, name: str) -> _GroupValues:
    """Return the values of a sensitive column in each group."""
    table = next(table_name for columns, table_name in tables.tables.items() if name in columns)
    fields = [own(GROUP_ID), alias(published_column(name), "v"), alias(count_of(tables), "times")]
    query = select(fields, table, group_by=[own(GROUP_ID), published_column(name)])
    rows = fetch_table(connection, with_parts(group_parts(tables), query))
    group, times = (as_integers(rows[column]) for column in (GROUP_ID, "times"))
    values = rows["v"].combine_chunks()
    is_null = as_numpy(values.is_null().cast(pa.uint8())).astype(bool)
    numbers = exact(values.drop_null(), name)
    units = np.zeros(len(values), numbers.units.dtype)
    units[~is_null] = numbers.units
    return _GroupValues(Exact(units, numbers.digits), group, times, is_null)


def _rows(
    connection: "duckdb.DuckDBPyConnection", tables: Relations, question: Question, name: str
) -> Iterator[tuple[Key, tuple[np.ndarray, Exact]]]:
    """Yield for each cell the groups of the rows that count, and their numbers."""
    keys = zip(question.group_by, key_names(question), strict=True)
    group_columns = [alias(published_column(column), key) for column, key in keys]
    columns = [*group_columns, own(GROUP_ID), alias(published_column(name), "x")]
    table = fetch_table(connection, select(columns, tables.rows, where=[question.condition]))
    width = len(question.group_by)
    cells: dict[Key, list[int]] = {}
    cell_keys = list(zip(*(column.to_pylist() for column in table.columns[:width]), strict=True))
    for place, key in enumerate(cell_keys or [()] * table.num_rows):
        cells.setdefault(key, []).append(place)
    group = as_integers(table[GROUP_ID])
    numbers = exact(table["x"].combine_chunks(), name) if table.num_rows else Exact(group, 0)
    for key, places in cells.items():
        positions = np.array(places)
        yield key, (group[positions], Exact(numbers.units[positions], numbers.digits))
