"""Any CSV or Parquet table as it is, types inferred: a file, a folder of partitions, or a pattern.

Columns that the names of folders give to Parquet files (`state=NY/part-0.parquet`) are columns of
the table.
"""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from expectations.errors import InputError
from tasks.microdata.table import Microdata, encode


@dataclass(frozen=True)
class Written:
    """How CSV files are written: names of columns for files without a header, texts for null."""

    header: tuple[str, ...] | None = None
    nulls: tuple[str, ...] = ()


AS_USUAL = Written()


def read_any(place: str, columns: Sequence[str], written: Written) -> Microdata:
    """Some columns of a table, nulls as nulls.

    Args:
        place: a file, a folder of files, or a pattern with `*`, `?` or `[…]` (`**` for folders);
            files that end in .parquet are Parquet, others CSV.
        columns: the names of the columns to read.
        written: how CSV files are written.

    Raises:
        InputError: where a file cannot be read or the table has no such column.
    """
    wanted = list(dict.fromkeys(columns))
    try:
        table = _table(place, wanted, written)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "not a readable table"
        raise InputError(f"{place}: cannot be read ({reason})") from None
    except pa.ArrowException:
        raise InputError(f"{place}: cannot be read as a table") from None
    return Microdata(
        tuple(encode(name, "insensitive", _plain(table[name])) for name in wanted), table.num_rows
    )


def _table(place: str, wanted: Sequence[str], written: Written) -> pa.Table:
    files = _files(place)
    endings = {Path(file).suffix == ".parquet" for file in files}
    if len(endings) > 1:
        raise InputError(f"{place}: Parquet and other files together")
    if endings == {False}:
        tables = [_csv(file, wanted, written, place) for file in files]
        return pa.concat_tables(tables, promote_options="permissive").select(wanted)
    if files == [place]:
        single = pq.ParquetFile(place)
        return single.read(_present(wanted, single.schema_arrow.names, place))
    return _partitions(files, wanted, place)


def _partitions(files: Sequence[str], wanted: Sequence[str], place: str) -> pa.Table:
    import pyarrow.dataset as ds  # imports pandas, which a single file can do without

    partitions = ds.dataset(files, format="parquet", partitioning="hive")
    return partitions.to_table(_present(wanted, partitions.schema.names, place))


def _present(wanted: Sequence[str], names: Sequence[str], place: str) -> list[str]:
    for name in wanted:
        if list(names).count(name) != 1:
            raise InputError(f"{place}: column {name!r} is not there once")
    return list(wanted)


def _files(place: str) -> list[str]:
    """The files that a place means, in the order of their names; hidden ones are none."""
    if Path(place).is_dir():
        found = [str(path) for path in Path(place).rglob("*") if path.is_file()]
        visible = [f for f in found if not _hidden(str(Path(f).relative_to(place)))]
    elif glob.has_magic(place) and not Path(place).exists():
        anchor = Path(place).anchor
        matching = Path(anchor).glob(str(Path(place).relative_to(anchor)))
        visible = [str(path) for path in matching if path.is_file() and not _hidden(path.name)]
    else:
        return [place]
    if not visible:
        raise InputError(f"{place}: no file is there")
    return sorted(visible)


def _hidden(path: str) -> bool:
    """Whether it is what writers leave beside the data, such as _SUCCESS or .crc files."""
    return any(part.startswith((".", "_")) for part in Path(path).parts)


def _csv(file: str, wanted: Sequence[str], written: Written, place: str) -> pa.Table:
    """The wanted columns; blanks around names in the header are no part of them."""
    blank = tuple(f" {null}" for null in written.nulls)
    header = pa.csv.ReadOptions(column_names=written.header)
    with pa.csv.open_csv(file, read_options=header) as beginning:
        names = beginning.schema.names
    _present(wanted, [name.strip() for name in names], place)
    table = pa.csv.read_csv(
        file,
        read_options=header,
        convert_options=pa.csv.ConvertOptions(
            include_columns=[name for name in names if name.strip() in wanted],
            null_values=["", *written.nulls, *blank],
            strings_can_be_null=True,
        ),
    )
    return table.rename_columns([name.strip() for name in table.column_names])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without the file's own dictionary, which may hold values that no row has."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column
