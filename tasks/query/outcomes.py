"""What a condition can come to on rows whose quasi-identifiers are recoded.

Behind a label stands one of several values, so that a condition can be true on a row, false, or
null, and more than one of them may be possible. Every part of the condition that is about one
recoded column is decided as a whole; parts are combined as if they did not depend on each other,
which leaves nothing out. Chances suppose that all values behind a label are equally likely, and
independent between columns: they make estimates, never bounds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from expectations.arrays import as_numpy
from tasks.forms.labels import Admitted
from tasks.forms.schema import Schema
from tasks.query.candidates import Candidate, candidates
from tasks.sql.session import fetch_table

_PLACE = "\x01place"  # no published column can be called so


@dataclass(frozen=True, eq=False)
class Outcomes:
    """For each row (or label) which outcomes are possible (bool), and the chances of two (float).

    `chance` is that of true and `against` that of false, NaN where nothing is known.
    """

    true: np.ndarray
    false: np.ndarray
    null: np.ndarray
    chance: np.ndarray
    against: np.ndarray

    @property
    def must(self) -> np.ndarray:
        """Where the condition surely holds."""
        surely: np.ndarray = self.true & ~self.false & ~self.null
        return surely

    @property
    def may(self) -> np.ndarray:
        """Where it possibly holds."""
        return self.true

    def take(self, codes: np.ndarray) -> "Outcomes":
        """The outcomes at some positions."""
        parts = (self.true, self.false, self.null, self.chance, self.against)
        return Outcomes(*(part[codes] for part in parts))


@dataclass(frozen=True, eq=False)
class Rows:
    """Published rows to ask conditions of, in a session that sees the exact columns.

    `labels[name]` has what the labels of a recoded column admit, and which one each row has.
    """

    connection: duckdb.DuckDBPyConnection
    schema: Schema
    labels: Mapping[str, tuple[list[Admitted], np.ndarray]]
    exact: pa.Table

    def outcomes(self, condition: exp.Expr | None) -> Outcomes:
        """What a condition can come to on every row; without one, every row is meant."""
        if condition is None:
            return _certain(np.ones(self.exact.num_rows, dtype=np.int8))
        return self._of(condition)

    def _of(self, node: exp.Expr) -> Outcomes:
        asked = {column.name for column in node.find_all(exp.Column)}
        recoded = asked & self.labels.keys()
        if not recoded:
            return self._of_exact(node)
        if len(asked) == 1:
            return self._of_label(next(iter(asked)), node)
        if isinstance(node, exp.Paren):
            return self._of(node.this)
        if isinstance(node, exp.Not):
            return negation(self._of(node.this))
        if isinstance(node, exp.And | exp.Or):
            join = conjunction if isinstance(node, exp.And) else disjunction
            return reduce(join, (self._of(part) for part in _by_column(node)))
        return _unknown(self.exact.num_rows)

    def _of_exact(self, node: exp.Expr) -> Outcomes:
        """On columns that are published as they are there is one outcome."""
        return _certain(_decided(self.connection, self.exact, node))

    def _of_label(self, name: str, node: exp.Expr) -> Outcomes:
        labels, codes = self.labels[name]
        tried = candidates(labels, self.schema[name], node)
        if tried is None:
            return _unknown(len(labels)).take(codes)
        return self._tried(name, node, tried, len(labels)).take(codes)

    def _tried(self, name: str, node: exp.Expr, tried: list[Candidate], labels: int) -> Outcomes:
        label = np.array([one.label for one in tried], dtype=np.int64)
        weight = np.array([one.weight for one in tried])
        values = pa.array([one.value for one in tried], self.schema[name].arrow_type)
        found = _decided(self.connection, pa.table({name: values}), node)
        possible = [np.bincount(label[found == n], minlength=labels) > 0 for n in (1, 0, -1)]
        whole = np.bincount(label, weight, labels)
        known = np.where(whole > 0, whole, np.nan)
        chances = [np.bincount(label, weight * (found == n), labels) / known for n in (1, 0)]
        return Outcomes(*possible, *chances)


def conjunction(left: Outcomes, right: Outcomes) -> Outcomes:
    """What AND can come to: null with true or null is null, false with anything is false."""
    return Outcomes(
        left.true & right.true,
        left.false | right.false,
        (left.null & (right.true | right.null)) | (right.null & (left.true | left.null)),
        left.chance * right.chance,
        1 - (1 - left.against) * (1 - right.against),
    )


def negation(of: Outcomes) -> Outcomes:
    """What NOT can come to."""
    return Outcomes(of.false, of.true, of.null, of.against, of.chance)


def disjunction(left: Outcomes, right: Outcomes) -> Outcomes:
    """What OR can come to."""
    return negation(conjunction(negation(left), negation(right)))


def _by_column(node: exp.Expr) -> list[exp.Expr]:
    """What a chain of one connective joins, with those parts joined that are on the same column."""
    kind: Callable[..., exp.Expr] = type(node)
    found: dict[str, exp.Expr] = {}
    waiting, number = [node], 0
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            waiting += [part.args["expression"], part.this]
            continue
        asked = sorted({column.name for column in part.find_all(exp.Column)})
        number += 1
        place = asked[0] if len(asked) == 1 else f"\0{number}"
        known = found.get(place)
        part = exp.paren(part, copy=False)
        found[place] = part if known is None else kind(this=known, expression=part)
    return list(found.values())


def _decided(connection: duckdb.DuckDBPyConnection, table: pa.Table, node: exp.Expr) -> np.ndarray:
    """On each row of a table 1 where a condition is true, 0 where it is false, -1 where null."""
    asked = {column.name for column in node.find_all(exp.Column)}
    place = pa.array(np.arange(table.num_rows))
    connection.register("asked", table.select(sorted(asked)).append_column(_PLACE, place))
    missing = exp.Is(this=exp.paren(node.copy()), expression=exp.Null())
    cases = [exp.If(this=missing, true=_number(-1)), exp.If(this=node.copy(), true=_number(1))]
    outcome = exp.alias_(exp.Case(ifs=cases, default=_number(0)), "outcome")
    rows = fetch_table(
        connection, exp.select(exp.column(_PLACE, quoted=True), outcome).from_("asked")
    )
    connection.unregister("asked")
    found = np.empty(table.num_rows, dtype=np.int8)
    places, outcomes = (as_numpy(column.combine_chunks()) for column in rows.columns)
    found[places] = outcomes
    return found


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _certain(found: np.ndarray) -> Outcomes:
    """One outcome on each row: 1 for true, 0 for false, -1 for null."""
    true, false = found == 1, found == 0
    return Outcomes(true, false, found < 0, true.astype(np.float64), false.astype(np.float64))


def _unknown(rows: int) -> Outcomes:
    """Nothing is known."""
    possible, unknown = np.ones(rows, dtype=bool), np.full(rows, np.nan)
    return Outcomes(possible, possible, possible, unknown, unknown)
