"""Comparisons looked up among values, by DuckDB: as SQL means them, whatever the types."""

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.query.published.comparisons import Comparison
from sfumato.tasks.query.published.sources import Ends
from sfumato.tasks.sql.session import fetch, fetch_table

_TABLE = "\x01published"  # no published table can be called so
_LOW, _HIGH, _DISTANCE = "\x01low", "\x01high", "\x01distance"


class Lookup:
    """A connection that compares values with the constants of a query."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Take a connection, in which one name is used for values while they are looked at."""
        self._connection = connection

    def equal(self, values: pa.Array, asked: Sequence[Comparison]) -> pa.Array:
        """Return those of the values that some of the equalities of a column may mean."""
        name = asked[0].column
        members = [one.constants[0].copy() for one in asked]
        column = exp.column(name, quoted=True)
        meant = exp.In(this=column, expressions=members)
        rows = exp.select(column.copy()).distinct().from_(_table()).where(meant)
        return self._with(pa.table({name: values}), rows)[name].combine_chunks()

    def holding(self, table: pa.Table, conditions: Sequence[exp.Expr]) -> list[bool]:
        """Say of conditions whether each holds in some row, or cannot be evaluated in one."""
        if not table.num_rows:
            return [False] * len(conditions)
        shown = [exp.alias_(_holds_somewhere(one), f"c{n}") for n, one in enumerate(conditions)]
        (found,) = self._with(table, exp.select(*shown).from_(_table())).to_pylist()
        return [bool(one) for one in found.values()]

    def inside(self, ends: pa.Table, one: Comparison) -> bool:
        """Say whether a comparison may hold of a value between some pair of ends."""
        conditions = _between_ends(one)
        return any(self.holding(ends, conditions))

    def beside(self, values: pa.Array, one: Comparison) -> Ends:
        """Return the values of a column next to a constant: below it, and above it."""
        column, constant = exp.column(one.column, quoted=True), one.constants[0]
        below = _filtered(exp.Max, column, exp.LT, constant)
        above = _filtered(exp.Min, column, exp.GT, constant)
        shown = [exp.alias_(below, _LOW, quoted=True), exp.alias_(above, _HIGH, quoted=True)]
        query = exp.select(*shown).from_(_table())
        (row,) = self._with(pa.table({one.column: values}), query).to_pylist()
        return row[_LOW], row[_HIGH]

    def alike(self, texts: Iterable[str], wanted: str, most: int) -> list[str]:
        """Return the texts that are the fewest edits away from another one, if these are few.

        Letters' case does not count. A third of the characters may differ.
        """
        column = exp.column("text")
        lower = [exp.Lower(this=side) for side in (column, exp.Literal.string(wanted))]
        edits = exp.alias_(exp.func("damerau_levenshtein", *lower), _DISTANCE, quoted=True)
        query = exp.select(column.copy(), edits).from_(_table())
        query = query.order_by(exp.column(_DISTANCE, quoted=True), column.copy()).limit(most)
        rows = self._with(pa.table({"text": pa.array(list(texts), pa.string())}), query)
        found = rows.to_pylist()
        allowed = min([len(wanted) // 3, *(row[_DISTANCE] for row in found)])
        return [row["text"] for row in found if row[_DISTANCE] <= allowed]

    def constant(self, node: exp.Expr) -> Any:
        """Return the value of a constant."""
        return fetch(self._connection, exp.select(node.copy()))[0][0]

    def _with(self, table: pa.Table, query: exp.Select) -> pa.Table:
        self._connection.register(_TABLE, table)
        try:
            return fetch_table(self._connection, query)
        finally:
            self._connection.unregister(_TABLE)


def low_and_high(ends: Sequence[Ends], type_: pa.DataType) -> pa.Table:
    """Return pairs of ends as the table that `inside` takes."""
    low, high = (pa.array([pair[side] for pair in ends], type_) for side in (0, 1))
    return pa.table({_LOW: low, _HIGH: high})


def _table() -> exp.Table:
    return exp.table_(_TABLE, quoted=True)


def _holds_somewhere(condition: exp.Expr) -> exp.Expr:
    """Whether a condition is true in some row; what fails in one counts as true there."""
    known = exp.Coalesce(this=exp.paren(condition), expressions=[exp.false()])
    tried = exp.Coalesce(this=exp.Try(this=known), expressions=[exp.true()])
    return exp.LogicalOr(this=tried)


def _between_ends(one: Comparison) -> list[exp.Expr]:
    low, high = exp.column(_LOW, quoted=True), exp.column(_HIGH, quoted=True)
    if one.kind == "order":
        return [_with_column(one.condition, end) for end in (low, high)]
    first, last = one.constants[0], one.constants[-1]
    starts = exp.LTE(this=low, expression=exp.paren(last))
    return [exp.and_(starts, exp.GTE(this=high, expression=exp.paren(first)))]


def _with_column(condition: exp.Expr, other: exp.Column) -> exp.Expr:
    found = condition.copy()
    for column in list(found.find_all(exp.Column)):
        column.replace(other.copy())
    return found


def _filtered(
    aggregate: type[exp.AggFunc],
    column: exp.Column,
    side: type[exp.Binary],
    constant: exp.Expr,
) -> exp.Expr:
    condition = side(this=column.copy(), expression=exp.paren(constant))
    return exp.Filter(this=aggregate(this=column.copy()), expression=exp.Where(this=condition))
