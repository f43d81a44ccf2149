"""Bounds on releases that show subdomains, computed from codes and group ids instead of joins.

SQL answers the questions that raise `NotDirectError` here, as it does for exact rows with values
(see `tasks.query.engines.direct`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.subdomains import Selected
from sfumato.tasks.query.engines.cells import Hits, SelectedRows, hits_of
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.direct import BoundsFromHelp, rows_selected
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns
from sfumato.tasks.query.engines.release_tables import ReleaseTables
from sfumato.tasks.query.engines.subdomains import (
    ShownSubdomains,
    SubdomainsEngine,
    open_subdomains,
)
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.question.ways import GROUP_ID, relations
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.subdomain_conditions import SubdomainQueries
from sfumato.tasks.terms.terms import Declared

_EVERYTHING = Question((), None, ())  # all rows


@contextmanager
def open_direct_subdomains(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator["DirectSubdomainsEngine"]:
    """Open an engine that answers questions on the published tables and help tables.

    Raises:
        PromiseError: if the targets are not hierarchies over one domain.
    """
    with open_subdomains(tables, declared, estimator) as by_sql:
        yield DirectSubdomainsEngine(
            **vars(by_sql),
            tables=ReleaseTables(tables, declared, relations(declared)),
            conditions=ValueConditions(by_sql.connection),
        )


class BoundsFromSubdomains(BoundsFromHelp):
    """The bounds of aggregates over the rows in cells, whose values targets weight."""

    def __init__(self, tables: ReleaseTables, rows: SelectedRows, means: np.ndarray | None) -> None:
        """Take the rows, and the expected mean of each group (float64); None: no estimates."""
        super().__init__(tables, rows, estimates=means is not None)
        self._means = means

    def expected_sums(self, hits: Hits, name: str) -> Sequence[Fraction]:
        """Return the expected sum of a column over the hits of each cell."""
        if self._means is None:
            return super().expected_sums(hits, name)
        sums = hits.reduce_by_cell(np.add, hits.hits * self._means[hits.group], 0)
        return list(map(Fraction, sums.tolist()))


@dataclass(frozen=True)
class DirectSubdomainsEngine(SubdomainsEngine):
    """Published tables that are read once, and a session that sees them."""

    tables: ReleaseTables = field(kw_only=True)
    conditions: ValueConditions = field(kw_only=True)

    def _bounds_by_help(
        self, question: Question, rows: str, estimates: bool
    ) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds if no condition is on sensitive values."""
        try:
            selected = rows_selected(self.tables, self.conditions, question)
            means = self._means if estimates else None
            return BoundsFromSubdomains(self.tables, selected, means).answers(question)
        except NotDirectError:
            return super()._bounds_by_help(question, rows, estimates)

    def read_cells(
        self, queries: SubdomainQueries
    ) -> tuple[Sequence[Key], Selected, ShownSubdomains]:
        """Return the cells' values of group columns, the rows they select, and all subdomains."""
        try:
            rows = rows_selected(self.tables, self.conditions, queries.question)
            hits = hits_of(rows, self._shown.groups)
        except NotDirectError:
            return super().read_cells(queries)
        order = stable_order(hits.each_group)
        selected = Selected(
            hits.cell[order], hits.each_group[order], hits.hits[order], len(rows.keys)
        )
        return rows.keys, selected, self._shown

    def chosen_values(self, queries: SubdomainQueries) -> np.ndarray:
        """Return the sensitive values on which the condition holds (bool, by rank)."""
        if not queries.question.matching:
            return super().chosen_values(queries)
        (matching,) = queries.question.matching
        try:
            return self.conditions.rows(self._domain, matching.condition)
        except NotDirectError:
            return super().chosen_values(queries)

    @cached_property
    def _domain(self) -> PublishedColumns:
        """The values of the domain, by rank."""
        values = self.nodes.values
        return PublishedColumns(pa.table({self.name: values, GROUP_ID: np.arange(len(values))}))

    @cached_property
    def _means(self) -> np.ndarray:
        """The expected mean of each group (float64)."""
        return self.means_of_groups(self._shown, self.floats)

    @cached_property
    def _shown(self) -> ShownSubdomains:
        """The subdomains that all groups show.

        Raises:
            NotDirectError: if groups are not numbered 0, 1, ….
        """
        _, shown = self.select(SubdomainQueries(_EVERYTHING, relations(self.declared).rows), 1)
        if shown.groups != self.tables.rows.groups:
            raise NotDirectError
        return shown
