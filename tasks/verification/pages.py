"""The pages of a Parquet file, held against its footer before any is decompressed.

A page states its own size before the compressed bytes, and a reader makes room for that many: so
pages are walked, header by header (Thrift's compact protocol), and must add up to what the footer
states of their chunk.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.tasks.schema.files import open_file

_HEADER = 1 << 16  # bytes of the longest header of a page that is read; statistics are in it
_UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY, _DATA_V2 = 2, 3, 5, 7, 8


def require_pages_as_stated(path: Path, footer: Any) -> None:
    """Make sure that the pages of each chunk are as large, and hold as many values, as it states.

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
        header, length = _struct(content, 0)
        sizes = header[_UNCOMPRESSED], header[_COMPRESSED]
        if min(sizes) < 0:
            raise ValueError("a page of negative size")
        uncompressed += sizes[0] + length
        place += sizes[1] + length
        values += (header.get(_DATA) or header.get(_DATA_V2) or {1: 0})[1]
    if (place, uncompressed, values) != (end, chunk.total_uncompressed_size, chunk.num_values):
        raise ValueError("pages that are not as the footer states")


def _struct(content: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where it ends; texts and lists are passed by."""
    fields: dict[int, Any] = {}
    number = 0
    while content[at]:
        delta, kind = content[at] >> 4, content[at] & 15
        at += 1
        if delta:
            number += delta
        else:
            number, at = _zigzag(content, at)
        fields[number], at = _READ[kind](content, at)
    return fields, at + 1


def _unsigned(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[at] & 127) << shift
        shift += 7
        at += 1
        if content[at - 1] < 128:
            return value, at


def _zigzag(content: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(content, at)
    return (value >> 1) ^ -(value & 1), at


def _binary(content: bytes, at: int) -> tuple[None, int]:
    length, at = _unsigned(content, at)
    return None, at + length


_READ: Mapping[int, Callable[[bytes, int], tuple[Any, int]]] = {
    1: lambda _, at: (True, at),
    2: lambda _, at: (False, at),
    3: lambda _, at: (None, at + 1),
    4: _zigzag,
    5: _zigzag,
    6: _zigzag,
    7: lambda _, at: (None, at + 8),
    8: _binary,
    12: _struct,
}
"""How a field of each kind is read that occurs in the header of a page."""
