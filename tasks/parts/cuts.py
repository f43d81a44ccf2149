"""The cut of a stratum with more rows than a part may have, at values that tell nobody's.

A grid is a list of ends, or of nodes, that is there before the rows are: the hierarchy's, or the
round numbers and days. Rows decide which of them are used, and never where they are.

By the column and the values that the spec names, or by the quasi-identifier, and there the ends or
nodes of the coarsest grid, that leave the smallest pieces; and as the line cut it before, where it
did. Never by a sensitive column.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.shared.arrow import NUMBERS, as_number
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.microdata.hierarchies import declared_hierarchy
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.parts.strata import StratumOnDisk, read_columns
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule, Intervals
from sfumato.tasks.terms.parts import PartsOfTable, Share, text_of_where

_FINEST = 1000  # cells between the least and the greatest value, at most
_CUTS = "cuts.json"
_SHARES: TypeAdapter[tuple[Share, ...]] = TypeAdapter(tuple[Share, ...])
_MORE = 4  # times as many pieces as are needed are tried
Cuts = dict[str, tuple[Share, ...]]
"""The pieces of every stratum that is cut, by what tells it from others."""


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


@dataclass(frozen=True)
class Cutter:
    """Cuts strata that are too large.

    Attributes:
        parts: how the spec wants it.
        columns: all of the source's.
        base: the directory that hierarchies are relative to.
        cuts: those that the line made before, and makes now.
        fixed: the strata and pieces, by what tells them from others, whose groups go on: they are
            not cut.
    """

    parts: PartsOfTable
    columns: Mapping[str, ColumnSpec]
    base: Path
    cuts: Cuts
    fixed: frozenset[str] = frozenset()

    def pieces(self, stratum: StratumOnDisk) -> Iterator[StratumOnDisk]:
        """The pieces of a stratum, none of which is too large.

        Raises:
            InputError: where it cannot be cut so.
        """
        known = self.cuts.get(text_of_where(stratum.where))
        fixed = text_of_where(stratum.where) in self.fixed
        if fixed and stratum.rows > self.parts.rows:
            raise InputError(
                f"parts: a part of the line has {stratum.rows} rows by now, more than "
                f"{self.parts.rows}, and its groups go on: raise parts.rows, which leaves the cut "
                "of the line as it is"
            )
        if fixed or (known is None and stratum.rows <= self.parts.rows):
            yield stratum
            return
        shares = known or self._shares(stratum)
        self.cuts[text_of_where(stratum.where)] = shares
        for piece in self._cut(stratum, shares):
            yield from self.pieces(piece)

    def _shares(self, stratum: StratumOnDisk) -> tuple[Share, ...]:
        if self.parts.by is None:
            return self._smallest(stratum)
        if any(share.column == self.parts.by and share in _of(self) for share in stratum.where):
            raise InputError(
                f"parts.at: a piece has {stratum.rows} rows, more than {self.parts.rows}: name "
                "more values, or raise parts.rows"
            )
        return _of(self)

    def _smallest(self, stratum: StratumOnDisk) -> tuple[Share, ...]:
        """The pieces by the column that leaves the smallest ones; the spec's first among equals."""
        best: tuple[int, tuple[Share, ...]] | None = None
        for name, column in self.columns.items():
            if column.role != "quasi-identifier":
                continue
            for largest, shares in self._by(stratum, name, column):
                if best is None or largest < best[0]:
                    best = largest, shares
            if best is not None and best[0] <= self.parts.rows:
                return best[1]
        if best is None:
            raise InputError(
                f"parts: a stratum has {stratum.rows} rows, more than {self.parts.rows}, and no "
                "quasi-identifier has a node or a round value between them: say parts: {by, at}, "
                "more strata, or more parts.rows"
            )
        return best[1]

    def _by(
        self, stratum: StratumOnDisk, name: str, column: ColumnSpec
    ) -> Iterator[tuple[int, tuple[Share, ...]]]:
        """The rows of the largest piece, and the pieces, by each grid of a column."""
        read = (table[name] for table in read_columns([stratum], [name]))
        histogram = Histogram.of(map(_plain, read))
        hierarchy = column.hierarchy and declared_hierarchy(name, column.hierarchy, self.base)
        for grid in grids(histogram, column.type, hierarchy or None):
            places = _places(grid, self.parts.rows)
            if places:
                yield _largest(grid, places), grid.shares(name, places)

    def _cut(self, stratum: StratumOnDisk, shares: Sequence[Share]) -> Iterator[StratumOnDisk]:
        """Write every row of a stratum to the piece that admits it."""
        pieces = [StratumOnDisk((*stratum.where, share)) for share in shares]
        column = shares[0].column
        for path in stratum.files:
            alone = StratumOnDisk((), 0, [path])
            (table,) = read_columns([alone], list(_names(path)))
            place = _piece_of(table[column], shares, self.columns[column])
            for number, piece in enumerate(pieces):
                rows = np.flatnonzero(place == number)
                piece.add(
                    table.take(pa.array(rows)), path.with_name(f"{path.stem}-{number}.parquet")
                )
            path.unlink()
        yield from (piece for piece in pieces if piece.rows)


def document_of_cuts(cuts: Cuts) -> dict[str, Any]:
    """Cuts for JSON."""
    return {where: _SHARES.dump_python(cut, mode="json") for where, cut in cuts.items()}


def cuts_of_document(document: Mapping[str, Any]) -> Cuts:
    """The cuts of a document."""
    return {where: _SHARES.validate_python(cut) for where, cut in document.items()}


def read_cuts(line: Path, parts: PartsOfTable) -> Cuts:
    """The cuts that a line made before under the same terms.

    Raises:
        PromiseError: where they cannot be read.
    """
    place = line / _CUTS
    try:
        document = read_json(place, None)
        if document["parts"] != parts.model_dump(mode="json"):
            return {}
        return cuts_of_document(document["cuts"])
    except FileNotFoundError:
        return {}
    except (ValueError, ValidationError, LookupError, TypeError, AttributeError):
        raise PromiseError(f"{place}: cannot be read as the cuts of a line") from None


def write_cuts(line: Path, parts: PartsOfTable, cuts: Cuts) -> None:
    """Keep the cuts of a line: its next version has the same."""
    document = {"parts": parts.model_dump(mode="json"), "cuts": document_of_cuts(cuts)}
    write_atomically(line / _CUTS, json.dumps(document).encode())


def _of(cutter: Cutter) -> tuple[Share, ...]:
    """The pieces that the spec names."""
    by, at = str(cutter.parts.by), cutter.parts.at
    ends = zip((None, *at), (*at, None), strict=True)
    return tuple(
        Share(column=by, least=least, below=below, null=least is None) for least, below in ends
    )


def _places(grid: Grid, most: int) -> list[int]:
    """Where pieces begin, but for the first, so that the largest is small; none where it is all."""
    before = np.concatenate(([0], np.cumsum(grid.counts)))
    rows = int(before[-1])
    fewest = max(2, -(-rows // most))
    best: list[int] = []
    for number in range(fewest, _MORE * fewest):
        wanted = np.arange(1, number) * rows / number
        after = np.searchsorted(before, wanted)
        nearer = wanted - before[np.maximum(after - 1, 0)] < before[after] - wanted
        places = np.unique(np.where(nearer, after - 1, after))
        inside = before[places]
        places = places[(inside > 0) & (inside < rows)]
        _, first = np.unique(before[places], return_index=True)
        found = places[first].tolist()
        if found and (not best or _largest(grid, found) < _largest(grid, best)):
            best = found
        if best and _largest(grid, best) <= most:
            break
    return best


def _largest(grid: Grid, places: Sequence[int]) -> int:
    """The rows of the largest piece."""
    return int(np.add.reduceat(grid.counts, [0, *places]).max())


def _names(path: Path) -> list[str]:
    return list(pq.read_schema(path).names)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    whole = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if whole else column


def _piece_of(column: pa.ChunkedArray, shares: Sequence[Share], spec: ColumnSpec) -> np.ndarray:
    """The piece that admits each row (int64).

    Raises:
        InputError: where none does.
    """
    coded = encode(shares[0].column, "quasi-identifier", _plain(column))
    texts = pc.cast(coded.values, pa.string()).to_pylist()
    place = np.full(len(texts) + 1, -1, dtype=np.int64)
    for number, share in enumerate(shares):
        place[:-1][np.array(share.admits(texts, spec.type), dtype=bool)] = number
        place[-1] = number if share.null else place[-1]
    found: np.ndarray = place[coded.codes]
    if (found < 0).any():
        raise InputError(
            f"parts: the line was cut by {shares[0].column!r}, and {int((found < 0).sum())} rows "
            "are in no piece: its hierarchy changed, or values are missing"
        )
    return found
