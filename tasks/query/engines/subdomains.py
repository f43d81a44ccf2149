"""Bounds on releases that show subdomains in the place of sensitive values.

Without a condition on sensitive values DuckDB runs the rewritten queries that analysts are given,
with the help table. With one it counts the rows that each group has in each cell, and Python finds
the extremes. What is expected of a subdomain is what the published target says of its values.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.arrow import as_integers, as_truths
from sfumato.expectations.exact import Exact, exact, is_number
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.forms.targets import locate
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.subdomains import Cells, Expected, Held, Selected
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

_Found = dict[Key, dict[Aggregate, Bounds]]


@contextmanager
def open_subdomains(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["SubdomainsEngine"]:
    """An engine that answers questions on the published tables and help tables.

    Raises:
        PromiseError: where the targets are no hierarchies over one domain.
    """
    (name,) = declared.named("sensitive")
    nodes = read_nodes(read_table(tables[TARGETS]), name, declared.columns[name])
    numbers = exact(nodes.values, name) if is_number(nodes.values.type) else None
    floats = _floats(numbers) if numbers else np.zeros(len(nodes.values))
    with session(tables) as connection:
        yield SubdomainsEngine(connection, declared, name, nodes, numbers, floats)


@dataclass(frozen=True)
class SubdomainsEngine:
    """A session that sees the published tables, and the subdomains of all targets.

    `numbers` are the values of the domain, exactly and as `floats`, where sums of them mean
    something.
    """

    connection: duckdb.DuckDBPyConnection
    declared: Declared
    name: str
    nodes: Nodes
    numbers: Exact | None
    floats: np.ndarray

    def ask(self, question: Question, estimates: bool = True) -> _Found:
        """The bounds of each aggregate by the values of the group columns.

        Raises:
            QueryError: where the query cannot be evaluated.
        """
        rows = relations(self.declared).rows
        if question.matching:
            return self._counted(question, SubdomainQueries(question, rows), estimates)
        chosen = [a for a in question.aggregates if not (a.kind.counts_rows or a.kind.help)]
        rest = question.with_aggregates(a for a in question.aggregates if a not in chosen)
        found = self._helped(rest, rows, estimates)
        if chosen:
            others = question.with_aggregates(chosen)
            cells = self._counted(others, SubdomainQueries(others, rows), estimates=False)
            for key, bounds in found.items():
                bounds.update(cells[key])
        return found

    def _helped(self, question: Question, rows: str, estimates: bool) -> _Found:
        """The bounds without a condition on sensitive values."""
        expected: dict[str, dict[Key, Fraction]] = {}
        if estimates and columns_of_sums(question):
            asking = SubdomainQueries(question, rows)
            keys = self._keys(asking)
            sums = self._sums(*self.selected(asking, len(keys)), self.floats)
            expected[self.name] = dict(zip(keys, map(Fraction, sums.tolist()), strict=True))
        return bounds_from_help(self.connection, self.declared, question, expected, rows)

    def starts(self, name: str) -> list[Any]:
        """The published values of an ordered column, ascending, without NaN."""
        return RowsEngine(self.connection, self.declared).starts(name)

    def _counted(self, question: Question, asking: SubdomainQueries, estimates: bool) -> _Found:
        """The bounds by what each cell may count of its groups."""
        keys, wanted = self._keys(asking), self._wanted(asking)
        selected, shown = self.selected(asking, len(keys))
        expected = None
        if estimates:
            rows, sums = (self._sums(selected, shown, wanted * of) for of in (1.0, self.floats))
            expected = Expected(rows, sums)
        held = self._held(shown, wanted)
        cells = Cells(held, selected, self.nodes.values, self.numbers, expected)
        found = {a: cells.bounds(a.kind) for a in question.aggregates}
        return {
            key: {a: bounds[cell] for a, bounds in found.items()}
            for cell, key in enumerate(keys)
            if cells.most[cell] or not question.group_by
        }

    def _keys(self, asking: SubdomainQueries) -> list[Key]:
        """The values of the group columns of each cell; without group columns there is one."""
        if not asking.question.group_by:
            return [()]
        cells = sorted(fetch(self.connection, asking.keys()), key=lambda row: row[0])
        return [tuple(key) for _, *key in cells]

    def _wanted(self, asking: SubdomainQueries) -> np.ndarray:
        """On which values of the sensitive column its condition holds, by their ranks (bool)."""
        if not asking.question.matching:
            return np.ones(len(self.nodes.values), dtype=bool)
        found, values = fetch_table(self.connection, asking.wanted(self.name)), self.nodes.values
        meant = found[self.name].cast(values.type).combine_chunks()
        return as_truths(pc.is_in(values, meant))

    def selected(self, asking: SubdomainQueries, cells: int) -> tuple[Selected, "ShownSubdomains"]:
        """The rows that each cell selects of each group, and the subdomains these groups show."""
        cell, of, hits = _arrays(fetch_table(self.connection, asking.hits()))
        shown, told = fetch_table(self.connection, asking.shown()), self.nodes.told
        group, times, target = _arrays(shown.select(["group_id", "count", "target"]))
        ends = (shown[end].cast(told.domain.values.type) for end in ("lower", "upper"))
        node = locate(told, target, *ends)
        known, group = np.unique(group, return_inverse=True)
        order = stable_order(of)
        places = np.searchsorted(known, of[order])
        selected = Selected(cell[order] - 1, places, hits[order], cells)
        return selected, ShownSubdomains(group, node, times, len(known))

    def _held(self, shown: "ShownSubdomains", wanted: np.ndarray) -> Held:
        """The subdomains with wanted values, narrowed down to these."""
        nodes = self.nodes
        least, greatest = nodes.extremes(wanted)
        number = nodes.number(wanted)
        inside = (number == nodes.told.last - nodes.told.first + 1).astype(np.int64)
        some = number[shown.node] > 0
        low, high, whole = (part[shown.node[some]] for part in (least, greatest, inside))
        units = self.numbers.units if self.numbers else np.arange(len(wanted))
        return Held(shown.group[some], low, high, whole, shown.times[some], shown.sizes, units)

    def _sums(
        self, selected: Selected, shown: "ShownSubdomains", numbers: np.ndarray
    ) -> np.ndarray:
        """The sum that is expected over each cell's rows of a number by the ranks of values."""
        of_node = self.nodes.expected(numbers)[shown.node]
        means = np.bincount(shown.group, of_node * shown.times, shown.groups) / shown.sizes
        return selected.sums(selected.hits * means[selected.group])


@dataclass(frozen=True, eq=False)
class ShownSubdomains:
    """Copies of nodes that groups show, parallel; `groups` is how many there are."""

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
