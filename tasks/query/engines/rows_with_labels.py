"""The possible outcomes of a condition on rows whose quasi-identifiers are recoded.

A recoded column shows a label instead of each value; one of several values is behind a label. So a
condition can be true on a row, false, or null, and more than one of these may be possible. Every
part of the condition that is about one recoded column is decided as a whole. Parts are combined as
if they were independent, which never misses a possible outcome. Chances assume that all values
behind a label are equally likely, and independent between columns: they make estimates, never
bounds.

Rows that are equal in a question's columns are decided once.
"""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.groups.counting import dense, pack
from sfumato.tasks.forms.labels import Admitted
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.query.behind_labels.decide import (
    ThreeValued,
    columns_of,
    conjunction,
    decide,
    disjunction,
    evaluate,
    fold,
    negation,
    one_outcome,
    parts_by_column,
)
from sfumato.tasks.query.behind_labels.ends import candidates, cuts, is_few
from sfumato.tasks.query.behind_labels.values_behind_labels import (
    MOST,
    Tally,
    ValuesBehindLabels,
    tally_outcomes,
)
from sfumato.tasks.schema.published import Schema

if TYPE_CHECKING:
    import duckdb

_WORTH = 2  # rows are merged if one stands for at least so many on average
_CONSTANT = "\x01constant"  # no published column can have this name


@dataclass(frozen=True, eq=False)
class TriedColumn:
    """A column, with the values to try for each of its labels.

    Attributes:
        codes: the label of each row (integers).
        values: the values to try, one label after the other.
        start: the position of each label's first value (int64, one per label).
        count: the number of values of each label (int64), 0 if there are too many to try.
        is_few: whether the label has only these values (bool).
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
    """Return a column with the values to try for each of its labels.

    Args:
        codes: the label of each row (integers).
        tried: the values to try for each label; None for a label with too many.
        is_few: whether each label has only these values.
        type_: the type of the values.
    """
    count = np.array([len(values or ()) for values in tried], dtype=np.int64)
    values = pa.array([value for label_values in tried for value in label_values or ()], type_)
    return TriedColumn(codes, values, np.cumsum(count) - count, count, np.array(is_few, bool))


def exact_column(codes: np.ndarray, values: pa.Array) -> TriedColumn:
    """Return a column that is published unchanged, as one with a single value for each label.

    Codes (one per row) count the values from 1; code 0 is null.
    """
    place = np.arange(len(values) + 1)
    with_null = pa.concat_arrays([pa.nulls(1, values.type), values])
    return TriedColumn(codes, with_null, place, np.ones_like(place), np.ones(len(place), bool))


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of labels that rows have in some columns, with values to try for each.

    Attributes:
        of_row: the combination of each row (int64).
        first: one row of each combination (int64).
        table: the values to try; a combination has one or more rows.
        combination: the combination of each row of the table (int64).
        is_open: whether a combination has too many values to try (bool).
        is_few: whether a combination has only the values tried (bool).
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
    """Return the combinations of labels that `rows` rows have, with values to try for each.

    A combination of labels has every combination of their values. Those with the fewest are tried,
    up to `MOST` in all; combinations of one value cost nothing. All others are open.
    """
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
    """Return every combination of the values of some rows' labels, `times` of each row."""
    row = np.repeat(row, times)
    # the number of a row's combination, of which each column takes one digit (mixed radix)
    remaining = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    table = {}
    for name, column in columns.items():
        label = column.codes[row]
        place = column.start[label] + remaining % column.count[label]
        remaining //= column.count[label]
        table[name] = column.values.take(pa.array(place))
    return pa.table(table)


class Rows:
    """Published rows on which conditions are decided; outcomes on values and labels are cached.

    Attributes:
        schema: the published columns.
        labels: for each recoded column its labels, as the values that they admit, and the position
            of each row's label (integers).
        number: the number of rows.
    """

    times: np.ndarray | None = None
    """The number of published rows that each stands for (int64, one per row); None for one each."""

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        schema: Schema,
        labels: Mapping[str, tuple[list[Admitted], np.ndarray]],
        exact: pa.Table,
    ) -> None:
        """Take the rows; `exact` has the columns that are published unchanged."""
        self.schema = schema
        self.labels = labels
        self.number = exact.num_rows
        self._exact = exact
        self._connection = connection
        self._behind: dict[str, ValuesBehindLabels] = {}
        self._encoded: dict[str, Column] = {}
        self._known: dict[tuple[str, str], ThreeValued] = {}
        self._combined: dict[tuple[Any, ...], Combinations] = {}

    def merge(self, names: Collection[str]) -> "Rows":
        """Return the distinct rows by some columns; all rows if most are distinct."""
        key = self._key(names)
        numbers, number = dense(key) if len(key) else (key, 0)
        if _WORTH * number > self.number:
            return self
        row = np.empty(number, dtype=np.int64)
        row[numbers] = np.arange(self.number)
        rows = copy(self)  # both share the cached outcomes on values and labels
        rows.number, rows._combined = number, {}
        rows.times = np.bincount(numbers, self.times, number).astype(np.int64)
        rows.labels = {
            name: (labels, codes[row])
            for name, (labels, codes) in self.labels.items()
            if name in names
        }
        rows._encoded = {
            name: replace(self.column(name), codes=self.column(name).codes[row])
            for name in names
            if name not in self.labels
        }
        return rows

    def _key(self, names: Collection[str]) -> np.ndarray:
        """Return a key that distinguishes rows by some columns (int64, one per row)."""
        codes, sizes = [np.zeros(self.number, dtype=np.int8)], [1]
        for name in sorted(names):
            if name in self.labels:
                labels, of_rows = self.labels[name]
                category = of_rows, len(labels)
            else:
                category = self.column(name).category()
            codes.append(category[0])
            sizes.append(category[1])
        return pack(codes, sizes)[0]

    def outcomes(self, condition: exp.Expr | None) -> ThreeValued:
        """Return the possible outcomes of a condition on every row; None holds on every row."""
        if condition is None:
            return one_outcome(np.ones(self.number, dtype=np.int8))
        return self._outcomes(condition)

    def column(self, name: str) -> Column:
        """Return a column that is published unchanged."""
        if name not in self._encoded:
            self._encoded[name] = encode(name, "sensitive", self._exact[name])
        return self._encoded[name]

    def _outcomes(self, node: exp.Expr) -> ThreeValued:
        """Decide a condition part by part; a part about one column is decided as a whole."""
        names = columns_of(node)
        if len(names) == 1:
            return self._outcomes_of_column(names[0], node)
        if isinstance(node, exp.Paren):
            return self._outcomes(node.this)
        if isinstance(node, exp.Not):
            return negation(self._outcomes(node.this))
        if isinstance(node, exp.And | exp.Or):
            join = conjunction if isinstance(node, exp.And) else disjunction
            return reduce(join, (self._outcomes(part) for part in parts_by_column(node)))
        return self._outcomes_of_columns(names, node) if names else self._outcomes_of_constant(node)

    def _outcomes_of_constant(self, node: exp.Expr) -> ThreeValued:
        """Decide a condition without columns, which is the same for all rows."""
        outcome = self.decide(pa.table({_CONSTANT: [0]}), node)
        return one_outcome(np.repeat(outcome, self.number))

    def _outcomes_of_column(self, name: str, node: exp.Expr) -> ThreeValued:
        """Decide a condition on one column, once per value or label."""
        key = (name, node.sql("duckdb"))
        is_label = name in self.labels
        if key not in self._known:
            of_one = self._outcomes_of_labels if is_label else self._outcomes_of_values
            self._known[key] = of_one(name, node)
        codes = self.labels[name][1] if is_label else self.column(name).codes
        return self._known[key].take(codes)

    def _outcomes_of_values(self, name: str, node: exp.Expr) -> ThreeValued:
        """Decide a condition on each value of a column that is published unchanged, and on null."""
        values = self.column(name).values
        table = pa.table({name: pa.concat_arrays([values, pa.nulls(1, values.type)])})
        return one_outcome(self.decide(table, node))

    def _outcomes_of_labels(self, name: str, node: exp.Expr) -> ThreeValued:
        """Decide a condition on each label of a recoded column."""
        behind = self._behind_labels(name)
        type_ = self.schema[name].arrow_type

        def decide_values(values: pa.Array | Sequence[Any]) -> np.ndarray:
            array = values if isinstance(values, pa.Array) else pa.array(values, type_)
            return self.decide(pa.table({name: array}), node)

        return _three_valued(behind.tally(node, decide_values, self.fold))

    def span(self, name: str) -> pa.Array | None:
        """Return all values from the least to the greatest that labels state; None if too many."""
        return self._behind_labels(name).span

    def _behind_labels(self, name: str) -> ValuesBehindLabels:
        if name not in self._behind:
            self._behind[name] = ValuesBehindLabels(self.labels[name][0], self.schema[name])
        return self._behind[name]

    def _outcomes_of_columns(self, names: Sequence[str], node: exp.Expr) -> ThreeValued:
        """Decide a test on several columns for each combination of their labels.

        Every outcome is possible for an open combination.
        """
        combinations = self.combinations(names, [node])
        outcomes = self.decide(combinations.table, node)
        tally = tally_outcomes(combinations.combination, outcomes, None, combinations.number)
        tally.weight[:, ~combinations.is_few] = np.nan
        tally.possible[:, combinations.is_open] = True
        return _three_valued(tally).take(combinations.of_row)

    def combinations(self, names: Sequence[str], nodes: Sequence[exp.Expr]) -> Combinations:
        """Return the combinations of rows' labels in some columns, with values to try for each.

        The values lead to every outcome of comparisons in the expressions (`nodes`).
        """
        compared = {name: cuts(nodes, name) if name in self.labels else [] for name in names}
        liked = any(node.find(exp.Like) for node in nodes)
        texts = (
            None if constants is None else tuple(constant.sql() for constant in constants)
            for constants in compared.values()
        )
        key = (*names, *texts, liked)
        if key not in self._combined:
            columns = {
                name: self._tried_column(name, constants, liked)
                for name, constants in compared.items()
            }
            self._combined[key] = combine(columns, self.number)
        return self._combined[key]

    def _tried_column(
        self, name: str, compared: Sequence[exp.Expr] | None, liked: bool
    ) -> TriedColumn:
        """Return a column with values for every outcome of comparisons with constants.

        Args:
            name: the column.
            compared: the constants; None if an expression uses the column in another way.
            liked: whether an expression compares texts by LIKE.
        """
        if name not in self.labels:
            return exact_column(self.column(name).codes + 1, self.column(name).values)
        labels, codes = self.labels[name]
        column = self.schema[name]
        few = [is_few(label, column) for label in labels]
        constants = None
        if compared is not None and not all(few):
            constants = [value for value in self.fold(compared) if value is not None]
        tried = [candidates(label, column, constants, liked=liked) for label in labels]
        return tried_column(codes, tried, few, column.arrow_type)

    def evaluate(self, table: pa.Table, node: exp.Expr) -> pa.Array:
        """Evaluate an expression on each row of a table."""
        return evaluate(self._connection, table, node)

    def fold(self, nodes: Sequence[exp.Expr]) -> Sequence[Any]:
        """Evaluate expressions without columns."""
        return fold(self._connection, nodes)

    def decide(self, table: pa.Table, node: exp.Expr) -> np.ndarray:
        """Decide a condition on each row of a table (int8; see `behind_labels.decide.decide`)."""
        return decide(self._connection, table, node)


def _three_valued(tally: Tally) -> ThreeValued:
    """Return the possible outcomes behind labels; the chance of one is its share of the label."""
    whole = tally.weight.sum(axis=0)
    shares = tally.weight / np.where(whole > 0, whole, np.nan)
    false, true, null = tally.possible
    return ThreeValued(true, false, null, shares[1], shares[0])
