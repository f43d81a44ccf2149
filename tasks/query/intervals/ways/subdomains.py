"""What is likely of answers on exact rows beside subdomains, of which targets tell how they fill.

A group's subdomains are shuffled among its rows, and a value is drawn from its subdomain as the
published target says.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.query.bounds.values import value_of
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns
from sfumato.tasks.query.engines.subdomains import ShownSubdomains, SubdomainsEngine
from sfumato.tasks.query.intervals.laws.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.laws.extremes import ExtremeLaw
from sfumato.tasks.query.intervals.laws.spread import AnswerLaw, ExtremeSpread
from sfumato.tasks.query.intervals.ways.exact_rows import (
    ExactRows,
    NumbersOfRows,
    condition_on_one,
    size_of,
)
from sfumato.tasks.query.intervals.ways.way import Spreads
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.query.sql.conditions.subdomain_queries import SubdomainQueries
from sfumato.tasks.sql.session import fetch_table

_MOST_CELLS = 20_000_000  # shown subdomains times values
_EVERYTHING = Question((), None, ())


class SubdomainsIntervals:
    """The laws of answers of an engine that reads subdomains."""

    laws = frozenset({"count", "sum", "avg", "min", "max"})
    laws_over_nulls = frozenset[str]()

    def __init__(self, engine: SubdomainsEngine, conditions: ValueConditions | None = None) -> None:
        """Read the rows, and what groups show.

        Raises:
            NotDirectError: where groups are not numbered 0, 1, ….
        """
        self._engine = engine
        known = relations(engine.declared).rows
        table = PublishedColumns(fetch_table(engine.connection, exp.select("*").from_(known)))
        _, self._shown = engine.selected(SubdomainQueries(_EVERYTHING, known), 1)
        if self._shown.groups != table.groups:
            raise NotDirectError
        judged = conditions or ValueConditions(engine.connection)
        self._rows = ExactRows(table, judged, engine.declared, table.groups)
        self._values = PublishedColumns(
            pa.table({engine.name: engine.nodes.values, "group_id": np.arange(len(self._domain))})
        )

    @property
    def _domain(self) -> pa.Array:
        return self._engine.nodes.values

    def domain(self, name: str) -> Sequence[Any]:
        """The published values of a column, ascending, without null."""
        if name != self._engine.name:
            return self._rows.domain(name)
        return list(self._domain.to_pylist())

    def times_of(self, name: str) -> np.ndarray:  # noqa: ARG002 - there is one sensitive column
        """How often each value of the sensitive column is expected, about (int64)."""
        by_node = np.bincount(
            self._shown.node, self._shown.times, len(self._engine.nodes.told.first)
        )
        nodes, found = self._engine.nodes, []
        for at in range(len(self._domain)):
            one = np.zeros(len(self._domain))
            one[at] = 1.0
            found.append(float(nodes.expected(one) @ by_node))
        return np.ceil(found).astype(np.int64)

    def spreads(self, question: Question) -> Spreads:
        """The law of each aggregate by the values of the group columns.

        Raises:
            NotDirectError: where a condition cannot be evaluated on values.
        """
        meant = self._meant(question)
        return {
            key: dict(self._of_cell(question, selected, meant))
            for key, selected in self._rows.cells(question)
        }

    def _of_cell(
        self, question: Question, selected: SelectedOfGroups, meant: NumbersOfRows | None
    ) -> Iterator[tuple[Aggregate, AnswerLaw]]:
        if not selected.number:
            return
        for aggregate in question.aggregates:
            kind = aggregate.kind.name
            if meant is not None:
                if aggregate.kind.counts_rows:
                    yield aggregate, meant.spread_over(selected, per_row=False)
            elif kind in ("min", "max"):
                if self._below is not None:
                    yield aggregate, self._extreme(selected, self._below, greatest=kind == "max")
            elif kind in ("sum", "avg"):
                yield aggregate, self._numbers.spread_over(selected, per_row=kind == "avg")

    def _meant(self, question: Question) -> NumbersOfRows | None:
        """1 for each value that a condition means, 0 for the others."""
        found = condition_on_one(question)
        if found is None:
            return None
        return self._of_groups(self._rows.conditions.rows(self._values, found[1]).astype(float))

    @cached_property
    def _numbers(self) -> NumbersOfRows:
        return self._of_groups(self._engine.floats)

    def _of_groups(self, numbers: np.ndarray) -> NumbersOfRows:
        """The numbers of rows by what is expected of those of values (float64, by rank)."""
        shown, nodes = self._shown, self._engine.nodes
        mean, square = nodes.expected(numbers)[shown.node], nodes.expected(numbers**2)[shown.node]
        middle = _means(shown, mean)
        within = np.maximum(square - mean**2, 0.0)
        of_groups = GroupedNumbers(
            shown.sizes.astype(np.float64),
            middle,
            np.maximum(_means(shown, mean**2) - middle**2, 0.0),
            _means(shown, within),
        )
        return NumbersOfRows(of_groups, self._rows.covariates.fit(of_groups))

    @cached_property
    def _below(self) -> np.ndarray | None:
        """The share of each group's values up to each (float64, groups x values)."""
        shown, nodes, values = self._shown, self._engine.nodes, len(self._domain)
        if len(shown.node) * values > _MOST_CELLS:
            return None
        steps = np.tri(values)
        return np.stack([_means(shown, nodes.expected(of)[shown.node]) for of in steps], axis=1)

    def _extreme(
        self, selected: SelectedOfGroups, below: np.ndarray, *, greatest: bool
    ) -> ExtremeSpread:
        """The law of the best of values that are drawn one by one."""
        share = below[selected.group]
        none = np.column_stack([np.zeros(len(share)), share[:, :-1]])[:, ::-1]
        codes = np.arange(len(self._domain))[::-1]
        if not greatest:
            none, codes = 1 - share, codes[::-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.clip(none, 0.0, 1.0))
            total = selected.hits @ np.where(np.isneginf(logs), -1e300, logs)
        total = np.where(total <= -1e300, -np.inf, total)
        some = np.flatnonzero(np.diff(total, prepend=0.0) < 0)  # others are never the best
        column, type_ = self._engine.name, self._engine.declared.columns
        whole = type_[column].type == "integer"
        return ExtremeSpread(
            size_of(selected),
            ExtremeLaw(codes[some], total[some]),
            lambda code: value_of(self._domain[code].as_py(), whole),
        )


def _means(shown: ShownSubdomains, numbers: np.ndarray) -> np.ndarray:
    """The mean over each group's subdomains (float64, one per group)."""
    sums = np.bincount(shown.group, numbers * shown.times, shown.groups)
    means: np.ndarray = sums / shown.sizes
    return means
