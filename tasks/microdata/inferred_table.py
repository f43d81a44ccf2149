"""Tables in any registered format: a file, a folder of partitions, or a pattern.

Columns that the names of folders give to Parquet files (`state=NY/part-0.parquet`) are columns of
the table. Parquet has types of its own. CSV files and names of folders are text, which is read as
values of the given type; without a given type, the type is inferred.
"""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.expectations.groups.ranks import comparable
from sfumato.expectations.machine.fault import require_machine, with_remedies
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.notation.spelling import FileDialect
from sfumato.tasks.microdata.readers.distinct import convert_distinct, distinct
from sfumato.tasks.microdata.readers.inferred import format_of, read_files
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.readers.typed import adopt, parse, type_of
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.files import unreadable
from sfumato.tasks.schema.names import CsvDialect

_READS = "this command reads CSV files in UTF-8, with commas, and with a header in the first line"
_FIELDS = pa.dictionary(pa.int32(), pa.binary())
_TEXT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Written:
    """Dialect of CSV files: names of columns for files without a header, and texts for null.

    `types` are the types of columns, which must fit the types in Parquet files; `of_text` are the
    types of columns that are text in the files, if `types` has none.
    """

    header: tuple[str, ...] | None = None
    nulls: tuple[str, ...] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    of_text: Mapping[str, ColumnType] = field(default_factory=dict)


AS_USUAL = Written()


def types_of(microdata: Microdata) -> dict[str, ColumnType]:
    """Return the types that make text of another table comparable with this table's values."""
    types = {column.name: type_of(column.values.type) for column in microdata.columns}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def read_inferred(place: str, columns: Sequence[str], written: Written) -> Microdata:
    """Return some columns of a table, with nulls as nulls.

    Args:
        place: a file, a folder of files, or a pattern with `*`, `?` or `[…]` (`**` for folders);
            their format is that of the ending of their names, otherwise CSV.
        columns: the names of the columns to read.
        written: the dialect of the files.

    Raises:
        InputError: if a file cannot be read, the table has no such column, or a value is not of
            its column's type.
    """
    names = list(dict.fromkeys(columns))
    try:
        table = _table(place, names, written)
    except OSError as error:
        error.filename = error.filename or place  # which Arrow leaves out
        if not error.errno:
            raise InputError(f"{place}: cannot be read (not a readable table)") from None
        raise InputError(with_remedies(f"{place}: cannot be read", error)) from None
    except (pa.ArrowException, UnicodeError) as error:
        require_machine(error)
        fault = _fault_of_text(place, written)
        raise InputError(
            fault
            or (
                f"{place}: cannot be read as a table. Name a CSV, Parquet, Excel, Stata or "
                "SPSS file"
            )
        ) from None
    return Microdata(
        tuple(_encode_column(name, table[name], place) for name in names), table.num_rows
    )


def _fault_of_text(place: str, written: Written) -> str | None:
    """Return the fault for which a source of these CSV files would be refused, None without any."""
    dialect = FileDialect(csv=CsvDialect(header=written.header))
    for file in (file for file in _files(place) if format_of(file) == "csv"):
        try:
            READERS["csv"].read(Path(file), file, dialect)
        except InputError as error:
            return f"{error}; {_READS}"
    return None


def _table(place: str, column_names: Sequence[str], written: Written) -> pa.Table:
    files = _files(place)
    for file in files:
        if reason := unreadable(Path(file)):
            raise InputError(f"{place}: {reason}")
    format_, *others = sorted(set(map(format_of, files)))
    if others:
        raise InputError(
            f"{place}: has files of different formats ({', '.join([format_, *others])}). "
            "Name files of one format, such as 'folder/*.csv'"
        )
    types = {**written.of_text, **written.types}
    texts = {name: types[name] for name in column_names if name in types}
    if format_ == "csv":
        return _read_delimited(files, texts, column_names, written, place)
    declared_types = {name: type_ for name, type_ in written.types.items() if name in column_names}
    if format_ != "parquet":
        reader = READERS[format_]
        return read_files(reader, files, column_names, texts if reader.IS_TEXT else declared_types)
    if files == [place]:
        single = pq.ParquetFile(Path(place).absolute())  # `a:b` would be an address to Arrow
        table = single.read(_present(column_names, single.schema_arrow.names, place))
        return _adopt_columns(table, declared_types, place)
    table, folders = _partitions(files, texts, column_names, place)
    inside = {name: type_ for name, type_ in declared_types.items() if name not in folders}
    return _adopt_columns(_parse_columns(table, folders, place), inside, place)


def _partitions(
    files: Sequence[str], texts: Mapping[str, ColumnType], column_names: Sequence[str], place: str
) -> tuple[pa.Table, dict[str, ColumnType]]:
    """Return columns of Parquet files, and the types of those that names of folders give."""
    import pyarrow.dataset as ds  # imports pandas, which a single file can do without

    table = ds.dataset(files, format="parquet", partitioning="hive")
    in_files = next(table.get_fragments()).physical_schema.names
    inferred = table.partitioning.schema
    folders = {n: texts[n] for n in inferred.names if n in texts and n not in in_files}
    if folders:
        fields = [f.with_type(pa.string()) if f.name in folders else f for f in inferred]
        named = ds.partitioning(pa.schema(fields), flavor="hive")
        table = ds.dataset(files, format="parquet", partitioning=named)
    return table.to_table(_present(column_names, table.schema.names, place)), folders


def _present(column_names: Sequence[str], names: Sequence[str], place: str) -> list[str]:
    for name in column_names:
        if list(names).count(name) != 1:
            raise InputError(
                f"{place}: column {name!r} is missing, or occurs several times. Correct the name"
            )
    return list(column_names)


def _files(place: str) -> list[str]:
    """Return the files that a place means, in the order of their names, without hidden ones."""
    if Path(place).is_dir():
        paths = [str(path) for path in Path(place).rglob("*") if path.is_file()]
        visible = [f for f in paths if not _is_hidden(str(Path(f).relative_to(place)))]
    elif glob.has_magic(place) and not Path(place).exists():
        anchor = Path(place).anchor
        matching = Path(anchor).glob(str(Path(place).relative_to(anchor)))
        visible = [str(path) for path in matching if path.is_file() and not _is_hidden(path.name)]
    else:
        return [place]
    if not visible:
        raise InputError(f"{place}: has no file with data. Correct the path")
    return sorted(visible)


def _is_hidden(path: str) -> bool:
    """Return whether writers leave such a file beside the data, as _SUCCESS or .crc files."""
    return any(part.startswith((".", "_")) for part in Path(path).parts)


def _read_delimited(
    files: Sequence[str],
    texts: Mapping[str, ColumnType],
    column_names: Sequence[str],
    written: Written,
    place: str,
) -> pa.Table:
    """Return columns of CSV files; those with a type are parsed as one column each."""
    tables = [_csv(file, texts, column_names, written, place) for file in files]
    if len(files) > 1:
        for file, table in zip(files, tables, strict=True):
            _parse_columns(table, texts, file)  # names the file, and its row, in errors
    whole = pa.concat_tables(tables, promote_options="permissive").select(column_names)
    return _parse_columns(whole, texts, files[0] if len(files) == 1 else place)


def _csv(
    file: str,
    texts: Mapping[str, ColumnType],
    column_names: Sequence[str],
    written: Written,
    place: str,
) -> pa.Table:
    """Return columns of a CSV file, `texts` unchanged, and names without the blanks around them."""
    blank = tuple(f" {null}" for null in written.nulls)
    header = pa.csv.ReadOptions(column_names=written.header)
    with pa.csv.open_csv(file, read_options=header) as beginning:
        names = beginning.schema.names
    _present(column_names, [name.strip() for name in names], place)
    table = pa.csv.read_csv(
        file,
        read_options=header,
        convert_options=pa.csv.ConvertOptions(
            include_columns=[name for name in names if name.strip() in column_names],
            column_types={name: _FIELDS for name in names if name.strip() in texts},
            null_values=["", *written.nulls, *blank],
            strings_can_be_null=True,
        ),
    )
    return table.rename_columns([name.strip() for name in table.column_names])


def _parse_columns(table: pa.Table, types: Mapping[str, ColumnType], file: str) -> pa.Table:
    """Return the table with some columns of text as typed values; `file` names it in errors."""
    for name, type_ in types.items():
        values = table[name]
        values = _text(values) if type_ == "string" else _values(values, type_, file, name)
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text unchanged; bytes that are not UTF-8 stay bytes, which can also be told apart."""
    try:
        return column.cast(_TEXT)
    except pa.ArrowInvalid:
        return column


def _values(column: pa.ChunkedArray, type_: ColumnType, file: str, name: str) -> pa.Array:
    """Return text as values of a type, without the blanks around them."""
    trimmed = convert_distinct(distinct(column), _trim, "not in UTF-8", file, name)
    return parse(trimmed, type_, file, name).array()


def _trim(values: pa.Array) -> pa.Array:
    return pc.utf8_trim(values.cast(pa.string()), characters=" \t")


def _adopt_columns(table: pa.Table, types: Mapping[str, ColumnType], file: str) -> pa.Table:
    """Return the table with some columns as values of types, which must fit those of the file.

    No column keeps the file's own dictionary, which may contain values that no row has.
    """
    for number, name in enumerate(table.column_names):
        values = table[name]
        if name in types:
            values = adopt(values, types[name], file, name).array()
        elif pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        table = table.set_column(number, name, values)
    return table


def _encode_column(name: str, values: pa.ChunkedArray, place: str) -> Column:
    """Return the column in codes, if its values can be compared."""
    try:
        return encode(name, "insensitive", comparable(values))
    except pa.ArrowException as error:
        require_machine(error)
        rule = f"values of type {values.type} have no order"
        raise InputError(f"{place}: column {name!r}: {rule}") from None
