"""Tables of every type, written and ingested again; CSV and Parquet agree."""

import csv
import datetime as dt
import io
from decimal import Context, Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.table import load, save
from tests.microdata.sources import column, ingest_csv, ingest_parquet

_WIDE = Context(prec=60)
ARROW = {
    "integer": pa.int64(),
    "decimal": pa.decimal128(38, 3),
    "float": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "boolean": pa.bool_(),
    "string": pa.string(),
}
VALUES = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "decimal": st.integers(-(10**35), 10**35).map(lambda i: Decimal(i).scaleb(-3, _WIDE)),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "boolean": st.booleans(),
    "string": st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text != "NULL"),
}


@st.composite
def tables(draw):
    """Columns of some types with nulls, all of one length."""
    types = draw(st.lists(st.sampled_from(list(ARROW)), min_size=1, max_size=5))
    rows = draw(st.integers(1, 12))
    return {f"{type_} {i}": (type_, draw(_columns(type_, rows))) for i, type_ in enumerate(types)}


def _columns(type_, rows):
    few = st.lists(VALUES[type_], min_size=1, max_size=3).flatmap(st.sampled_from)
    return st.lists(st.none() | VALUES[type_] | few, min_size=rows, max_size=rows)


def _text(value):
    if value is None:
        return "NULL"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


def _csv(table, **dialect):
    stream = io.StringIO()
    writer = csv.writer(stream, **dialect)
    writer.writerow(table)
    for row in zip(*(values for _, values in table.values()), strict=True):
        writer.writerow([_text(value) for value in row])
    return stream.getvalue()


def _ingested_csv(directory, table, **dialect):
    columns = {name: column(type_) for name, (type_, _) in table.items()}
    content = _csv(table, **dialect)
    return ingest_csv(directory, content, columns, null_values=["NULL"]).microdata


@given(
    tables(),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_csv(tmp_path_factory, table, quoting, end):
    if any("\r" in str(value) for _, values in table.values() for value in values):
        quoting = csv.QUOTE_ALL  # an unquoted carriage return ends a line
    directory = tmp_path_factory.getbasetemp()
    microdata = _ingested_csv(directory, table, quoting=quoting, lineterminator=end)
    assert microdata.table().to_pydict() == {name: values for name, (_, values) in table.items()}
    for name, (type_, values) in table.items():
        present = sorted(set(values) - {None})
        assert microdata[name].values.to_pylist() == present
        assert microdata[name].values.type.id == ARROW[type_].id
        assert microdata[name].codes.tolist() == [
            -1 if value is None else present.index(value) for value in values
        ]


@given(tables())
def test_csv_and_parquet_agree_and_are_saved_whole(tmp_path_factory, table):
    directory = tmp_path_factory.getbasetemp()
    arrays = {
        name: pa.array(
            [value + 0.0 if type_ == "float" and value is not None else value for value in values],
            ARROW[type_],
        )
        for name, (type_, values) in table.items()
    }
    columns = {name: column(type_) for name, (type_, _) in table.items()}
    parquet = ingest_parquet(directory, pa.table(arrays), columns).microdata
    padded = {
        name: (type_, _pad_decimals(type_, values)) for name, (type_, values) in table.items()
    }
    text = _ingested_csv(directory, padded)
    save(parquet, directory)
    loaded = load(directory)
    for name, (type_, values) in table.items():
        for other in (text, loaded):
            if type_ != "decimal" or set(values) != {None}:
                assert other[name].values.equals(parquet[name].values)
            assert other[name].codes.tolist() == parquet[name].codes.tolist()
            assert other[name].role == parquet[name].role
    assert loaded.rows == parquet.rows == text.rows


def _pad_decimals(type_, values):
    """Decimals with all the decimals of the Arrow type."""
    if type_ != "decimal":
        return values
    unit = Decimal("0.001")
    return [None if v is None else v.quantize(unit, context=_WIDE) for v in values]
