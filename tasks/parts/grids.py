"""Where a column may be cut without telling anybody's value: at round values, or between nodes.

A grid is a list of ends, or of nodes, that is there before the rows are: the hierarchy's, or the
round numbers and days. Rows decide which of them are used, and never where they are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.texts import NUMBERS, as_number
from sfumato.tasks.declaration.cuts import Share
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule, Intervals

_FINEST = 1000  # cells between the least and the greatest value, at most


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells that rows of a column are in, in their order.

    Attributes:
        counts: the rows of each cell (int64).
        ends: where each but the first begins; empty where cells are nodes.
        nodes: the leaves of each, where cells are nodes.
    """

    counts: np.ndarray
    ends: tuple[str, ...] = ()
    nodes: tuple[tuple[str, ...], ...] = ()

    def shares(self, name: str, places: Sequence[int]) -> tuple[Share, ...]:
        """The pieces that begin at the first cell, where nulls are, and at these (ascending)."""
        starts, stops = [0, *places], [*places, len(self.counts)]
        found = []
        for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            if self.nodes:
                leaves = tuple(leaf for node in self.nodes[start:stop] for leaf in node)
                found.append(Share(column=name, values=leaves, null=not number))
            else:
                least = self.ends[start - 1] if start else None
                below = self.ends[stop - 1] if stop < len(self.counts) else None
                found.append(Share(column=name, least=least, below=below, null=not number))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Histogram:
    """The different values of a column that some rows have, as texts, and how many (int64)."""

    texts: Sequence[str]
    counts: np.ndarray

    @classmethod
    def of(cls, columns: Iterator[pa.ChunkedArray]) -> "Histogram":
        """Count the values of a column, piece by piece."""
        counted: dict[str, int] = {}
        for column in columns:
            found = pc.value_counts(column.drop_null())
            texts = pc.cast(found.field("values"), pa.string()).to_pylist()
            for text, number in zip(texts, found.field("counts").to_pylist(), strict=True):
                counted[text] = counted.get(text, 0) + number
        return cls(list(counted), np.array(list(counted.values()), dtype=np.int64))


def grids(
    histogram: Histogram, type_: ColumnType, hierarchy: HierarchyRule | None
) -> Iterator[Grid]:
    """The grids of a column, from the coarsest to the finest."""
    if isinstance(hierarchy, tuple):
        yield from _nodes(histogram, hierarchy)
        return
    if not len(histogram.texts):
        return
    if type_ in NUMBERS:
        numbers = [as_number(text, type_) for text in histogram.texts]
        steps = (
            [Decimal(width) for width in reversed(hierarchy.intervals)]
            if isinstance(hierarchy, Intervals)
            else _steps(min(numbers), max(numbers), whole=type_ == "integer")
        )
        for step in steps:
            cells = [int(number // step) - (number % step < 0) for number in numbers]
            yield _grid(histogram, cells, partial(_multiple, step))
    elif type_ in ("date", "timestamp"):
        days = [date.fromisoformat(text[:10]) for text in histogram.texts]
        for years in (10, 1):
            cells = [day.year // years for day in days]
            yield _grid(histogram, cells, partial(_first_of_years, years))
        months = [day.year * 12 + day.month - 1 for day in days]
        yield _grid(histogram, months, _first_of_month)


def _grid(histogram: Histogram, cells: Sequence[int], start: Callable[[int], str]) -> Grid:
    """The grid of these cells (one per value), from the first that has a row to the last."""
    first, last = min(cells), max(cells)
    counts = np.zeros(last - first + 1, dtype=np.int64)
    np.add.at(counts, np.array(cells) - first, histogram.counts)
    return Grid(counts, ends=tuple(start(cell) for cell in range(first + 1, last + 1)))


def _nodes(histogram: Histogram, rows: Sequence[tuple[str, ...]]) -> Iterator[Grid]:
    """The nodes of each level below the root, in the order of the hierarchy's leaves."""
    known = dict(zip(histogram.texts, histogram.counts.tolist(), strict=True))
    for level in range(len(rows[0]) - 2, 0, -1):
        leaves: dict[str, list[str]] = {}
        for row in rows:
            leaves.setdefault(row[level], []).append(row[0])
        counts = [sum(known.get(leaf, 0) for leaf in below) for below in leaves.values()]
        yield Grid(np.array(counts, dtype=np.int64), nodes=tuple(map(tuple, leaves.values())))


def _steps(low: Decimal, high: Decimal, *, whole: bool) -> Iterator[Decimal]:
    """1 and 5 times powers of ten, as long as they are rounder than the values themselves."""
    span = high - low
    if not span:
        return
    power = span.adjusted() + 1
    while span < _FINEST * Decimal(10) ** power:
        for times in (5, 1):
            step = times * Decimal(10) ** power
            if step < 5 and whole:
                return
            if span < _FINEST * step:
                yield step
        power -= 1


def _multiple(step: Decimal, times: int) -> str:
    number = step * times
    return format(number.normalize(), "f") if number else "0"


def _first_of_years(years: int, times: int) -> str:
    return f"{years * times:04}-01-01"


def _first_of_month(months: int) -> str:
    return f"{months // 12:04}-{months % 12 + 1:02}-01"
