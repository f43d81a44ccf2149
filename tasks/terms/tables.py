"""Published tables as files: written canonically, read back strictly, in the form that is declared.

Parquet holds neither Arrow nor pandas metadata, and its dictionaries and statistics are made from
the published values. Equal tables give equal bytes, under one version of PyArrow.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.composed import form_named
from sfumato.tasks.forms.form import Form, Tables
from sfumato.tasks.schema.files import regular
from sfumato.tasks.terms.terms import Declared, Format, Terms

TABLES: Format = "parquet"
"""The format of tables in every release, from which they are read back."""
_ROWS_PER_GROUP = 1 << 20
_FIRST_YEAR, _LAST_YEAR = 1, 9999
FORMULA = r"^[=+\-@\t\r]"
"""The beginnings of texts that a spreadsheet would run."""


def form_of(terms: Terms) -> Form:
    """Return the form that these terms name, with vacant values if versions are composed."""
    if not terms.is_composed:
        return form_named(terms.form.method, composed=False)
    vacant = terms.rows.vacant if isinstance(terms, Declared) else 0
    return form_named(terms.form.method, composed=True, vacant=vacant)


def read_parquet(path: Path) -> pa.Table:
    """Read the table of one Parquet file.

    Not by `pyarrow.parquet.read_table`, which imports pyarrow's data sets and with them pandas:
    a third of the time in which a query starts and is answered.

    Raises:
        OSError: where the file is missing or cannot be read.
        ArrowException: where it is no Parquet file.
    """
    with pq.ParquetFile(regular(path)) as file:
        return file.read()


def schemas(declared: Declared) -> Mapping[str, pa.Schema]:
    """Return the schema of every published table by name; nullable if nulls are a category."""
    return form_of(declared).schemas(declared.columns, declared.form)


def _with_quoted_formulas(table: pa.Table) -> pa.Table:
    """Put a quote before every text that a spreadsheet would run as a formula."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = table[field.name]
            quoted = pc.binary_join_element_wise("'", texts, "")
            starts = pc.match_substring_regex(texts, FORMULA)
            table = table.set_column(index, field, pc.if_else(starts, quoted, texts))
    return table


def has_formulas(tables: Tables) -> bool:
    """Return True if a spreadsheet would run some text as a formula."""
    texts = (
        column
        for table in tables.values()
        for column in table.columns
        if pa.types.is_string(column.type)
    )
    return any(pc.any(pc.match_substring_regex(column, FORMULA)).as_py() for column in texts)


def write_table(table: pa.Table, path: Path) -> None:
    """Write one table; the ending of the path, .parquet or .csv, says how.

    Where a dictionary outgrows its page, the bytes of Parquet depend on how the columns are cut
    into chunks in memory: so each column is one chunk.
    """
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
        return
    pq.write_table(
        table.combine_chunks().replace_schema_metadata(None),
        path,
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=3,
        row_group_size=_ROWS_PER_GROUP,
        store_schema=False,
    )


def write_tables(
    tables: Tables, declared: Declared, directory: Path, formats: Sequence[Format] | None = None
) -> None:
    """Write every published table into `directory`, in all declared formats or those named."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas(declared).items():
        for format_ in declared.formats if formats is None else formats:
            table = tables[name].cast(schema)
            if format_ == "csv" and declared.csv.formulas == "quote":
                table = _with_quoted_formulas(table)
            write_table(table, directory / f"{name}.{format_}")


def read_tables(declared: Declared, directory: Path, format_: Format = TABLES) -> Tables:
    """Read every published table back.

    Raises:
        PromiseError: where a file is missing, is no such table, or its columns, types or nulls are
            not as declared.
    """
    return {
        name: _read(directory / f"{name}.{format_}", schema)
        for name, schema in schemas(declared).items()
    }


def require_declared_tables(declared: Declared, directories: Iterable[Path]) -> None:
    """Refuse tables whose footers have other columns than the manifest.

    Raises:
        PromiseError: where a file is missing, is no such table, or its columns or types are not as
            declared.
    """
    for directory in directories:
        for name, schema in schemas(declared).items():
            path = directory / f"{name}.parquet"
            try:
                footer_schema = pq.read_schema(regular(path))
            except (OSError, pa.ArrowException, ValueError) as error:
                require_machine(error)
                raise PromiseError(f"{path.name}: cannot be read as the declared table") from None
            _require_columns(path, footer_schema, schema)


def _require_columns(path: Path, footer_schema: pa.Schema, schema: pa.Schema) -> None:
    if footer_schema.names != schema.names or footer_schema.types != schema.types:
        raise PromiseError(f"{path.name}: has other columns or types than declared")


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        table = _read_csv(path, schema) if path.suffix == ".csv" else read_parquet(path)
    except FileNotFoundError:
        raise PromiseError(f"{path.name}: is missing") from None
    except (OSError, pa.ArrowException, ValueError) as error:
        require_machine(error)
        raise PromiseError(f"{path.name}: cannot be read as the declared table") from None
    if table.schema.metadata is not None:
        raise PromiseError(f"{path.name}: contains schema metadata")
    _require_columns(path, table.schema, schema)
    for field in schema:
        if table[field.name].null_count and not field.nullable:
            raise PromiseError(f"{path.name}: column {field.name!r} has missing values")
    return table.cast(schema)


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    return pa.csv.read_csv(
        regular(path),
        convert_options=pa.csv.ConvertOptions(
            column_types={field.name: field.type for field in schema},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["true"],
            false_values=["false"],
        ),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
    )


def require_usual_values(tables: Tables) -> None:
    """Refuse values beyond their types: decimals of more than 38 digits, years beyond 1 to 9999.

    Raises:
        PromiseError: naming the table and the column.
    """
    for table_name, table in tables.items():
        for name in table.column_names:
            if not _are_usual(table[name]):
                raise PromiseError(f"{table_name}: column {name!r} has values beyond its type")


def _are_usual(values: pa.ChunkedArray) -> bool:
    try:
        values.validate(full=True)
        if not pa.types.is_temporal(values.type):
            return True
        ends = pc.min_max(pc.year(values))
    except pa.ArrowInvalid:
        return False
    first, last = ends["min"].as_py(), ends["max"].as_py()
    return first is None or _FIRST_YEAR <= first <= last <= _LAST_YEAR
