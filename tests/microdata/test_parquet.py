"""Parquet files: conversions that lose nothing, and refusals of all others."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from tests.microdata.sources import CANARY, column, ingest_parquet, refusal, values

FILE = "people.parquet"
_NOT_UTF8 = pa.array([b"x", None, b"\xff"])
ZONED = dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC)
NOON = ZONED.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("array", "type_", "expected", "arrow"),
    [
        (pa.array([3, None, -1], pa.int8()), "integer", [3, None, -1], pa.int64()),
        (pa.array([3, 2**63 - 1], pa.uint64()), "integer", [3, 2**63 - 1], pa.int64()),
        (pa.array([3, 4], pa.int32()), "decimal", [3, 4], pa.decimal128(38, 0)),
        (pa.array([Decimal("1.50")]), "decimal", [Decimal("1.50")], pa.decimal128(38, 2)),
        (pa.array([Decimal("-7")], pa.decimal256(60, 3)), "decimal", [-7], pa.decimal128(38, 3)),
        (pa.array([1.5, None], pa.float32()), "float", [1.5, None], pa.float64()),
        (pa.array(np.array([1.5], np.float16)), "float", [1.5], pa.float64()),
        (pa.array([1, 2**53], pa.int64()), "float", [1.0, 2.0**53], pa.float64()),
        (pa.array([NOON.date()], pa.date64()), "date", [NOON.date()], pa.date32()),
        (pa.array([NOON], pa.timestamp("ns")), "timestamp", [NOON], pa.timestamp("us")),
        (pa.array([NOON], pa.timestamp("s")), "timestamp", [NOON], pa.timestamp("us")),
        (
            pa.array([ZONED], pa.timestamp("us", "America/New_York")),
            "timestamp",
            [NOON],
            pa.timestamp("us"),
        ),
        (pa.array(["x", None, "y"], pa.large_string()), "string", ["x", None, "y"], pa.string()),
        (pa.array(["x", "y"], pa.string_view()), "string", ["x", "y"], pa.string()),
        (pa.array(["y", "x", None]).dictionary_encode(), "string", ["y", "x", None], pa.string()),
        (pa.array([True, None]), "boolean", [True, None], pa.bool_()),
        (pa.nulls(2), "date", [None, None], pa.date32()),
        (pa.nulls(2), "string", [None, None], pa.string()),
    ],
)
def test_lossless(tmp_path, array, type_, expected, arrow):
    ingested = ingest_parquet(tmp_path, pa.table({"x": array}), {"x": column(type_)})
    assert values(ingested, "x") == expected
    assert ingested.microdata["x"].values.type == arrow


def test_unused_entries_of_a_dictionary_are_no_values(tmp_path):
    indices = pa.array([2, 0, 2], pa.int8())
    array = pa.DictionaryArray.from_arrays(indices, pa.array(["b", "unused", "a"]))
    ingested = ingest_parquet(tmp_path, pa.table({"x": array}), {"x": column()})
    assert ingested.microdata["x"].values.to_pylist() == ["a", "b"]
    assert ingested.microdata["x"].codes.tolist() == [0, 1, 0]


def test_row_groups_with_different_dictionaries(tmp_path):
    texts = ["b", "a", None, "c", "a", "b", "d"]
    numbers = [3, 1, 2, None, 1, 2**53 + 1, 0]
    table = pa.table({"s": texts, "n": numbers})
    columns = {"s": column(), "n": column("integer")}
    ingested = ingest_parquet(tmp_path, table, columns, row_group_size=2)
    assert values(ingested, "s") == texts
    assert values(ingested, "n") == numbers
    columns["n"] = column("float")
    message = refusal(
        lambda: ingest_parquet(tmp_path, table, columns, row_group_size=2), InputError
    )
    assert message.startswith(f"{FILE}: row 6: column 'n': not a float")


@pytest.mark.parametrize(
    ("array", "type_"),
    [
        (pa.array([1.0]), "integer"),
        (pa.array([CANARY]), "integer"),
        (pa.array([1.5]), "decimal"),
        (pa.array([int(CANARY)]), "string"),
        (pa.array([int(CANARY)]), "boolean"),
        (pa.array([NOON]), "date"),
        (pa.array([NOON.date()]), "timestamp"),
        (pa.array([b"x"]), "string"),
        (pa.array([[1, 2]]), "string"),
        (pa.array([{"y": 1}]), "string"),
        (pa.array(["x"]).dictionary_encode(), "boolean"),
    ],
)
def test_types_that_do_not_fit(tmp_path, array, type_):
    table, columns = pa.table({"x": array}), {"x": column(type_)}
    message = refusal(lambda: ingest_parquet(tmp_path, table, columns), InputError)
    assert message.startswith(f"{FILE}: column 'x': the file has values of type ")
    assert message.endswith(f", which cannot be read as type {type_}")


@pytest.mark.parametrize(
    ("array", "type_"),
    [
        (pa.array([0, None, 2**63], pa.uint64()), "integer"),
        (pa.array([0, None, 2**53 + 1]), "float"),
        (pa.array([0, None, float("nan")]), "float"),
        (pa.array([0, None, float("-inf")], pa.float32()), "float"),
        (pa.array([0, None, 10**38], pa.decimal256(50, 0)), "decimal"),
        (pa.array([0, None, 1001], pa.timestamp("ns")), "timestamp"),
        (pa.array([0, None, -(10**15)], pa.timestamp("ms")), "timestamp"),
        (pa.array([0, None, 10**8], pa.date32()), "date"),
        (pa.Array.from_buffers(pa.string(), 3, _NOT_UTF8.buffers()), "string"),
    ],
)
def test_values_that_do_not_fit(tmp_path, array, type_):
    table, columns = pa.table({"x": array}), {"x": column(type_)}
    message = refusal(lambda: ingest_parquet(tmp_path, table, columns), InputError)
    assert message.startswith(f"{FILE}: row 3: column 'x': not a")


@pytest.mark.parametrize("content", [CANARY.encode(), b"PAR1" + CANARY.encode() + b"PAR1"])
def test_no_parquet(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    source = Source(uri=FILE, format="parquet")
    message = refusal(lambda: ingest(source, {"x": column()}, "refuse", tmp_path, {}), InputError)
    assert message == f"{FILE}: cannot be read as Parquet"


def test_damaged_file(tmp_path):
    table = pa.table({"x": [f"{CANARY}{i}" for i in range(1000)]})
    ingest_parquet(tmp_path, table, {"x": column()})
    data = bytearray((tmp_path / FILE).read_bytes())
    data[10:60] = bytes(50)
    (tmp_path / FILE).write_bytes(data)
    source = Source(uri=FILE, format="parquet")
    message = refusal(lambda: ingest(source, {"x": column()}, "refuse", tmp_path, {}), InputError)
    assert message == f"{FILE}: cannot be read as Parquet"


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["x"], "column 'y': is missing"),
        (["x", "y", "z"], "column 3 of 3 is not in the spec"),
        (["x", "y", "x"], "column 3 has the same name as column 1. Give each column its own name"),
    ],
)
def test_wrong_columns(tmp_path, names, rule):
    table = pa.table([pa.array([CANARY])] * len(names), names=names)
    columns = {"x": column(), "y": column()}
    message = refusal(lambda: ingest_parquet(tmp_path, table, columns), InputError)
    assert message == f"{FILE}: {rule}"


@pytest.mark.parametrize(
    ("type_", "arrow"),
    [
        ("string", pa.string()),
        ("string", pa.null()),
        ("integer", pa.int8()),
        ("float", pa.float64()),
        ("decimal", pa.decimal128(6, 2)),
        ("boolean", pa.bool_()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us")),
    ],
)
def test_no_rows(tmp_path, type_, arrow):
    table = pa.table({"x": pa.array([], arrow)})
    message = refusal(lambda: ingest_parquet(tmp_path, table, {"x": column(type_)}), InputError)
    assert message == f"{FILE}: has no rows"


def test_row_groups_of_nulls_alone(tmp_path):
    table = pa.table({"x": pa.nulls(5), "s": ["a"] * 5})
    columns = {"x": column("decimal"), "s": column()}
    ingested = ingest_parquet(tmp_path, table, columns, row_group_size=2)
    assert values(ingested, "x") == [None] * 5
