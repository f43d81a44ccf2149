"""The cut of a stratum with more rows than a part may have, at values that reveal no row.

A *stratum* is the rows that have certain values in the columns that the spec names under `strata`.
A *piece* of it is the rows with some values of one more column; a *share* states these values.

A *grid* is a list of values that does not depend on the rows. Its ends are round numbers, first
days of years and months, or ends of the hierarchy's intervals; or it consists of the nodes of one
level of a hierarchy, each of which stands for the leaves below it. Rows decide only which of these
ends and nodes are used.

A stratum is cut as the line cut it before, if it did. Otherwise it is cut by the column and the
values that the spec names, or by the quasi-identifier, with the ends or nodes of its coarsest grid,
that gives the smallest pieces. It is never cut by a sensitive column.
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

_FINEST = 1000  # most cells between the least and the greatest value
_CUTS = "cuts.json"  # in a line's private directory
_SHARES: TypeAdapter[tuple[Share, ...]] = TypeAdapter(tuple[Share, ...])
_MORE = 4  # numbers of pieces below so many times the fewest possible are tried
Cuts = dict[str, tuple[Share, ...]]
"""The pieces of every stratum that is cut, by the text of its defining shares."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Ordered cells of a column, with their numbers of rows.

    Attributes:
        counts: the rows of each cell (int64).
        ends: the beginning of each cell but the first; empty if cells are nodes.
        nodes: the leaves of each cell, if cells are nodes.
    """

    counts: np.ndarray
    ends: tuple[str, ...] = ()
    nodes: tuple[tuple[str, ...], ...] = ()

    def shares(self, name: str, places: Sequence[int]) -> tuple[Share, ...]:
        """Return the pieces that begin at the first cell and at each of some other cells.

        Nulls are in the first piece.

        Args:
            name: the column.
            places: the positions of the other cells, in ascending order.
        """
        starts, stops = [0, *places], [*places, len(self.counts)]
        shares = []
        for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            if self.nodes:
                leaves = tuple(leaf for node in self.nodes[start:stop] for leaf in node)
                shares.append(Share(column=name, values=leaves, null=not number))
            else:
                least = self.ends[start - 1] if start else None
                below = self.ends[stop - 1] if stop < len(self.counts) else None
                shares.append(Share(column=name, least=least, below=below, null=not number))
        return tuple(shares)


@dataclass(frozen=True, eq=False)
class Histogram:
    """Distinct values of a column in some rows, as texts, and their counts (int64)."""

    texts: Sequence[str]
    counts: np.ndarray

    @classmethod
    def count_values(cls, columns: Iterator[pa.ChunkedArray]) -> "Histogram":
        """Count the values of a column, piece by piece."""
        counted: dict[str, int] = {}
        for column in columns:
            value_counts = pc.value_counts(column.drop_null())
            texts = pc.cast(value_counts.field("values"), pa.string()).to_pylist()
            for text, number in zip(texts, value_counts.field("counts").to_pylist(), strict=True):
                counted[text] = counted.get(text, 0) + number
        return cls(list(counted), np.array(list(counted.values()), dtype=np.int64))


def grids(
    histogram: Histogram, type_: ColumnType, hierarchy: HierarchyRule | None
) -> Iterator[Grid]:
    """Yield the grids of a column, from the coarsest to the finest.

    Args:
        histogram: the values of the column in some rows.
        type_: the type of the column.
        hierarchy: the hierarchy of the column, None if it has none.

    Yields:
        Nothing if no row has a value, or there is no grid for the type, as for texts without a
        hierarchy of nodes.
    """
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
            # `//` of decimals rounds towards 0: negative numbers need the cell below
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
    """Return the grid from the first cell that has a row to the last.

    Args:
        histogram: the values.
        cells: the cell of each value.
        start: returns the least value of a cell as a text.
    """
    first, last = min(cells), max(cells)
    counts = np.zeros(last - first + 1, dtype=np.int64)
    np.add.at(counts, np.array(cells) - first, histogram.counts)
    return Grid(counts, ends=tuple(start(cell) for cell in range(first + 1, last + 1)))


def _nodes(histogram: Histogram, rows: Sequence[tuple[str, ...]]) -> Iterator[Grid]:
    """Yield the nodes of each level below the root, in the order of the hierarchy's leaves."""
    counts_by_text = dict(zip(histogram.texts, histogram.counts.tolist(), strict=True))
    for level in range(len(rows[0]) - 2, 0, -1):
        leaves: dict[str, list[str]] = {}
        for row in rows:
            leaves.setdefault(row[level], []).append(row[0])
        counts = [sum(counts_by_text.get(leaf, 0) for leaf in below) for below in leaves.values()]
        yield Grid(np.array(counts, dtype=np.int64), nodes=tuple(map(tuple, leaves.values())))


def _steps(low: Decimal, high: Decimal, *, whole: bool) -> Iterator[Decimal]:
    """Yield widths of cells, 5 and 1 times powers of ten, in descending order.

    Those of whole numbers are at least 5. The numbers between `low` and `high` have at most about
    `_FINEST` cells. Yields nothing if `low` and `high` are equal.
    """
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
    """Cutter of strata that are too large.

    Attributes:
        parts: the parts that the spec asks for.
        columns: all columns of the source.
        base: the directory that hierarchies are relative to.
        cuts: the cuts that the line made before; `pieces` adds new ones.
        fixed: the strata and pieces whose groups continue, by their defining shares: they are not
            cut.
    """

    parts: PartsOfTable
    columns: Mapping[str, ColumnSpec]
    base: Path
    cuts: Cuts
    fixed: frozenset[str] = frozenset()

    def pieces(self, stratum: StratumOnDisk) -> Iterator[StratumOnDisk]:
        """Yield the pieces of a stratum, none of which is too large.

        Raises:
            InputError: if the stratum has too many rows and its groups continue, or no column, or
                none that the spec names, cuts it into small enough pieces.
        """
        earlier = self.cuts.get(text_of_where(stratum.where))
        fixed = text_of_where(stratum.where) in self.fixed
        if fixed and stratum.rows > self.parts.rows:
            raise InputError(
                f"parts: a part of the line now has {stratum.rows} rows, more than "
                f"{self.parts.rows}, and it cannot be cut because its groups continue. "
                "Raise parts.rows"
            )
        if fixed or (earlier is None and stratum.rows <= self.parts.rows):
            yield stratum
            return
        shares = earlier or self._shares(stratum)
        self.cuts[text_of_where(stratum.where)] = shares
        for piece in self._cut(stratum, shares):
            yield from self.pieces(piece)

    def _shares(self, stratum: StratumOnDisk) -> tuple[Share, ...]:
        if self.parts.by is None:
            return self._smallest(stratum)
        if any(
            share.column == self.parts.by and share in _declared_shares(self)
            for share in stratum.where
        ):
            raise InputError(
                f"parts.at: a piece has {stratum.rows} rows, more than "
                f"{self.parts.rows}. Name more values, or raise parts.rows"
            )
        return _declared_shares(self)

    def _smallest(self, stratum: StratumOnDisk) -> tuple[Share, ...]:
        """Return the pieces by the first column whose largest piece is small enough.

        If there is none, return those of the column and grid with the smallest largest piece:
        `pieces` cuts these again.
        """
        best: tuple[int, tuple[Share, ...]] | None = None
        for name, column in self.columns.items():
            if column.role != "quasi-identifier":
                continue
            for largest, shares in self._shares_by_grid(stratum, name, column):
                if best is None or largest < best[0]:
                    best = largest, shares
            if best is not None and best[0] <= self.parts.rows:
                return best[1]
        if best is None:
            raise InputError(
                f"parts: a stratum has {stratum.rows} rows, more than "
                f"{self.parts.rows}, and no quasi-identifier can cut it at a label or "
                "a round value. Write parts.by and parts.at, add strata, or raise "
                "parts.rows"
            )
        return best[1]

    def _shares_by_grid(
        self, stratum: StratumOnDisk, name: str, column: ColumnSpec
    ) -> Iterator[tuple[int, tuple[Share, ...]]]:
        """Yield the number of rows of the largest piece, and the pieces, by each grid."""
        read = (table[name] for table in read_columns([stratum], [name]))
        histogram = Histogram.count_values(map(_plain, read))
        hierarchy = column.hierarchy and declared_hierarchy(name, column.hierarchy, self.base)
        for grid in grids(histogram, column.type, hierarchy or None):
            places = _places(grid, self.parts.rows)
            if places:
                yield _largest(grid, places), grid.shares(name, places)

    def _cut(self, stratum: StratumOnDisk, shares: Sequence[Share]) -> Iterator[StratumOnDisk]:
        """Write every row of a stratum to the piece that admits it, and yield pieces with rows."""
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
    """Return cuts for JSON."""
    return {where: _SHARES.dump_python(cut, mode="json") for where, cut in cuts.items()}


def cuts_of_document(document: Mapping[str, Any]) -> Cuts:
    """Return the cuts of a document."""
    return {where: _SHARES.validate_python(cut) for where, cut in document.items()}


def read_cuts(line: Path, parts: PartsOfTable) -> Cuts:
    """Return the cuts that a line made before for the same `parts`; {} if there are none.

    Args:
        line: the line's private directory.
        parts: the parts that its spec asks for now.

    Raises:
        PromiseError: if they cannot be read.
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
        raise PromiseError(f"{place}: cannot be read as the record of a line's parts") from None


def write_cuts(line: Path, parts: PartsOfTable, cuts: Cuts) -> None:
    """Write the cuts of a line, which its next version keeps."""
    document = {"parts": parts.model_dump(mode="json"), "cuts": document_of_cuts(cuts)}
    write_atomically(line / _CUTS, json.dumps(document).encode())


def _declared_shares(cutter: Cutter) -> tuple[Share, ...]:
    """Return the pieces that the spec names by `parts.by` and `parts.at`."""
    column, values = str(cutter.parts.by), cutter.parts.at
    ends = zip((None, *values), (*values, None), strict=True)
    return tuple(
        Share(column=column, least=least, below=below, null=least is None) for least, below in ends
    )


def _places(grid: Grid, most: int) -> list[int]:
    """Return the cells at which pieces after the first begin, so that the largest is small.

    Args:
        grid: the cells.
        most: the number of rows that a piece should have at most.

    Returns:
        Positions in ascending order; empty if no cell divides the rows. The largest piece may have
        more rows than `most`.
    """
    before = np.concatenate(([0], np.cumsum(grid.counts)))  # rows before each cell
    rows = int(before[-1])
    fewest = max(2, -(-rows // most))
    best: list[int] = []
    for number in range(fewest, _MORE * fewest):
        # The cells nearest to an equal division of the rows, without empty pieces.
        targets = np.arange(1, number) * rows / number
        after = np.searchsorted(before, targets)
        nearer = targets - before[np.maximum(after - 1, 0)] < before[after] - targets
        places = np.unique(np.where(nearer, after - 1, after))
        inside = before[places]
        places = places[(inside > 0) & (inside < rows)]
        _, first = np.unique(before[places], return_index=True)
        cells = places[first].tolist()
        if cells and (not best or _largest(grid, cells) < _largest(grid, best)):
            best = cells
        if best and _largest(grid, best) <= most:
            break
    return best


def _largest(grid: Grid, places: Sequence[int]) -> int:
    """Return the number of rows of the largest piece."""
    return int(np.add.reduceat(grid.counts, [0, *places]).max())


def _names(path: Path) -> list[str]:
    return list(pq.read_schema(path).names)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    whole = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if whole else column


def _piece_of(column: pa.ChunkedArray, shares: Sequence[Share], spec: ColumnSpec) -> np.ndarray:
    """Return the piece that admits each row (int64).

    Raises:
        InputError: if no piece admits a row.
    """
    coded = encode(shares[0].column, "quasi-identifier", _plain(column))
    texts = pc.cast(coded.values, pa.string()).to_pylist()
    # one entry per value, and a last one for nulls, which have code -1
    place = np.full(len(texts) + 1, -1, dtype=np.int64)
    for number, share in enumerate(shares):
        place[:-1][np.array(share.admits(texts, spec.type), dtype=bool)] = number
        place[-1] = number if share.null else place[-1]
    pieces: np.ndarray = place[coded.codes]
    if (pieces < 0).any():
        raise InputError(
            f"parts: the line was cut by {shares[0].column!r}, and "
            f"{int((pieces < 0).sum())} rows are in no piece, because its hierarchy "
            "changed or values are missing"
        )
    return pieces
