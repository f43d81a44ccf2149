"""Columns of published tables, read piece by piece, and what the footers of files say of them.

Files are Parquet, whose statistics a release's bytes hold: the least and the greatest value of a
column are known without reading it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.tasks.query.engines.engine import Source
from sfumato.tasks.schema.files import regular
from sfumato.tasks.sql.parted import TableInParts

Ends = tuple[Any, Any]
"""The least and the greatest value of a column, both None where it has no value."""

_NO_ENDS: Ends = (None, None)


def row_count(source: Source) -> int:
    """Return how many rows a table has."""
    if isinstance(source, pa.Table):
        return int(source.num_rows)
    return sum(pq.read_metadata(regular(path)).num_rows for path in _files(source))


def batches(source: Source, name: str) -> Iterator[pa.Array]:
    """Read a column piece by piece: its values, each at least once; a dictionary for texts."""
    if isinstance(source, pa.Table):
        yield from map(_values, source[name].chunks)
        return
    for path in _files(source):
        with pq.ParquetFile(regular(path), read_dictionary=[name]) as file:
            for group in range(file.num_row_groups):
                yield from map(_values, file.read_row_group(group, [name])[name].chunks)


def ends_of(source: Source, name: str) -> Ends:
    """Return the least and the greatest value of a column; NaN is passed over."""
    if isinstance(source, pa.Table):
        return widest(map(_ends_of_values, batches(source, name)))
    return widest(_ends_of_file(path, name) for path in _files(source))


def widest(found: Iterator[Ends]) -> Ends:
    """Return the ends of several pieces together."""
    known = [ends for ends in found if ends != _NO_ENDS]
    if not known:
        return _NO_ENDS
    return min(low for low, _ in known), max(high for _, high in known)


def _files(source: Path | TableInParts) -> tuple[Path, ...]:
    return source.files if isinstance(source, TableInParts) else (source,)


def _values(chunk: pa.Array) -> pa.Array:
    return chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk


def _ends_of_file(path: Path, name: str) -> Ends:
    footer = pq.read_metadata(regular(path))
    place = footer.schema.names.index(name)
    groups = [footer.row_group(n).column(place).statistics for n in range(footer.num_row_groups)]
    if all(statistics is not None and statistics.has_min_max for statistics in groups):
        return widest((statistics.min, statistics.max) for statistics in groups)
    return widest(map(_ends_of_values, batches(path, name)))


def _ends_of_values(values: pa.Array) -> Ends:
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    ends = pc.min_max(values)
    return ends["min"].as_py(), ends["max"].as_py()
