"""Conditions decided on values, plainly or by DuckDB, in three-valued logic (Kleene's).

A condition can be true on a row, false, or null, and more than one of these may be possible. Parts
of a condition are combined as if they were independent, which never misses a possible outcome.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_numpy
from sfumato.tasks.sql.plain_conditions import decide_plainly, plain_constants
from sfumato.tasks.sql.session import fetch, fetch_table

if TYPE_CHECKING:
    import duckdb

FAILED = 3  # the condition cannot be evaluated: on the original it may fail, or have any outcome
_ROW = "\x01row"  # no published column can have this name


@dataclass(frozen=True, eq=False)
class ThreeValued:
    """The possible outcomes of a condition on each row (or label), and their chances.

    Attributes:
        true: the rows on which it can be true (bool, one per row, as `false` and `null`).
        false: the rows on which it can be false.
        null: the rows on which it can be null.
        chance: the chance that it is true, NaN if unknown (float64, one per row).
        against: the chance that it is false, NaN if unknown (float64, one per row).
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
        """The rows on which the condition possibly holds (bool, one per row)."""
        return self.true

    def take(self, codes: np.ndarray) -> "ThreeValued":
        """Return the outcomes of the rows at some positions (integers), which may recur."""
        parts = (self.true, self.false, self.null, self.chance, self.against)
        return ThreeValued(*(part[codes] for part in parts))


def conjunction(first: ThreeValued, second: ThreeValued) -> ThreeValued:
    """Return the outcomes of AND: null with true or null is null, false with anything is false."""
    return ThreeValued(
        first.true & second.true,
        first.false | second.false,
        (first.null & (second.true | second.null)) | (second.null & (first.true | first.null)),
        first.chance * second.chance,
        1 - (1 - first.against) * (1 - second.against),
    )


def negation(operand: ThreeValued) -> ThreeValued:
    """Return the outcomes of NOT."""
    return ThreeValued(operand.false, operand.true, operand.null, operand.against, operand.chance)


def disjunction(first: ThreeValued, second: ThreeValued) -> ThreeValued:
    """Return the outcomes of OR."""
    return negation(conjunction(negation(first), negation(second)))


def one_outcome(outcomes: np.ndarray) -> ThreeValued:
    """Return one outcome per row, and all outcomes if the condition cannot be evaluated on it.

    Args:
        outcomes: 0 for false, 1 for true, 2 for null, `FAILED` for no outcome (int8, one per row).
    """
    failed = outcomes == FAILED
    true, false, null = (outcomes == code for code in (1, 0, 2))
    chance, against = (np.where(failed, np.nan, outcome) for outcome in (true, false))
    return ThreeValued(true | failed, false | failed, null | failed, chance, against)


def decide(connection: "duckdb.DuckDBPyConnection", table: pa.Table, node: exp.Expr) -> np.ndarray:
    """Decide a condition on each row: 1 if it is true, 0 false, 2 null, 3 if it fails (int8).

    Raises:
        QueryError: if the condition cannot be evaluated at all.
    """
    if table.num_columns == 1 and len(table):
        plain = decide_plainly(node, table.column(0).combine_chunks())
        if plain is not None:
            return np.where(plain.holds, 1, np.where(plain.fails, 0, 2)).astype(np.int8)
    number = exp.cast(exp.paren(node, copy=False), "tinyint", copy=False)
    or_null = exp.Coalesce(this=number, expressions=[_number(2)])
    outcome = exp.Coalesce(this=exp.Try(this=or_null), expressions=[_number(FAILED)])
    outcomes = evaluate(connection, table, outcome)
    return as_numpy(outcomes).astype(np.int8)


def evaluate(connection: "duckdb.DuckDBPyConnection", table: pa.Table, node: exp.Expr) -> pa.Array:
    """Evaluate an expression on each row of a table, in order.

    Raises:
        QueryError: if it cannot be evaluated.
    """
    place = pa.array(np.arange(table.num_rows))
    connection.register("asked", table.append_column(_ROW, place))
    fields = exp.column(_ROW, quoted=True), exp.alias_(node, "outcome", copy=False)
    try:
        rows = fetch_table(connection, exp.select(*fields).from_("asked"))
    finally:
        connection.unregister("asked")
    places, outcomes = (column.combine_chunks() for column in rows.columns)
    # the outcomes come in any order
    order = np.empty(table.num_rows, dtype=np.int64)
    order[as_numpy(places)] = np.arange(table.num_rows)
    return outcomes.take(pa.array(order))


def fold(connection: "duckdb.DuckDBPyConnection", nodes: Sequence[exp.Expr]) -> Sequence[Any]:
    """Return the values of expressions without columns.

    Raises:
        QueryError: if one cannot be evaluated.
    """
    constants = plain_constants(nodes)
    return fetch(connection, exp.select(*nodes))[0] if constants is None else constants


def parts_by_column(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts that a chain of ANDs, or of ORs, joins.

    Parts about one column, and no other, are joined into one part for each column.
    """
    kind: Callable[..., exp.Expr] = type(node)
    parts: dict[str, exp.Expr] = {}
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if type(part) is type(node):
            waiting += [part.args["expression"], part.this]
            continue
        names = columns_of(part)
        place = names[0] if len(names) == 1 else f"\0{len(parts)}"
        earlier = parts.get(place)
        part = exp.paren(part, copy=False)
        parts[place] = part if earlier is None else kind(this=earlier, expression=part)
    return list(parts.values())


def decides_labels_once(node: exp.Expr, labelled: Collection[str]) -> bool:
    """Decide whether each labelled column occurs in only one part of a condition, and alone there.

    Parts are combined as if they were independent. Two parts about one label may both be possible,
    and yet never hold on the same row.
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
            waiting += parts_by_column(part.copy())
        elif labels & seen or (labels and len(columns) > 1):
            return False
        else:
            seen |= labels
    return True


def columns_of(node: exp.Expr) -> list[str]:
    """Return the names of the columns in a condition, each once."""
    return sorted({column.name for column in node.find_all(exp.Column)})


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
