"""What is likely of answers on exact rows beside subdomains, of which targets tell how they fill.

A group's subdomains are shuffled among its rows, and a value is drawn from its subdomain as the
published target says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import value_of
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns
from sfumato.tasks.query.engines.subdomains import ShownSubdomains, SubdomainsEngine
from sfumato.tasks.query.intervals.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.exact_rows import (
    ExactRows,
    NumbersOfRows,
    condition_on_one,
    size_of,
)
from sfumato.tasks.query.intervals.shapes import name_of
from sfumato.tasks.query.intervals.spread import AnswerLaw, ExtremeLaw, ExtremeSpread, NumberSpread
from sfumato.tasks.query.intervals.spreads_of_rows import SpreadsOfRows, spreads_together
from sfumato.tasks.query.intervals.sums import SquaresSpread
from sfumato.tasks.query.intervals.way import Spreads
from sfumato.tasks.query.question.question import Aggregate, Question
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.sql.subdomain_conditions import SubdomainQueries
from sfumato.tasks.sql.session import fetch_table

_MOST_CELLS = 20_000_000  # shown subdomains times values
_EVERYTHING = Question((), None, ())


class SubdomainsIntervals:
    """The laws of answers of an engine that reads subdomains."""

    laws = frozenset({"count", "sum", "avg", "min", "max", "spread"})
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
            law: AnswerLaw | None
            if meant is None:
                law = self._law(aggregate, selected)
            else:
                counts = aggregate.kind.counts_rows
                law = meant.spread_over(selected, per_row=False) if counts else None
            if law is not None:
                yield aggregate, law

    def _law(self, aggregate: Aggregate, selected: SelectedOfGroups) -> AnswerLaw | None:
        """The law of an aggregate; None of one that has none."""
        making = _LAWS.get(name_of(aggregate) or "")
        return None if making is None else making(self, aggregate, selected)

    def _total(
        self, _: Aggregate, selected: SelectedOfGroups, *, per_row: bool
    ) -> NumberSpread | None:
        """The law of a sum or a mean."""
        return self._numbers.spread_over(selected, per_row=per_row)

    def _spread(self, aggregate: Aggregate, selected: SelectedOfGroups) -> SquaresSpread | None:
        """The law of a variance or a standard deviation."""
        return self._squares.spread_over(aggregate.kind, selected, size_of(selected))

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
    def _squares(self) -> SpreadsOfRows:
        """The numbers of rows above their mean, their squares, and ones."""
        shown, nodes = self._shown, self._engine.nodes
        middle = np.average(nodes.expected(self._engine.floats)[shown.node], weights=shown.times)
        above = self._engine.floats - middle
        numbers = (above, above**2, np.ones(len(above)))
        expected = [nodes.expected(of)[shown.node] for of in numbers]
        mean = np.array([_means(shown, of) for of in expected])
        apart = [of - own[shown.group] for of, own in zip(expected, mean, strict=True)]
        between, inner = (np.empty((3, 3, shown.groups)) for _ in range(2))
        for one, other in product(range(3), repeat=2):
            together = nodes.expected(numbers[one] * numbers[other])[shown.node]
            inner[one, other] = _means(shown, together - expected[one] * expected[other])
            between[one, other] = _means(shown, apart[one] * apart[other])
        sizes = shown.sizes.astype(np.float64)
        return spreads_together(sizes, mean, between, inner, self._rows.covariates)

    @cached_property
    def _below(self) -> np.ndarray | None:
        """The share of each group's values up to each (float64, groups x values)."""
        shown, nodes, values = self._shown, self._engine.nodes, len(self._domain)
        if len(shown.node) * values > _MOST_CELLS:
            return None
        steps = np.tri(values)
        return np.stack([_means(shown, nodes.expected(of)[shown.node]) for of in steps], axis=1)

    def _extreme(
        self, _: Aggregate, selected: SelectedOfGroups, *, greatest: bool
    ) -> ExtremeSpread | None:
        """The law of the best of values that are drawn one by one; None where they are too many."""
        if self._below is None:
            return None
        share = self._below[selected.group]
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


_LAWS: Mapping[
    str, Callable[[SubdomainsIntervals, Aggregate, SelectedOfGroups], AnswerLaw | None]
] = {
    "sum": partial(SubdomainsIntervals._total, per_row=False),
    "avg": partial(SubdomainsIntervals._total, per_row=True),
    "min": partial(SubdomainsIntervals._extreme, greatest=False),
    "max": partial(SubdomainsIntervals._extreme, greatest=True),
    "spread": SubdomainsIntervals._spread,
}
"""By what alike aggregates are called."""


def _means(shown: ShownSubdomains, numbers: np.ndarray) -> np.ndarray:
    """The mean over each group's subdomains (float64, one per group)."""
    sums = np.bincount(shown.group, numbers * shown.times, shown.groups)
    means: np.ndarray = sums / shown.sizes
    return means
