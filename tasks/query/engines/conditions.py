"""The rows on which a condition holds, decided once for each value of a column.

A condition is split along AND, OR and NOT into parts about one column each. For each part there are
the values on which it holds, or on which its negation holds; a value on which it is null is in
neither set. Comparisons of integers or texts with constants are decided by `plain_conditions`, and
all others by DuckDB.
"""

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_numpy
from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns
from sfumato.tasks.sql.plain_conditions import decide_plainly
from sfumato.tasks.sql.session import fetch_table

if TYPE_CHECKING:
    import duckdb

_HOLDS = "holds"
_MOST_CONDITIONS, _MOST_BYTES = 4096, 4096  # so what is remembered takes 16 MB at most
_VALUES = "\x01values"  # no published table can have this name


class ValueConditions:
    """Decides conditions on the distinct values of published columns."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Take a connection, which may see other tables."""
        self._connection = connection
        self._views: dict[tuple[PublishedColumns, str], str] = {}
        self._decided: dict[tuple[str, str, bool], np.ndarray] = {}

    def rows(self, table: PublishedColumns, condition: exp.Expr) -> np.ndarray:
        """Return the rows on which a condition holds (bool, one per row).

        Raises:
            NotDirectError: if it compares columns, or cannot be evaluated on some value.
        """
        try:
            return self._rows(table, condition, holds=True)
        except (QueryError, RecursionError):
            raise NotDirectError from None

    def values(self, table: PublishedColumns, name: str, condition: exp.Expr) -> np.ndarray:
        """Return the values of a column on which a condition about it holds (bool, by code).

        Raises:
            NotDirectError: if it cannot be evaluated on some value.
        """
        try:
            return self._values_with(table, name, condition, holds=True)
        except (QueryError, RecursionError):
            raise NotDirectError from None

    def _rows(self, table: PublishedColumns, node: exp.Expr, *, holds: bool) -> np.ndarray:
        """Return the rows on which a condition holds, or on which its negation holds."""
        names = {column.name for column in node.find_all(exp.Column)}
        if not names:
            return np.full(len(table.group), self._constant(node, holds=holds))
        if len(names) == 1:
            column = table.coded_column(name := names.pop())
            return column.rows_with(self._values_with(table, name, node, holds=holds))
        if isinstance(node, exp.Paren):
            return self._rows(table, node.this, holds=holds)
        if isinstance(node, exp.Not):
            return self._rows(table, node.this, holds=not holds)
        if not isinstance(node, exp.And | exp.Or):
            raise NotDirectError
        every = isinstance(node, exp.And) == holds  # NOT (a AND b) is (NOT a) OR (NOT b)
        decided = (self._rows(table, part, holds=holds) for part in _parts(node))
        return reduce(np.logical_and if every else np.logical_or, decided)

    def _values_with(
        self, table: PublishedColumns, name: str, node: exp.Expr, *, holds: bool
    ) -> np.ndarray:
        """Return the values of a column on which a condition, or its negation, holds."""
        outcome = decide_plainly(node, table.coded_column(name).values)
        if outcome is not None:
            return outcome.holds if holds else outcome.fails
        return self._values(node, self._view(table, name), holds=holds)

    def _view(self, table: PublishedColumns, name: str) -> str:
        """Return the name by which DuckDB knows the values of a column."""
        key = table, name
        if key not in self._views:
            self._views[key] = f"{_VALUES}{len(self._views)}"
            values = pa.table({name: table.coded_column(name).values})
            self._connection.register(self._views[key], values)
        return self._views[key]

    def _values(self, node: exp.Expr, view: str, *, holds: bool) -> np.ndarray:
        """Return the values on which a condition, or its negation, holds (bool, by code).

        Queries repeat conditions: those about few values are decided once.
        """
        key = view, node.sql("duckdb"), holds
        decided = self._decided.get(key)
        if decided is None:
            decided = self._decide(node, view, holds=holds)
            small = len(key[1]) + len(decided) <= _MOST_BYTES
            if small and len(self._decided) < _MOST_CONDITIONS:
                self._decided[key] = decided
        return decided

    def _decide(self, node: exp.Expr, view: str, *, holds: bool) -> np.ndarray:
        query = exp.select(_holds_column(node, holds=holds)).from_(exp.table_(view, quoted=True))
        outcomes = fetch_table(self._connection, query)[_HOLDS].combine_chunks()
        decided = as_numpy(outcomes.cast(pa.uint8())).view(bool)
        decided.flags.writeable = False  # it is shared by all who ask
        return decided

    def _constant(self, node: exp.Expr, *, holds: bool) -> bool:
        outcomes = fetch_table(self._connection, exp.select(_holds_column(node, holds=holds)))
        return bool(outcomes[_HOLDS][0].as_py())


def _holds_column(node: exp.Expr, *, holds: bool) -> exp.Expr:
    """Return the expression that a condition, or its negation, holds; it is never null."""
    condition = exp.paren(node if holds else exp.Not(this=exp.paren(node)))
    return exp.alias_(exp.func("COALESCE", condition, exp.false()), _HOLDS)


def _parts(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a chain of ANDs, or of ORs; parts about the same column are joined."""
    kind = exp.And if isinstance(node, exp.And) else exp.Or
    of_names: dict[frozenset[str], list[exp.Expr]] = {}
    waiting: list[exp.Expr] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, kind):
            waiting += [part.args["expression"], part.this]
        else:
            names = frozenset(column.name for column in part.find_all(exp.Column))
            of_names.setdefault(names, []).append(part)
    joined = []
    for names, parts in of_names.items():
        alone = len(names) < 2
        joined += [reduce(lambda a, b: kind(this=a, expression=b), parts)] if alone else parts
    return joined
