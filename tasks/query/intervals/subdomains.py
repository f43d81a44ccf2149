"""The laws of answers on exact rows beside subdomains, whose values are spread as targets say.

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
_EVERYTHING = Question((), None, ())  # all rows


class SubdomainsIntervals:
    """The laws of answers of an engine that reads subdomains."""

    laws = frozenset({"count", "sum", "avg", "min", "max", "spread"})
    laws_over_nulls = frozenset[str]()

    def __init__(self, engine: SubdomainsEngine, conditions: ValueConditions | None = None) -> None:
        """Read the rows, and the subdomains that groups show.

        Raises:
            NotDirectError: if groups are not numbered 0, 1, ….
        """
        self._engine = engine
        rows = relations(engine.declared).rows
        table = PublishedColumns(fetch_table(engine.connection, exp.select("*").from_(rows)))
        _, self._shown = engine.select(SubdomainQueries(_EVERYTHING, rows), 1)
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
        """Return the published values of a column, ascending, without null."""
        if name != self._engine.name:
            return self._rows.domain(name)
        return list(self._domain.to_pylist())

    def times_of(self, name: str) -> np.ndarray:  # noqa: ARG002 - there is one sensitive column
        """Return how often each value of the sensitive column is expected, rounded up (int64)."""
        by_node = np.bincount(
            self._shown.node, self._shown.times, len(self._engine.nodes.subdomains.first)
        )
        nodes, times = self._engine.nodes, []
        for place in range(len(self._domain)):
            indicator = np.zeros(len(self._domain))
            indicator[place] = 1.0
            times.append(float(nodes.means(indicator) @ by_node))
        return np.ceil(times).astype(np.int64)

    def spreads(self, question: Question) -> Spreads:
        """Return the law of each aggregate by the values of the group columns.

        Raises:
            NotDirectError: if a condition cannot be evaluated on values.
        """
        matching = self._matching_numbers(question)
        return {
            key: dict(self._of_cell(question, selected, matching))
            for key, selected in self._rows.cells(question)
        }

    def _of_cell(
        self, question: Question, selected: SelectedOfGroups, matching: NumbersOfRows | None
    ) -> Iterator[tuple[Aggregate, AnswerLaw]]:
        if not selected.number:
            return
        for aggregate in question.aggregates:
            law: AnswerLaw | None
            if matching is None:
                law = self._law(aggregate, selected)
            else:
                counts = aggregate.kind.counts_rows
                law = matching.spread_over(selected, per_row=False) if counts else None
            if law is not None:
                yield aggregate, law

    def _law(self, aggregate: Aggregate, selected: SelectedOfGroups) -> AnswerLaw | None:
        """Return the law of an aggregate; None if it has none."""
        make_law = _LAWS.get(name_of(aggregate) or "")
        return None if make_law is None else make_law(self, aggregate, selected)

    def _total(
        self, _: Aggregate, selected: SelectedOfGroups, *, per_row: bool
    ) -> NumberSpread | None:
        """Return the law of a sum or a mean."""
        return self._numbers.spread_over(selected, per_row=per_row)

    def _spread(self, aggregate: Aggregate, selected: SelectedOfGroups) -> SquaresSpread | None:
        """Return the law of a variance or a standard deviation."""
        return self._squares.spread_over(aggregate.kind, selected, size_of(selected))

    def _matching_numbers(self, question: Question) -> NumbersOfRows | None:
        """Return the numbers 1 for each value that matches the sensitive condition, 0 for others.

        Returns None unless there is one such condition.
        """
        single = condition_on_one(question)
        if single is None:
            return None
        return self._of_groups(self._rows.conditions.rows(self._values, single[1]).astype(float))

    @cached_property
    def _numbers(self) -> NumbersOfRows:
        return self._of_groups(self._engine.floats)

    def _of_groups(self, numbers: np.ndarray) -> NumbersOfRows:
        """Return the numbers of rows that follow from numbers of values (float64, by rank)."""
        subdomains, nodes = self._shown, self._engine.nodes
        mean, square = (
            nodes.means(numbers)[subdomains.node],
            nodes.means(numbers**2)[subdomains.node],
        )
        middle = _means(subdomains, mean)
        within = np.maximum(square - mean**2, 0.0)
        of_groups = GroupedNumbers(
            subdomains.sizes.astype(np.float64),
            middle,
            np.maximum(_means(subdomains, mean**2) - middle**2, 0.0),
            _means(subdomains, within),
        )
        return NumbersOfRows(of_groups, self._rows.covariates.fit(of_groups))

    @cached_property
    def _squares(self) -> SpreadsOfRows:
        """The numbers of rows above their mean, their squares, and ones."""
        subdomains, nodes = self._shown, self._engine.nodes
        middle = np.average(
            nodes.means(self._engine.floats)[subdomains.node], weights=subdomains.times
        )
        above = self._engine.floats - middle
        numbers = (above, above**2, np.ones(len(above)))
        expected = [nodes.means(values)[subdomains.node] for values in numbers]
        mean = np.array([_means(subdomains, values) for values in expected])
        apart = [values - own[subdomains.group] for values, own in zip(expected, mean, strict=True)]
        between, inner = (np.empty((3, 3, subdomains.groups)) for _ in range(2))
        for first, other in product(range(3), repeat=2):
            together = nodes.means(numbers[first] * numbers[other])[subdomains.node]
            inner[first, other] = _means(subdomains, together - expected[first] * expected[other])
            between[first, other] = _means(subdomains, apart[first] * apart[other])
        sizes = subdomains.sizes.astype(np.float64)
        return spreads_together(sizes, mean, between, inner, self._rows.covariates)

    @cached_property
    def _shares_upto(self) -> np.ndarray | None:
        """The expected share of each group's values that are not above each value.

        Float64, groups x values; None if there are too many of them.
        """
        subdomains, nodes, values = self._shown, self._engine.nodes, len(self._domain)
        if len(subdomains.node) * values > _MOST_CELLS:
            return None
        steps = np.tri(values)
        return np.stack(
            [_means(subdomains, nodes.means(step)[subdomains.node]) for step in steps], axis=1
        )

    def _extreme(
        self, _: Aggregate, selected: SelectedOfGroups, *, greatest: bool
    ) -> ExtremeSpread | None:
        """Return the law of the best of independently drawn values; None if they are too many.

        A selected row misses a value or anything better with the share of its group's values that
        are worse. These chances multiply over rows.
        """
        if self._shares_upto is None:
            return None
        # `none`: the share of each group's values that are worse than each value, best value first
        share = self._shares_upto[selected.group]
        none = np.column_stack([np.zeros(len(share)), share[:, :-1]])[:, ::-1]
        codes = np.arange(len(self._domain))[::-1]
        if not greatest:
            none, codes = 1 - share, codes[::-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.clip(none, 0.0, 1.0))
            # times 0 would make infinite logarithms NaN
            total = selected.hits @ np.where(np.isneginf(logs), -1e300, logs)
        total = np.where(total <= -1e300, -np.inf, total)
        some = np.flatnonzero(
            np.diff(total, prepend=0.0) < 0
        )  # values with no increment are never the best
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
"""The laws by the common name of alike aggregates."""


def _means(subdomains: ShownSubdomains, numbers: np.ndarray) -> np.ndarray:
    """Return the mean over each group's copies of numbers, one per subdomain (float64)."""
    sums = np.bincount(subdomains.group, numbers * subdomains.times, subdomains.groups)
    means: np.ndarray = sums / subdomains.sizes
    return means
