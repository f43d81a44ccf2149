"""The answer to a query in a world, by SQL's semantics."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.pairs.semantics.aggregates import Aggregate
from tests.pairs.semantics.formulas import Apart, Cell, Total
from tests.pairs.semantics.queries import Key, Query
from tests.pairs.semantics.rows import Node, Row, best_of


@dataclass(frozen=True)
class Found:
    """A row of an answer in a world; `kept` if HAVING is true of it."""

    values: Key
    kept: bool


World = tuple[int, ...]
"""Places of rows among all rows that some world has, in ascending order."""


class Answers:
    """The answers to a query in worlds, of which each is some of these rows.

    What an aggregate comes to is computed once for the same rows; the query's own parts are told
    apart by their identity, which is cheaper than by what they say.
    """

    def __init__(self, query: Query, rows: Sequence[Row]) -> None:
        self.query, self._base = query, rows
        self._read = [self._row(row) for row in rows]
        self._keys = [
            None if row is None else tuple(node.value(row) for node in query.keys)
            for row in self._read
        ]
        self._arguments: dict[tuple[int, int], Any] = {}
        self._aggregates: dict[tuple[int, World], Any] = {}
        self._apart: dict[tuple[int, int, World], Any] = {}
        self._cells: dict[tuple[World, World | None], Found] = {}

    def in_world(self, world: World) -> dict[Key, Found]:
        """Return the rows of the answer in a world, before HAVING, ORDER BY and LIMIT."""
        cells = self._cells_of(world)
        together = list(cells.values())
        needed = world if self._looks_around else None
        rows_found = {}
        for key, places in cells.items():
            key_of_cell = (places, needed)
            if key_of_cell not in self._cells:
                self._cells[key_of_cell] = self._found_row(_Cell(self, places, together, world))
            rows_found[key] = self._cells[key_of_cell]
        return rows_found

    def of_no_rows(self, world: World) -> Key:
        """Return what the formulas come to where the cell has no rows, and others have some."""
        together = list(self._cells_of(world).values()) if self._looks_around else []
        return self._found_row(_Cell(self, (), together, world)).values

    def _cells_of(self, world: World) -> dict[Key, World]:
        """Return the rows of each row of the answer."""
        cells: dict[Key, list[int]] = defaultdict(list)
        if not self.query.keys:
            cells[()] = []
        for place in world:
            key = self._keys[place]
            if key is not None:
                cells[key].append(place)
        return {key: tuple(places) for key, places in cells.items()}

    def aggregate(self, aggregate_node: Aggregate, places: World) -> Any:
        """Return an aggregate over some rows that the query reads."""
        cache_key = (id(aggregate_node), places)
        if cache_key not in self._aggregates:
            self._aggregates[cache_key] = aggregate_node.of_arguments(
                [self._argument(aggregate_node, position) for position in places]
            )
        return self._aggregates[cache_key]

    def apart(self, aggregate_node: Aggregate, where: Node | None, world: World) -> Any:
        """Return an aggregate over rows of the microdata on which a condition is true."""
        cache_key = (id(aggregate_node), id(where), world)
        if cache_key not in self._apart:
            rows = [self._base[place] for place in world]
            chosen = [row for row in rows if where is None or where.value(row) is True]
            self._apart[cache_key] = aggregate_node.of_arguments(
                [aggregate_node.argument_of(row) for row in chosen]
            )
        return self._apart[cache_key]

    @cached_property
    def _looks_around(self) -> bool:
        """True if formulas are of more than the rows of their cell."""
        nodes = [*self.query.formulas, *([self.query.having] if self.query.having else [])]
        return any(isinstance(part, Apart | Total) for node in nodes for part in node.parts())

    def _found_row(self, cell: Cell) -> Found:
        values = tuple(formula.in_cell(cell) for formula in self.query.formulas)
        having = self.query.having
        return Found(values, having is None or having.in_cell(cell) is True)

    def _argument(self, aggregate_node: Aggregate, place: int) -> Any:
        cache_key = (id(aggregate_node), place)
        if cache_key not in self._arguments:
            row = self._read[place]
            self._arguments[cache_key] = None if row is None else aggregate_node.argument_of(row)
        return self._arguments[cache_key]

    def _row(self, row: Row) -> Row | None:
        """Return the row that is read where a row of the microdata is there; None if none is."""
        query = self.query
        if query.inner is not None and query.inner.value(row) is not True:
            return None
        read: Row | None = {**row, **{name: node.value(row) for name, node in query.derived}}
        if query.own is not None and read is not None:
            read = query.own.join_row(read, query.outer)
        if read is None or (query.where is not None and query.where.value(read) is not True):
            return None
        return read


@dataclass(frozen=True)
class _Cell:
    """A row of an answer: its rows, those of all, and all rows of the world."""

    answers: Answers
    places: World
    together: Sequence[World]
    world: World

    def aggregate(self, aggregate_node: Aggregate) -> Any:
        return self.answers.aggregate(aggregate_node, self.places)

    def total(self, outer: str, aggregate_node: Aggregate) -> Any:
        values = [self.answers.aggregate(aggregate_node, places) for places in self.together]
        present = [value for value in values if value is not None]
        if not present:
            return None
        return sum(present) if outer == "SUM" else best_of(max if outer == "MAX" else min)(*present)

    def apart(self, aggregate_node: Aggregate, where: Node | None) -> Any:
        return self.answers.apart(aggregate_node, where, self.world)
