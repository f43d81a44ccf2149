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
from dataclasses import replace
from functools import reduce
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.groups.counting import dense, pack
from sfumato.tasks.forms.recoded.labels import Admitted
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.query.behind_labels.decide import by_column, columns_of, decide, fold
from sfumato.tasks.query.behind_labels.three_valued import (
    FAILED,
    ThreeValued,
    conjunction,
    disjunction,
    negation,
    one_outcome,
)
from sfumato.tasks.query.behind_labels.values_behind_labels import (
    ValuesBehindLabels,
    is_single,
    values_of_label,
)
from sfumato.tasks.schema.published import Schema

_WORTH = 2  # rows that one stands for on average, where it does so
_CONSTANT = "\x01constant"  # no published column can be called so


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

    def alike(self, names: Collection[str]) -> "Rows":
        """Those that differ in some columns, each once, without the others; all, where most do.

        They are asked no conditions that compare columns.
        """
        key = self._key(names)
        numbers, number = dense(key) if len(key) else (key, 0)
        if _WORTH * number > self.number:
            return self
        row = np.empty(number, dtype=np.int64)
        row[numbers] = np.arange(self.number)
        found = copy(self)  # what is known of values and labels, they share
        found.number = number
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
        if name not in self._behind:
            self._behind[name] = ValuesBehindLabels(self.labels[name][0], self.schema[name])
        type_ = self.schema[name].arrow_type

        def of_values(values: pa.Array | Sequence[Any]) -> np.ndarray:
            known = values if isinstance(values, pa.Array) else pa.array(values, type_)
            return self.decide(pa.table({name: known}), node)

        tally = self._behind[name].tally(node, of_values, self._folded)
        whole = tally.weight.sum(axis=0)
        shares = tally.weight / np.where(whole > 0, whole, np.nan)
        false, true, null = tally.possible
        return ThreeValued(true, false, null, shares[1], shares[0])

    def _of_several(self, asked: Sequence[str], node: exp.Expr) -> ThreeValued:
        """A test on several columns is decided on the rows whose labels are single values."""
        certain = np.ones(self.number, dtype=bool)
        columns = {}
        for name in asked:
            if name not in self.labels:
                columns[name] = self._exact[name].combine_chunks()
                continue
            labels, codes = self.labels[name]
            alone = [is_single(label) for label in labels]
            values = [
                next(values_of_label(label, self.schema[name])) if one else None
                for label, one in zip(labels, alone, strict=True)
            ]
            columns[name] = pa.array(values, self.schema[name].arrow_type).take(pa.array(codes))
            certain &= np.array(alone, dtype=bool)[codes]
        found = np.full(self.number, FAILED, dtype=np.int8)
        found[certain] = self.decide(pa.table(columns).filter(pa.array(certain)), node)
        return one_outcome(found)

    def _folded(self, nodes: Sequence[exp.Expr]) -> Sequence[Any]:
        return fold(self._connection, nodes)

    def decide(self, table: pa.Table, node: exp.Expr) -> np.ndarray:
        """On each row 1 where a condition is true, 0 false, 2 null, 3 where it has no outcome."""
        return decide(self._connection, table, node)
