"""Parquet files of a table of text: columns of other types, other columns, damaged bytes."""

import io
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.fuzz.mutate import STRANGE, bytes_of

_TYPES: tuple[pa.DataType, ...] = (
    *(pa.int8(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.large_string(), pa.binary(), pa.binary(3), pa.date32(), pa.time64("us")),
    *(pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.duration("s"), pa.null()),
    *(pa.decimal128(5, 2), pa.decimal256(70, 3), pa.list_(pa.int64()), pa.struct([("a", "i8")])),
    *(pa.dictionary(pa.int8(), pa.string()), pa.map_(pa.string(), pa.int8())),
)
_VALUES: tuple[Any, ...] = (None, 0, 1, -1, 2**63 - 1, 1.5, float("nan"), float("inf"), True)


def write_parquet(table: Path, file: Path) -> None:
    """Write a table in CSV as Parquet, with the types that its columns look like."""
    convert = pa.csv.ConvertOptions(column_types={"weight": pa.decimal128(4, 1)})
    pq.write_table(pa.csv.read_csv(table, convert_options=convert), file)


def parquet_of(text: str, rng: Random) -> bytes:
    """The table of a CSV text as Parquet, with some faults."""
    convert = pa.csv.ConvertOptions(column_types={"wage": pa.decimal128(6, 2)})
    table = pa.csv.read_csv(io.BytesIO(text.encode()), convert_options=convert)
    for _ in range(rng.randint(0, 3)):
        table = _change_table(table, rng)
    sink = io.BytesIO()
    options = {
        "compression": rng.choice(["none", "snappy", "zstd"]),
        "row_group_size": rng.choice([1, 7, 1000]),
        "use_dictionary": rng.random() < 0.5,
        "version": rng.choice(["1.0", "2.4", "2.6"]),
    }
    try:
        pq.write_table(table, sink, **options)
    except (pa.ArrowException, ValueError):
        sink = io.BytesIO()
        pq.write_table(table.select([]), sink)
    content = sink.getvalue()
    return bytes_of(content, rng) if rng.random() < 0.4 else content


def _change_table(table: pa.Table, rng: Random) -> pa.Table:
    if not table.num_columns:
        return table
    place = rng.randrange(table.num_columns)
    name, kind = table.column_names[place], rng.randrange(6)
    if kind == 0:
        return table.remove_column(place)
    if kind == 1:
        return table.append_column(rng.choice([name, *STRANGE]), table.column(place))
    if kind == 2:
        return table.slice(0, rng.choice([0, 1, 5]))
    if kind == 3:
        names = [*table.column_names]
        names[place] = rng.choice(STRANGE)
        return table.rename_columns(names)
    return table.set_column(place, name, _other(table.column(place), rng))


def _other(column: pa.ChunkedArray, rng: Random) -> pa.Array:
    """The same values as another type where they can be, or strange values of one."""
    type_ = rng.choice(_TYPES)
    for make in (
        lambda: column.cast(type_, safe=False),
        lambda: pa.array([rng.choice(_VALUES) for _ in range(len(column))], type_),
        lambda: pa.array([rng.choice(_VALUES[1:]) for _ in range(len(column))]).cast(type_),
    ):
        try:
            return make()
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            continue
    return pa.nulls(len(column), type_)
