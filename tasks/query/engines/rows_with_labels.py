"""The possible outcomes of a condition on rows whose quasi-identifiers are recoded.

Behind a label stands one of several values, so that a condition can be true on a row, false, or
null, and more than one of them may be possible. Every part of the condition that is about one
recoded column is decided as a whole; parts are combined as if they did not depend on each other,
which leaves nothing out. Chances suppose that all values behind a label are equally likely, and
independent between columns: they make estimates, never bounds.

Rows that are alike in what a question asks about are decided once.
"""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.groups.counting import dense, pack
from sfumato.tasks.forms.labels import Admitted
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.query.behind_labels.decide import (
    ThreeValued,
    by_column,
    columns_of,
    conjunction,
    decide,
    disjunction,
    evaluate,
    fold,
    negation,
    one_outcome,
)
from sfumato.tasks.query.behind_labels.ends import candidates, cuts, is_few
from sfumato.tasks.query.behind_labels.values_behind_labels import (
    MOST,
    Tally,
    ValuesBehindLabels,
    tallied_outcomes,
)
from sfumato.tasks.schema.published import Schema

_WORTH = 2  # rows that one stands for on average, where it does so
_CONSTANT = "\x01constant"  # no published column can be called so


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


class Rows:
    """Published rows to ask conditions of.

    `labels[name]` has what the labels of a recoded column admit, and which one each row has;
    `exact` are the columns that are published as they are.
    """

    times: np.ndarray | None = None
    """How many published rows each stands for (int64, one per row); None where that is itself."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        schema: Schema,
        labels: Mapping[str, tuple[list[Admitted], np.ndarray]],
        exact: pa.Table,
    ) -> None:
        self.schema = schema
        self.labels = labels
        self.number = exact.num_rows
        self._exact = exact
        self._connection = connection
        self._behind: dict[str, ValuesBehindLabels] = {}
        self._encoded: dict[str, Column] = {}
        self._known: dict[tuple[str, str], ThreeValued] = {}
        self._combined: dict[tuple[Any, ...], Combinations] = {}

    def alike(self, names: Collection[str]) -> "Rows":
        """Those that differ in some columns, each once, without the others; all, where most do."""
        key = self._key(names)
        numbers, number = dense(key) if len(key) else (key, 0)
        if _WORTH * number > self.number:
            return self
        row = np.empty(number, dtype=np.int64)
        row[numbers] = np.arange(self.number)
        found = copy(self)  # what is known of values and labels, they share
        found.number, found._combined = number, {}
        found.times = np.bincount(numbers, self.times, number).astype(np.int64)
        found.labels = {
            name: (labels, codes[row])
            for name, (labels, codes) in self.labels.items()
            if name in names
        }
        found._encoded = {
            name: replace(self.column(name), codes=self.column(name).codes[row])
            for name in names
            if name not in self.labels
        }
        return found

    def _key(self, names: Collection[str]) -> np.ndarray:
        """A key that tells rows apart by some columns (int64, one per row)."""
        codes, sizes = [np.zeros(self.number, dtype=np.int8)], [1]
        for name in sorted(names):
            if name in self.labels:
                labels, of_rows = self.labels[name]
                known = of_rows, len(labels)
            else:
                known = self.column(name).category()
            codes.append(known[0])
            sizes.append(known[1])
        return pack(codes, sizes)[0]

    def outcomes(self, condition: exp.Expr | None) -> ThreeValued:
        """The possible outcomes of a condition on every row; without one, every row is meant."""
        if condition is None:
            return one_outcome(np.ones(self.number, dtype=np.int8))
        return self._of(condition)

    def column(self, name: str) -> Column:
        """A column that is published as it is."""
        if name not in self._encoded:
            self._encoded[name] = encode(name, "sensitive", self._exact[name])
        return self._encoded[name]

    def _of(self, node: exp.Expr) -> ThreeValued:
        asked = columns_of(node)
        if len(asked) == 1:
            return self._of_one(asked[0], node)
        if isinstance(node, exp.Paren):
            return self._of(node.this)
        if isinstance(node, exp.Not):
            return negation(self._of(node.this))
        if isinstance(node, exp.And | exp.Or):
            join = conjunction if isinstance(node, exp.And) else disjunction
            return reduce(join, (self._of(part) for part in by_column(node)))
        return self._of_several(asked, node) if asked else self._of_none(node)

    def _of_none(self, node: exp.Expr) -> ThreeValued:
        """Without columns a condition is the same for all rows."""
        found = self.decide(pa.table({_CONSTANT: [0]}), node)
        return one_outcome(np.repeat(found, self.number))

    def _of_one(self, name: str, node: exp.Expr) -> ThreeValued:
        """A condition on one column is decided once per value or label."""
        known = (name, node.sql("duckdb"))
        is_label = name in self.labels
        if known not in self._known:
            of_one = self._of_labels if is_label else self._of_values
            self._known[known] = of_one(name, node)
        codes = self.labels[name][1] if is_label else self.column(name).codes
        return self._known[known].take(codes)

    def _of_values(self, name: str, node: exp.Expr) -> ThreeValued:
        """On each value of a column that is published as it is, and on null."""
        values = self.column(name).values
        table = pa.table({name: pa.concat_arrays([values, pa.nulls(1, values.type)])})
        return one_outcome(self.decide(table, node))

    def _of_labels(self, name: str, node: exp.Expr) -> ThreeValued:
        """On each label of a recoded column."""
        behind = self._behind_labels(name)
        type_ = self.schema[name].arrow_type

        def of_values(values: pa.Array | Sequence[Any]) -> np.ndarray:
            known = values if isinstance(values, pa.Array) else pa.array(values, type_)
            return self.decide(pa.table({name: known}), node)

        return _three_valued(behind.tally(node, of_values, self.fold))

    def span(self, name: str) -> pa.Array | None:
        """All values from the least to the greatest that a label tells; None where too many."""
        return self._behind_labels(name).span

    def _behind_labels(self, name: str) -> ValuesBehindLabels:
        if name not in self._behind:
            self._behind[name] = ValuesBehindLabels(self.labels[name][0], self.schema[name])
        return self._behind[name]

    def _of_several(self, asked: Sequence[str], node: exp.Expr) -> ThreeValued:
        """A test on several columns is decided for each combination of their labels."""
        found = self.combinations(asked, [node])
        outcomes = self.decide(found.table, node)
        tally = tallied_outcomes(found.combination, outcomes, None, found.number)
        tally.weight[:, ~found.is_few] = np.nan
        tally.possible[:, found.is_open] = True
        return _three_valued(tally).take(found.of_row)

    def combinations(self, names: Sequence[str], nodes: Sequence[exp.Expr]) -> Combinations:
        """The combinations of labels that rows have, and values that expressions tell apart."""
        compared = {name: cuts(nodes, name) if name in self.labels else [] for name in names}
        liked = any(node.find(exp.Like) for node in nodes)
        texts = (None if of is None else tuple(one.sql() for one in of) for of in compared.values())
        known = (*names, *texts, liked)
        if known not in self._combined:
            columns = {name: self._tried(name, of, liked) for name, of in compared.items()}
            self._combined[known] = combine(columns, self.number)
        return self._combined[known]

    def _tried(self, name: str, compared: Sequence[exp.Expr] | None, liked: bool) -> TriedColumn:
        """The values of a column that tell apart what it is `compared` with."""
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
        """The values of expressions without columns."""
        return fold(self._connection, nodes)

    def decide(self, table: pa.Table, node: exp.Expr) -> np.ndarray:
        """On each row 1 where a condition is true, 0 false, 2 null, 3 where it has no outcome."""
        return decide(self._connection, table, node)


def _three_valued(tally: Tally) -> ThreeValued:
    """The possible outcomes of labels, by how much of each label they make up."""
    whole = tally.weight.sum(axis=0)
    shares = tally.weight / np.where(whole > 0, whole, np.nan)
    false, true, null = tally.possible
    return ThreeValued(true, false, null, shares[1], shares[0])
