"""What a condition on a recoded column comes to, as far as its constants alone decide it.

Decided here, by DuckDB: on null, on labels that can be anything, on the pieces into which constants
cut a number line, and on the texts that a condition names. What depends on the published labels is
left to the database.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.errors import QueryError
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


@dataclass(frozen=True)
class Tested:
    """A condition on one recoded column, or its opposite."""

    name: str
    node: exp.Expr
    negated: bool

    @property
    def condition(self) -> exp.Expr:
        """The condition as it is meant."""
        node = self.node.copy()
        return exp.Not(this=exp.paren(node, copy=False)) if self.negated else node

    def outcomes(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where it may hold, and where it may not (bool, one per value), by what the node is."""
        wanted = found == (FALSE if self.negated else TRUE)
        return wanted | (found == ANY), ~wanted


@dataclass(frozen=True)
class Run:
    """Values of an ordered type one after the other; None where there is no end.

    Attributes:
        first: the first of them.
        before: the last that is not yet one.
        last: the last of them.
        after: the first that is no longer one.
    """

    first: Any
    before: Any
    last: Any
    after: Any


@dataclass(frozen=True)
class Decided:
    """Decides conditions on the columns of a release."""

    connection: duckdb.DuckDBPyConnection
    schema: Schema

    def on_null(self, tested: Tested) -> bool:
        """Decide whether it holds on null."""
        may, open_ = tested.outcomes(self._on(tested, [None]))
        return bool(may[0] and not open_[0])

    def on_texts(self, tested: Tested, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """On which texts it may hold, and on which it may not (bool, one per text)."""
        return tested.outcomes(self._on(tested, texts))

    def on_anything(self, tested: Tested) -> tuple[bool, bool]:
        """Decide whether it may hold on some value, and whether it may not."""
        column = self.schema[tested.name]
        label = Anything() if scale_of(column) is None else Between(None, None)
        tally = ValuesBehindLabels([label], column).tally(
            tested.node, lambda values: self._on(tested, values), self._fold
        )
        false, true, null = tally.possible[:, 0].tolist()
        wanted, other = (false, true) if tested.negated else (true, false)
        return wanted, other or null

    def runs(self, tested: Tested) -> tuple[list[Run], list[Run]] | None:
        """The runs of values on which it may hold, and of those on which it may not.

        Returns:
            None where it does more than compare the column with constants.

        Raises:
            QueryError: where a comparison rounds.
        """
        scale, nodes = scale_of(self.schema[tested.name]), constants_of(tested.node, COMPARISONS)
        if scale is None or nodes is None:
            return None
        constants = [value for value in self._fold(nodes) if value is not None]
        finite = all(math.isfinite(of) for of in constants if isinstance(of, float))
        found = decide_pieces(constants, scale, lambda values: self._on(tested, values))
        if found is None or not finite:
            raise QueryError(
                f"column {quote_name(tested.name)}: a comparison with this constant rounds: ask "
                "with `sfumato query`"
            )
        pieces, outcomes = found
        ends = [(piece.first, piece.last) for piece in pieces]
        may, open_ = (list(_runs(ends, of, scale)) for of in tested.outcomes(outcomes))
        return may, open_

    def texts_named(self, tested: Tested) -> list[str] | None:
        """The texts that it compares the column with, None where it does anything else."""
        nodes = constants_of(tested.node, EQUALITIES)
        if nodes is None:
            return None
        return list(dict.fromkeys(str(of) for of in self._fold(nodes) if of is not None))

    def _fold(self, nodes: Sequence[exp.Expr]) -> Sequence[Any]:
        return fold(self.connection, nodes)

    def _on(self, tested: Tested, values: pa.Array | Sequence[Any]) -> np.ndarray:
        column: DeclaredColumn = self.schema[tested.name]
        known = values if isinstance(values, pa.Array) else pa.array(values, column.arrow_type)
        return decide(self.connection, pa.table({tested.name: known}), tested.node)


def _runs(ends: Sequence[tuple[int, int]], chosen: np.ndarray, scale: Scale) -> Iterator[Run]:
    """The chosen pieces of the number line, those side by side joined."""

    def value(number: int) -> Any:
        return scale.value(number) if scale.lowest <= number <= scale.highest else None

    for is_chosen, run in groupby(zip(ends, chosen.tolist(), strict=True), lambda of: of[1]):
        members = [of for of, _ in run]
        first, last = members[0][0], members[-1][1]
        if is_chosen:
            yield Run(
                None if first == scale.lowest else value(first),
                value(first - 1),
                None if last == scale.highest else value(last),
                value(last + 1),
            )
