"""Limits on the size of tables in memory, computed before the tables are read.

A page states its own size before the compressed bytes, and a reader allocates that much. So pages
are walked, header by header (Thrift's compact protocol), and must add up to the sizes that the
footer states for their chunk.

A file of megabytes can contain tables of gigabytes: a value stored once, and repeated by a count.
So rows, columns and widths are read from footers first, and the lengths of texts are added up from
dictionaries and indices, without making any text.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.tasks.schema.files import open_file, regular

_HEADER = 1 << 16  # bytes of the longest header of a page that is read; statistics are in it
_SMALL = 1 << 30  # bytes in memory that are never too many: sorted tables grow a hundredfold
_WIDTHS = {"BYTE_ARRAY": 4, "BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}
_WIDEST = 16  # bytes of a decimal; of a text, _WIDTHS has those of its place in a dictionary
_WORDS = {
    "rows": "has {} rows",
    "columns": "has {} columns",
    "expansion": "needs at least {} bytes in memory for each byte of the file",
}


_UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY, _DATA_V2 = 2, 3, 5, 7, 8


def require_pages_as_stated(path: Path, footer: Any) -> None:
    """Make sure that the pages of each chunk have the size, and as many values, as it states.

    Raises:
        ValueError: where they do not, or are no pages.
    """
    with open_file(path) as file:
        for group in range(footer.num_row_groups):
            for number in range(footer.num_columns):
                _require_as_stated(file, footer.row_group(group).column(number))


def _require_as_stated(file: BinaryIO, chunk: Any) -> None:
    starts = (chunk.data_page_offset, chunk.dictionary_page_offset)
    place = min(start for start in starts if start)  # a chunk without values has no data page
    end = place + chunk.total_compressed_size
    uncompressed = values = 0
    while place < end:
        file.seek(place)
        content = file.read(min(_HEADER, end - place))
        header, length = _read_struct(content, 0)
        sizes = header[_UNCOMPRESSED], header[_COMPRESSED]
        if min(sizes) < 0:
            raise ValueError("a page with a negative size")
        uncompressed += sizes[0] + length
        place += sizes[1] + length
        values += (header.get(_DATA) or header.get(_DATA_V2) or {1: 0})[1]
    if (place, uncompressed, values) != (end, chunk.total_uncompressed_size, chunk.num_values):
        raise ValueError("pages differ from what the footer states")


def _read_struct(content: bytes, position: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a struct by their numbers, and its end; texts and lists are skipped."""
    fields: dict[int, Any] = {}
    number = 0
    while content[position]:
        delta, kind = content[position] >> 4, content[position] & 15
        position += 1
        if delta:
            number += delta
        else:
            number, position = _read_zigzag(content, position)
        fields[number], position = _READ[kind](content, position)
    return fields, position + 1


def _read_unsigned(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[position] & 127) << shift
        shift += 7
        position += 1
        if content[position - 1] < 128:
            return value, position


def _read_zigzag(content: bytes, position: int) -> tuple[int, int]:
    value, position = _read_unsigned(content, position)
    return (value >> 1) ^ -(value & 1), position


def _skip_binary(content: bytes, position: int) -> tuple[None, int]:
    length, position = _read_unsigned(content, position)
    return None, position + length


_READ: Mapping[int, Callable[[bytes, int], tuple[Any, int]]] = {
    1: lambda _, position: (True, position),
    2: lambda _, position: (False, position),
    3: lambda _, position: (None, position + 1),
    4: _read_zigzag,
    5: _read_zigzag,
    6: _read_zigzag,
    7: lambda _, position: (None, position + 8),
    8: _skip_binary,
    12: _read_struct,
}
"""The reader of each kind of field that occurs in the header of a page."""


@dataclass(frozen=True)
class Extent:
    """The size of tables: the most rows and columns of one, and its growth when read."""

    rows: int = 0
    columns: int = 0
    expansion: int = 0


@dataclass(frozen=True)
class ReadLimits:
    """The sizes that a reader accepts; `expansion` is bytes in memory for each byte of a file."""

    rows: int = 100_000_000
    columns: int = 1_000
    expansion: int = 20

    def require(self, extent: Extent, place: Path) -> None:
        """Refuse a larger extent.

        Raises:
            InputError: naming the limit, and how it is raised.
        """
        for limit in fields(self):
            size, most = getattr(extent, limit.name), getattr(self, limit.name)
            if size > most:
                raise InputError(
                    f"{place}: {_WORDS[limit.name].format(size)}, but the limit is "
                    f"{most}. If you trust the file, read it with: --limit "
                    f"{limit.name}={size}"
                )


DEFAULT_LIMITS = ReadLimits()


def read_limits(texts: Mapping[str, str]) -> ReadLimits:
    """Return ReadLimits from texts `name=number`.

    Raises:
        SpecError: naming the one that is no limit or no number.
    """
    names = [limit.name for limit in fields(ReadLimits)]
    for name, text in texts.items():
        if name not in names:
            raise SpecError(f"--limit {name}: must be one of {', '.join(names)}")
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
            raise SpecError(f"--limit {name}: must be a whole number above 0")
    return ReadLimits(**{name: int(text) for name, text in texts.items()})


def extent_within(directory: Path, limits: ReadLimits) -> Extent:
    """Return the extent of all Parquet files below a directory.

    Raises:
        InputError: where one is larger than the limits.
        PromiseError: where one is no Parquet file, or its footer contradicts itself.
    """
    extents = [_extent(path, limits) for path in sorted(directory.absolute().rglob("*.parquet"))]
    sizes = ([getattr(extent, part.name) for extent in extents] for part in fields(Extent))
    return Extent(*(max(of_part, default=0) for of_part in sizes))


def _extent(path: Path, limits: ReadLimits) -> Extent:
    try:
        with pq.ParquetFile(regular(path)) as file:
            footer = file.metadata
        limits.require(Extent(footer.num_rows, footer.num_columns), path)
        _require_consistent(path, footer)
        require_pages_as_stated(path, footer)
        return Extent(footer.num_rows, footer.num_columns, _expansion(path, footer, limits))
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        require_machine(error)
        raise PromiseError(
            f"{path.name}: cannot be read as a Parquet file. It is damaged, or of another format"
        ) from None


def _expansion(path: Path, footer: Any, limits: ReadLimits) -> int:
    """Return bytes in memory for each byte of the file, rounded up; 0 if they are few in all."""
    decoded, size, extent = 0, path.stat().st_size, Extent()
    for part in _decoded_bytes(path, footer):
        decoded += part
        extent = Extent(expansion=-(-decoded // size) if decoded > _SMALL else 0)
        limits.require(extent, path)
    return extent.expansion


def _decoded_bytes(path: Path, footer: Any) -> Iterator[int]:
    """Yield the memory that chunks of columns take: first by their widths, then texts in full."""
    texts: list[tuple[int, str]] = []
    for group, chunk, column in _chunks(footer):
        if column.physical_type == "BYTE_ARRAY":
            texts.append((group, chunk.path_in_schema))
        width = _WIDTHS.get(column.physical_type, max(_WIDEST, column.length or 0))
        yield max(chunk.num_values * width, chunk.total_uncompressed_size)
    if texts:
        names = list({name for _, name in texts})
        with pq.ParquetFile(regular(path), read_dictionary=names) as file:
            for group, name in texts:
                yield sum(map(_text_bytes, file.read_row_group(group, [name])[0].chunks))


def _text_bytes(chunk: pa.DictionaryArray) -> int:
    """Return the bytes that the texts would take if each row had its own."""
    lengths = pc.binary_length(chunk.dictionary)
    return int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)


def _require_consistent(path: Path, footer: Any) -> None:
    groups = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
    counts = {(group, chunk.num_values) for group, chunk, _ in _chunks(footer)}
    if (
        min(groups, default=0) < 0
        or sum(groups) != footer.num_rows
        or any(groups[group] != values for group, values in counts)
    ):
        raise PromiseError(
            f"{path.name}: its footer contradicts itself. The file is damaged or was changed"
        )


def _chunks(footer: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yield every chunk of a column, with the number of its row group and its schema."""
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            yield group, footer.row_group(group).column(number), footer.schema.column(number)
