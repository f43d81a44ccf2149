"""Any table in a registered format as it is: a file, a folder of partitions, or a pattern.

Columns that the names of folders give to Parquet files (`state=NY/part-0.parquet`) are columns of
the table. Parquet has types of its own. CSV files, and names of folders, are text: it is read as
values of the type that is given, and where none is given, the type is inferred.
"""

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.expectations.groups.ranks import comparable
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.readers.distinct import convert_distinct, distinct
from sfumato.tasks.microdata.readers.inferred import format_of, read_files
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.readers.typed import adopt, parse, type_of
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.files import unreadable

_FIELDS = pa.dictionary(pa.int32(), pa.binary())
_TEXT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Written:
    """The dialect of CSV files: names of columns for files without a header, texts for null.

    `types` are those of columns, which must fit those that Parquet has; `of_text` are those of
    columns that are text in the files, where `types` has none.
    """

    header: tuple[str, ...] | None = None
    nulls: tuple[str, ...] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    of_text: Mapping[str, ColumnType] = field(default_factory=dict)


AS_USUAL = Written()


def types_of(microdata: Microdata) -> dict[str, ColumnType]:
    """The types by which the text of another table becomes comparable with the values of this."""
    types = {column.name: type_of(column.values.type) for column in microdata.columns}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def read_inferred(place: str, columns: Sequence[str], written: Written) -> Microdata:
    """Some columns of a table, nulls as nulls.

    Args:
        place: a file, a folder of files, or a pattern with `*`, `?` or `[…]` (`**` for folders);
            their format is that which has the ending of their names, or else CSV.
        columns: the names of the columns to read.
        written: how the files are written.

    Raises:
        InputError: where a file cannot be read, the table has no such column, or a value is not of
            its column's type.
    """
    wanted = list(dict.fromkeys(columns))
    try:
        table = _table(place, wanted, written)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "not a readable table"
        raise InputError(f"{place}: cannot be read ({reason})") from None
    except (pa.ArrowException, UnicodeError):
        raise InputError(f"{place}: cannot be read as a table") from None
    return Microdata(tuple(_encoded(name, table[name], place) for name in wanted), table.num_rows)


def _table(place: str, wanted: Sequence[str], written: Written) -> pa.Table:
    files = _files(place)
    for file in files:
        if reason := unreadable(Path(file)):
            raise InputError(f"{place}: {reason}")
    format_, *others = sorted(set(map(format_of, files)))
    if others:
        raise InputError(f"{place}: files of different formats: {', '.join([format_, *others])}")
    types = {**written.of_text, **written.types}
    texts = {name: types[name] for name in wanted if name in types}
    if format_ == "csv":
        return _delimited(files, texts, wanted, written, place)
    given = {name: type_ for name, type_ in written.types.items() if name in wanted}
    if format_ != "parquet":
        reader = READERS[format_]
        return read_files(reader, files, wanted, texts if reader.IS_TEXT else given)
    if files == [place]:
        single = pq.ParquetFile(Path(place).absolute())  # `a:b` would be an address to Arrow
        table = single.read(_present(wanted, single.schema_arrow.names, place))
        return _adopted(table, given, place)
    table, folders = _partitions(files, texts, wanted, place)
    inside = {name: type_ for name, type_ in given.items() if name not in folders}
    return _adopted(_parsed(table, folders, place), inside, place)


def _partitions(
    files: Sequence[str], texts: Mapping[str, ColumnType], wanted: Sequence[str], place: str
) -> tuple[pa.Table, dict[str, ColumnType]]:
    """The wanted columns of Parquet files, and those of `texts` that names of folders tell."""
    import pyarrow.dataset as ds  # imports pandas, which a single file can do without

    table = ds.dataset(files, format="parquet", partitioning="hive")
    in_files = next(table.get_fragments()).physical_schema.names
    inferred = table.partitioning.schema
    folders = {n: texts[n] for n in inferred.names if n in texts and n not in in_files}
    if folders:
        fields = [f.with_type(pa.string()) if f.name in folders else f for f in inferred]
        named = ds.partitioning(pa.schema(fields), flavor="hive")
        table = ds.dataset(files, format="parquet", partitioning=named)
    return table.to_table(_present(wanted, table.schema.names, place)), folders


def _present(wanted: Sequence[str], names: Sequence[str], place: str) -> list[str]:
    for name in wanted:
        if list(names).count(name) != 1:
            raise InputError(f"{place}: column {name!r} does not occur exactly once")
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
        raise InputError(f"{place}: has no data file")
    return sorted(visible)


def _hidden(path: str) -> bool:
    """Decide whether it is what writers leave beside the data, such as _SUCCESS or .crc files."""
    return any(part.startswith((".", "_")) for part in Path(path).parts)


def _delimited(
    files: Sequence[str],
    texts: Mapping[str, ColumnType],
    wanted: Sequence[str],
    written: Written,
    place: str,
) -> pa.Table:
    """The wanted columns of CSV files, those with a type parsed as one column each."""
    tables = [_csv(file, texts, wanted, written, place) for file in files]
    if len(files) > 1:
        for file, table in zip(files, tables, strict=True):
            _parsed(table, texts, file)  # says in which file, and in which of its rows
    whole = pa.concat_tables(tables, promote_options="permissive").select(wanted)
    return _parsed(whole, texts, files[0] if len(files) == 1 else place)


def _csv(
    file: str,
    texts: Mapping[str, ColumnType],
    wanted: Sequence[str],
    written: Written,
    place: str,
) -> pa.Table:
    """The wanted columns, `texts` as they stand; blanks around names in the header are no part."""
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
            column_types={name: _FIELDS for name in names if name.strip() in texts},
            null_values=["", *written.nulls, *blank],
            strings_can_be_null=True,
        ),
    )
    return table.rename_columns([name.strip() for name in table.column_names])


def _parsed(table: pa.Table, types: Mapping[str, ColumnType], file: str) -> pa.Table:
    """The table with some columns of text as values of types; it is called `file` in errors."""
    for name, type_ in types.items():
        values = table[name]
        values = _text(values) if type_ == "string" else _values(values, type_, file, name)
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as it stands; what is not in UTF-8 stays bytes, which can be told apart, too."""
    try:
        return column.cast(_TEXT)
    except pa.ArrowInvalid:
        return column


def _values(column: pa.ChunkedArray, type_: ColumnType, file: str, name: str) -> pa.Array:
    """Text as values of a type, of which blanks around them are no part."""
    trimmed = convert_distinct(distinct(column), _trimmed, "not in UTF-8", file, name)
    return parse(trimmed, type_, file, name).array()


def _trimmed(values: pa.Array) -> pa.Array:
    return pc.utf8_trim(values.cast(pa.string()), characters=" \t")


def _adopted(table: pa.Table, types: Mapping[str, ColumnType], file: str) -> pa.Table:
    """The table with some columns as values of types, which must be those of the file, too.

    None keeps the file's own dictionary, which may hold values that no row has.
    """
    for number, name in enumerate(table.column_names):
        values = table[name]
        if name in types:
            values = adopt(values, types[name], file, name).array()
        elif pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        table = table.set_column(number, name, values)
    return table


def _encoded(name: str, values: pa.ChunkedArray, place: str) -> Column:
    """The column in codes, where its values can be compared."""
    try:
        return encode(name, "insensitive", comparable(values))
    except pa.ArrowException:
        rule = f"values of type {values.type} cannot be put in an order"
        raise InputError(f"{place}: column {name!r}: {rule}") from None
