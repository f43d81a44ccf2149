"""The outcome of a condition on a recoded column, as far as its constants decide it.

DuckDB decides here the outcome on null, on labels that admit anything, on the pieces into which
constants cut a number line, and on the texts that a condition names. The rest depends on the
published labels and is left to the database.
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
from sfumato.tasks.schema.published import DeclaredColumn, Schema
from sfumato.tasks.sql.parse import quote_name

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
