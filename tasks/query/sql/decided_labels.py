"""The outcome of a condition on a recoded column, as far as its constants decide it.

DuckDB decides here the outcome on null, on labels that admit anything, on the pieces into which
constants cut a number line, and on the texts that a condition names. The rest depends on the
published labels and is left to the database: to label tables, which have the labels, the values
behind them, and labels of one value.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.labels import Anything, Between
from sfumato.tasks.query.behind_labels.decide import decide, fold
from sfumato.tasks.query.behind_labels.number_line import decide_pieces
from sfumato.tasks.query.behind_labels.scales import Scale, scale_of
from sfumato.tasks.query.behind_labels.values_behind_labels import (
    ANY,
    COMPARISONS,
    EQUALITIES,
    FALSE,
    TRUE,
    ValuesBehindLabels,
    constants_of,
)
from sfumato.tasks.query.help_tables.labels import (
    Kind,
    kind_of_labels,
    label_name,
    value_name,
)
from sfumato.tasks.query.sql.trees import alias, join, own, same, select, tree
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.schema.published import DeclaredColumn, Schema
from sfumato.tasks.sql.dialects.dialect import Types
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.terms.terms import Terms

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ColumnTest:
    """A condition on one recoded column, or its negation."""

    name: str
    node: exp.Expr
    negated: bool

    @property
    def condition(self) -> exp.Expr:
        """The condition, negated if the test is."""
        node = self.node.copy()
        return exp.Not(this=exp.paren(node, copy=False)) if self.negated else node

    def outcomes(self, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values on which the test may hold, and on which it may not (bool, each).

        Args:
            outcomes: the outcome of `node`, without the negation, on each value (integers).
        """
        holds = outcomes == (FALSE if self.negated else TRUE)
        return holds | (outcomes == ANY), ~holds


@dataclass(frozen=True)
class Run:
    """Consecutive values of an ordered type; None for a missing end.

    Attributes:
        first: the first value of the run.
        before: the last value before the run.
        last: the last value of the run.
        after: the first value after the run.
    """

    first: Any
    before: Any
    last: Any
    after: Any


@dataclass(frozen=True)
class Decider:
    """Decides conditions on the columns of a release (`schema`) by a DuckDB connection."""

    connection: "duckdb.DuckDBPyConnection"
    schema: Schema

    def on_null(self, tested: ColumnTest) -> bool:
        """Decide whether a test holds on null."""
        may, open_ = tested.outcomes(self._decide_on(tested, [None]))
        return bool(may[0] and not open_[0])

    def on_texts(self, tested: ColumnTest, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the texts on which a test may hold, and those on which it may not (bool, each)."""
        return tested.outcomes(self._decide_on(tested, texts))

    def on_anything(self, tested: ColumnTest) -> tuple[bool, bool]:
        """Decide whether a test may hold on some value, and whether it may not."""
        column = self.schema[tested.name]
        label = Anything() if scale_of(column) is None else Between(None, None)
        tally = ValuesBehindLabels([label], column).tally(
            tested.node, lambda values: self._decide_on(tested, values), self._fold
        )
        false, true, null = tally.possible[:, 0].tolist()
        holds, other = (false, true) if tested.negated else (true, false)
        return holds, other or null

    def runs(self, tested: ColumnTest) -> tuple[list[Run], list[Run]] | None:
        """Return the runs of values on which a test may hold, and of those on which it may not.

        Returns:
            None if the test does more than compare the column with constants.

        Raises:
            QueryError: if a comparison rounds.
        """
        scale, nodes = scale_of(self.schema[tested.name]), constants_of(tested.node, COMPARISONS)
        if scale is None or nodes is None:
            return None
        constants = [value for value in self._fold(nodes) if value is not None]
        finite = all(
            math.isfinite(constant) for constant in constants if isinstance(constant, float)
        )
        decided = decide_pieces(constants, scale, lambda values: self._decide_on(tested, values))
        if decided is None or not finite:
            raise QueryError(
                f"column {quote_name(tested.name)}: a comparison with this constant "
                "would be rounded in SQL. Ask with `sfumato query`"
            )
        pieces, outcomes = decided
        ends = [(piece.first, piece.last) for piece in pieces]
        may, open_ = (list(_runs(ends, side, scale)) for side in tested.outcomes(outcomes))
        return may, open_

    def texts_named(self, tested: ColumnTest) -> list[str] | None:
        """Return the texts that a test compares the column with; None if it does anything else."""
        nodes = constants_of(tested.node, EQUALITIES)
        if nodes is None:
            return None
        return list(dict.fromkeys(str(text) for text in self._fold(nodes) if text is not None))

    def _fold(self, nodes: Sequence[exp.Expr]) -> Sequence[Any]:
        return fold(self.connection, nodes)

    def _decide_on(self, tested: ColumnTest, values: pa.Array | Sequence[Any]) -> np.ndarray:
        column: DeclaredColumn = self.schema[tested.name]
        array = values if isinstance(values, pa.Array) else pa.array(values, column.arrow_type)
        return decide(self.connection, pa.table({tested.name: array}), tested.node)


def _runs(ends: Sequence[tuple[int, int]], chosen: np.ndarray, scale: Scale) -> Iterator[Run]:
    """Yield the chosen pieces of the number line, with neighbouring ones joined."""

    def value(number: int) -> Any:
        return scale.value(number) if scale.lowest <= number <= scale.highest else None

    for is_chosen, run in groupby(zip(ends, chosen.tolist(), strict=True), lambda pair: pair[1]):
        members = [piece for piece, _ in run]
        first, last = members[0][0], members[-1][1]
        if is_chosen:
            yield Run(
                None if first == scale.lowest else value(first),
                value(first - 1),
                None if last == scale.highest else value(last),
                value(last + 1),
            )


def types_of_labels(declared: Terms) -> Types:
    """Return the types of the columns of label tables, by the names of both."""
    types: dict[str, ColumnType] = {}
    for name in declared.names_with_roles("quasi-identifier"):
        type_, table = declared.columns[name].type, label_name(name)
        types |= {f"{table}.{column}": type_ for column in ("value", "low", "high")}
        types |= dict.fromkeys(
            [f"{value_name(name)}.value", f"{single_values_name(name)}.value"], type_
        )
    return types


def single_values_name(name: str) -> str:
    """Return the name of the part with the labels of a column that are one value each."""
    return f"alone_{safe_name(name)}"


class LabelTable:
    """The label table of a column.

    Attributes:
        column: the column.
        name: the name of the table.
        kind: how it describes the values that labels admit.
        label: its column of labels.
        value: the column of values behind them, see `values_query`.
        has_stars: whether a label without limits and value may occur, which admits anything.
    """

    def __init__(self, declared: Terms, column: str) -> None:
        """Take a quasi-identifier of a release that shows labels."""
        self.column = column
        self.name = label_name(column)
        self.kind: Kind = kind_of_labels(declared, column)
        self.label = own("label", self.name)
        self.has_stars = self.kind != "ranges" and _has_stars(declared, column)
        self._values = value_name(column)
        self.value = own("value", self._values if self.kind == "ranges" else self.name)

    def own_column(self, name: str) -> exp.Column:
        """Return another of its columns."""
        return own(name, self.name)

    def labels(self, condition: exp.Expr) -> exp.Select:
        """Return the query of the labels on which a condition holds, once each."""
        return select([self.label.copy()], self.name, where=[condition]).distinct(copy=False)

    def values_query(self, *columns: exp.Expr) -> exp.Select:
        """Return the query of columns for each value behind each label.

        It reads the table of all values. If the release has no such table, databases refuse the
        query.
        """
        query = select([column.copy() for column in columns], self.name)
        value = own("value", self._values)
        on: exp.Expr = exp.EQ(this=value, expression=self.value.copy())
        if self.kind == "ranges":
            on = exp.Between(this=value, low=self.own_column("low"), high=self.own_column("high"))
        join(query, self._values, on)
        return query

    def single_values(self) -> exp.Select:
        """Return the query of the labels that are one value each, and of this value."""
        never_null = exp.not_(self.own_column("admits_null"), copy=False)
        if self.kind == "ranges":
            columns = [self.label.copy(), alias(self.own_column("low"), "value")]
            is_single = exp.EQ(this=self.own_column("low"), expression=self.own_column("high"))
            return select(columns, self.name, where=[never_null, is_single])
        counted = tree("COUNT(*) = 1")
        single = select([own("label")], self.name, group_by=[own("label")]).having(
            counted, copy=False
        )
        has_value = exp.not_(exp.Is(this=self.value.copy(), expression=exp.Null()), copy=False)
        query = select(
            [self.label.copy(), self.value.copy()], self.name, where=[never_null, has_value]
        )
        join(query, single.subquery("single", copy=False), same("label", "single", self.name))
        return query


def _has_stars(declared: Terms, name: str) -> bool:
    column = declared.columns[name]
    listed = isinstance(column.hierarchy, tuple) and declared.form.shows_hierarchies
    return not (column.type == "boolean" or (listed and column.leaves == "all"))
