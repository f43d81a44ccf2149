"""Bounds on releases that show subdomains instead of sensitive values.

Without a condition on sensitive values DuckDB runs the same rewritten queries that analysts get,
with the help table. With a condition it counts the rows that each group has in each cell, and
Python computes the extremes. Estimates weight the values of a subdomain as the published target
does.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.arrow import as_integers, as_truths
from sfumato.expectations.shared.exact import Exact, exact, is_number
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.forms.targets import locate
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.subdomains import Cells, Expected, GroupSubdomains, Selected
from sfumato.tasks.query.engines.engine import Files, read_table
from sfumato.tasks.query.engines.group_bounds import bounds_from_help, columns_of_sums
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.help_tables.subdomains import Nodes, read_nodes
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.subdomain_conditions import SubdomainQueries
from sfumato.tasks.schema.names import TARGETS
from sfumato.tasks.sql.session import fetch, fetch_table, session
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    import duckdb

_Answers = dict[Key, dict[Aggregate, Bounds]]


@contextmanager
def open_subdomains(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["SubdomainsEngine"]:
    """Open an engine that answers questions on the published tables and help tables.

    Raises:
        PromiseError: if the targets are not hierarchies over one domain.
    """
    (name,) = declared.names_with_roles("sensitive")
    nodes = read_nodes(read_table(tables[TARGETS]), name, declared.columns[name])
    numbers = exact(nodes.values, name) if is_number(nodes.values.type) else None
    floats = _floats(numbers) if numbers else np.zeros(len(nodes.values))
    with session(tables) as connection:
        yield SubdomainsEngine(connection, declared, name, nodes, numbers, floats)


@dataclass(frozen=True)
class SubdomainsEngine:
    """A session that sees the published tables, and the subdomains of all targets.

    Attributes:
        connection: the session.
        declared: the declared columns of the release.
        name: the sensitive column.
        nodes: the subdomains, and the values of the domain.
        numbers: the values of the domain as exact numbers; None if they are not numbers.
        floats: the values as float64; zeros if they are not numbers.
    """

    connection: "duckdb.DuckDBPyConnection"
    declared: Declared
    name: str
    nodes: Nodes
    numbers: Exact | None
    floats: np.ndarray

    def ask(self, question: Question, estimates: bool = True) -> _Answers:
        """Return the bounds of each aggregate by the values of the group columns.

        Raises:
            QueryError: if the query cannot be evaluated.
        """
        rows = relations(self.declared).rows
        if question.matching:
            return self._bounds_by_values(question, SubdomainQueries(question, rows), estimates)
        chosen = [a for a in question.aggregates if not (a.kind.counts_rows or a.kind.help)]
        rest = question.with_aggregates(a for a in question.aggregates if a not in chosen)
        answers = self._bounds_by_help(rest, rows, estimates)
        if chosen:
            others = question.with_aggregates(chosen)
            cells = self._bounds_by_values(others, SubdomainQueries(others, rows), estimates=False)
            for key, bounds in answers.items():
                bounds.update(cells[key])
        return answers

    def _bounds_by_help(self, question: Question, rows: str, estimates: bool) -> _Answers:
        """Return the bounds if no condition is on sensitive values."""
        expected: dict[str, dict[Key, Fraction]] = {}
        if estimates and columns_of_sums(question):
            keys, selected, subdomains = self.read_cells(SubdomainQueries(question, rows))
            sums = self._sums(selected, subdomains, self.floats)
            expected[self.name] = dict(zip(keys, map(Fraction, sums.tolist()), strict=True))
        return bounds_from_help(self.connection, self.declared, question, expected, rows)

    def starts(self, name: str) -> list[Any]:
        """Return the published values of an ordered column, ascending, without NaN."""
        return RowsEngine(self.connection, self.declared).starts(name)

    def _bounds_by_values(
        self, question: Question, queries: SubdomainQueries, estimates: bool
    ) -> _Answers:
        """Return the bounds from the rows of each group that may count in each cell."""
        keys, selected, subdomains = self.read_cells(queries)
        chosen = self.chosen_values(queries)
        expected = None
        if estimates:
            rows, sums = (
                self._sums(selected, subdomains, chosen * factor) for factor in (1.0, self.floats)
            )
            expected = Expected(rows, sums)
        group_subdomains = self._narrow(subdomains, chosen)
        cells = Cells(group_subdomains, selected, self.nodes.values, self.numbers, expected)
        by_aggregate = {a: cells.bounds(a.kind) for a in question.aggregates}
        return {
            key: {a: bounds[cell] for a, bounds in by_aggregate.items()}
            for cell, key in enumerate(keys)
            if cells.most[cell] or not question.group_by
        }

    def read_cells(
        self, queries: SubdomainQueries
    ) -> tuple[Sequence[Key], Selected, "ShownSubdomains"]:
        """Return the cells' values of group columns, the rows they select, and subdomains."""
        keys = self._keys(queries)
        return keys, *self.select(queries, len(keys))

    def _keys(self, queries: SubdomainQueries) -> list[Key]:
        """Return the values of the group columns of each cell; one cell without group columns."""
        if not queries.question.group_by:
            return [()]
        cells = sorted(fetch(self.connection, queries.keys()), key=lambda row: row[0])
        return [tuple(key) for _, *key in cells]

    def chosen_values(self, queries: SubdomainQueries) -> np.ndarray:
        """Return the sensitive values on which the condition holds (bool, by rank)."""
        if not queries.question.matching:
            return np.ones(len(self.nodes.values), dtype=bool)
        rows, values = (
            fetch_table(self.connection, queries.matching_values(self.name)),
            self.nodes.values,
        )
        chosen = rows[self.name].cast(values.type).combine_chunks()
        return as_truths(pc.is_in(values, chosen))

    def select(self, queries: SubdomainQueries, cells: int) -> tuple[Selected, "ShownSubdomains"]:
        """Return the rows that each cell selects of each group, and these groups' subdomains."""
        cell, hit_group, hits = _arrays(fetch_table(self.connection, queries.hits()))
        table, nodes = fetch_table(self.connection, queries.subdomains()), self.nodes.subdomains
        group, times, target = _arrays(table.select(["group_id", "count", "target"]))
        ends = (table[end].cast(nodes.domain.values.type) for end in ("lower", "upper"))
        node = locate(nodes, target, *ends)
        groups, group = np.unique(group, return_inverse=True)
        order = stable_order(hit_group)
        places = np.searchsorted(groups, hit_group[order])
        selected = Selected(cell[order] - 1, places, hits[order], cells)
        return selected, ShownSubdomains(group, node, times, len(groups))

    def _narrow(self, subdomains: "ShownSubdomains", chosen: np.ndarray) -> GroupSubdomains:
        """Return the subdomains with chosen values, restricted to these values."""
        nodes = self.nodes
        least, greatest = nodes.extremes(chosen)
        number = nodes.number(chosen)
        inside = (number == nodes.subdomains.last - nodes.subdomains.first + 1).astype(np.int64)
        some = number[subdomains.node] > 0
        low, high, whole = (part[subdomains.node[some]] for part in (least, greatest, inside))
        units = self.numbers.units if self.numbers else np.arange(len(chosen))
        return GroupSubdomains(
            subdomains.group[some],
            low,
            high,
            whole,
            subdomains.times[some],
            subdomains.sizes,
            units,
        )

    def _sums(
        self, selected: Selected, subdomains: "ShownSubdomains", numbers: np.ndarray
    ) -> np.ndarray:
        """Return the expected sum of numbers over each cell's rows (float64, one per cell).

        `numbers` has a number for each value of the domain (float64, by rank).
        """
        means = self.means_of_groups(subdomains, numbers)
        return selected.sums(selected.hits * means[selected.group])

    def means_of_groups(self, subdomains: "ShownSubdomains", numbers: np.ndarray) -> np.ndarray:
        """Return the expected mean of numbers, by rank, in each group (float64)."""
        of_node = self.nodes.means(numbers)[subdomains.node]
        of_group = np.bincount(subdomains.group, of_node * subdomains.times, subdomains.groups)
        means: np.ndarray = of_group / subdomains.sizes
        return means


@dataclass(frozen=True, eq=False)
class ShownSubdomains:
    """The subdomains that groups show.

    Attributes:
        group: the group of each entry (int64).
        node: the number of the entry's subdomain among all of the targets (integers).
        times: the number of its copies in the group (int64).
        groups: the number of groups.
    """

    group: np.ndarray
    node: np.ndarray
    times: np.ndarray
    groups: int

    @property
    def sizes(self) -> np.ndarray:
        """The number of copies that each group shows (int64, one per group)."""
        sizes = np.zeros(self.groups, dtype=np.int64)
        np.add.at(sizes, self.group, self.times)
        return sizes


def _arrays(table: pa.Table) -> list[np.ndarray]:
    return [as_integers(column) for column in table.columns]


def _floats(numbers: Exact) -> np.ndarray:
    scale = 10**numbers.digits
    return np.array([unit / scale for unit in numbers.units.tolist()], dtype=np.float64)
