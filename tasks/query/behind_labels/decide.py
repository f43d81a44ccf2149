"""Conditions that DuckDB decides on values, in three-valued logic (Kleene's).

A condition can be true on a row, false, or null, and more than one of them may be possible. Parts
of a condition are combined as if they did not depend on each other, which leaves nothing out.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.arrow import as_numpy
from sfumato.tasks.sql.session import fetch, fetch_table

FAILED = 3  # what cannot be evaluated: it would not be answered on the original, or any way
_ROW = "\x01row"  # no published column can be called so


@dataclass(frozen=True, eq=False)
class ThreeValued:
    """The possible outcomes of a condition on each row (or label), and their chances.

    Attributes:
        true: where it can be true (bool, one per row, as `false` and `null`).
        false: where it can be false.
        null: where it can be null.
        chance: that it is true, NaN where nothing is known (float64, one per row).
        against: the chance that it is false (float64, one per row).
    """

    true: np.ndarray
    false: np.ndarray
    null: np.ndarray
    chance: np.ndarray
    against: np.ndarray

    @property
    def must(self) -> np.ndarray:
        """The rows on which the condition surely holds (bool, one per row)."""
        surely: np.ndarray = self.true & ~self.false & ~self.null
        return surely

    @property
    def may(self) -> np.ndarray:
        """The rows on which it possibly holds (bool, one per row)."""
        return self.true

    def take(self, codes: np.ndarray) -> "ThreeValued":
        """The outcomes at some positions (integers, of any number)."""
        parts = (self.true, self.false, self.null, self.chance, self.against)
        return ThreeValued(*(part[codes] for part in parts))


def conjunction(left: ThreeValued, right: ThreeValued) -> ThreeValued:
    """The outcomes of AND: null with true or null is null, false with anything is false."""
    return ThreeValued(
        left.true & right.true,
        left.false | right.false,
        (left.null & (right.true | right.null)) | (right.null & (left.true | left.null)),
        left.chance * right.chance,
        1 - (1 - left.against) * (1 - right.against),
    )


def negation(of: ThreeValued) -> ThreeValued:
    """The outcomes of NOT."""
    return ThreeValued(of.false, of.true, of.null, of.against, of.chance)


def disjunction(left: ThreeValued, right: ThreeValued) -> ThreeValued:
    """The outcomes of OR."""
    return negation(conjunction(negation(left), negation(right)))


def one_outcome(found: np.ndarray) -> ThreeValued:
    """One outcome on each row, and any where the condition could not be evaluated.

    Args:
        found: 0 for false, 1 for true, 2 for null, `FAILED` for no outcome (int8, one per row).
    """
    failed = found == FAILED
    true, false, null = (found == one for one in (1, 0, 2))
    chance, against = (np.where(failed, np.nan, one) for one in (true, false))
    return ThreeValued(true | failed, false | failed, null | failed, chance, against)


def decide(connection: duckdb.DuckDBPyConnection, table: pa.Table, node: exp.Expr) -> np.ndarray:
    """Decide a condition on each row: 1 where it is true, 0 false, 2 null, 3 where it fails (int8).

    Raises:
        QueryError: where the condition cannot be evaluated at all.
    """
    number = exp.cast(exp.paren(node, copy=False), "tinyint", copy=False)
    known = exp.Coalesce(this=number, expressions=[_number(2)])
    found_or_not = exp.Coalesce(this=exp.Try(this=known), expressions=[_number(FAILED)])
    outcomes = evaluate(connection, table, found_or_not)
    return as_numpy(outcomes).astype(np.int8)


def evaluate(connection: duckdb.DuckDBPyConnection, table: pa.Table, node: exp.Expr) -> pa.Array:
    """Evaluate an expression on each row of a table, in order.

    Raises:
        QueryError: where it cannot be evaluated.
    """
    place = pa.array(np.arange(table.num_rows))
    connection.register("asked", table.append_column(_ROW, place))
    shown = exp.column(_ROW, quoted=True), exp.alias_(node, "outcome", copy=False)
    try:
        rows = fetch_table(connection, exp.select(*shown).from_("asked"))
    finally:
        connection.unregister("asked")
    places, outcomes = (column.combine_chunks() for column in rows.columns)
    order = np.empty(table.num_rows, dtype=np.int64)
    order[as_numpy(places)] = np.arange(table.num_rows)
    return outcomes.take(pa.array(order))


def fold(connection: duckdb.DuckDBPyConnection, nodes: Sequence[exp.Expr]) -> Sequence[Any]:
    """The values of some expressions without columns.

    Raises:
        QueryError: where one cannot be evaluated.
    """
    return fetch(connection, exp.select(*nodes))[0] if nodes else ()


def by_column(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a chain of one connective, those on the same column joined to one."""
    kind: Callable[..., exp.Expr] = type(node)
    found: dict[str, exp.Expr] = {}
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if type(part) is type(node):
            waiting += [part.args["expression"], part.this]
            continue
        asked = columns_of(part)
        place = asked[0] if len(asked) == 1 else f"\0{len(found)}"
        known = found.get(place)
        part = exp.paren(part, copy=False)
        found[place] = part if known is None else kind(this=known, expression=part)
    return list(found.values())


def decides_labels_once(node: exp.Expr, labelled: Collection[str]) -> bool:
    """Decide whether each labelled column stands in one part of a condition, and there alone.

    Parts are combined as if they did not depend on each other. Of two parts about one label both
    may be possible, and never on the same row.
    """
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        columns = columns_of(part)
        labels = set(columns) & set(labelled)
        if len(columns) > 1 and isinstance(part, exp.Paren | exp.Not):
            waiting.append(part.this)
        elif len(columns) > 1 and isinstance(part, exp.And | exp.Or):
            waiting += by_column(part.copy())
        elif labels & seen or (labels and len(columns) > 1):
            return False
        else:
            seen |= labels
    return True


def columns_of(node: exp.Expr) -> list[str]:
    """The names of the columns that a condition is about, each once."""
    return sorted({column.name for column in node.find_all(exp.Column)})


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
