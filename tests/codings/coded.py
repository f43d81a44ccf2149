"""Columns to be coded, and their values as Python has them."""

from datetime import date, datetime
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from sfumato.tasks.microdata.codings import code_column
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.schema.codings import CodedColumn

TYPES = {
    "integer": pa.int64(),
    "decimal": pa.decimal128(38, 2),
    "float": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "string": pa.string(),
}
DATES = st.dates(date(1800, 1, 1), date(2200, 12, 31))
VALUES = {
    "integer": st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30),
    "decimal": st.decimals(-(10**12), 10**12, places=2) | st.decimals(-30, 30, places=2),
    "float": st.floats(allow_nan=False).map(lambda number: number + 0.0),  # one zero
    "date": DATES,
    "timestamp": st.datetimes(datetime(1800, 1, 1), datetime(2200, 12, 31)),  # noqa: DTZ001
    "string": st.text(st.sampled_from("aé😀 b"), max_size=6),
}


def rows_of(kind: str, min_size: int = 0) -> st.SearchStrategy[list[Any]]:
    """Values of a kind, some of them missing, many of them equal."""
    few = st.lists(VALUES[kind], min_size=1, max_size=6)
    return few.flatmap(
        lambda values: st.lists(st.sampled_from([*values, None]), min_size=min_size, max_size=25)
    )


def column_of(kind: str, values: list[Any]) -> Column:
    return encode("x", "insensitive", pa.array(values, TYPES[kind]))


def declare_coded(**codings: Any) -> CodedColumn:
    return CodedColumn.model_validate(codings)


def code_values(
    kind: str, values: list[Any], known_codings: Any = None, **codings: Any
) -> list[Any]:
    """The values of a column once it is coded."""
    column, _ = code_column(column_of(kind, values), declare_coded(**codings), known_codings or {})
    dictionary = column.values.to_pylist()
    assert dictionary == sorted(set(dictionary)), "values are distinct and ascend"
    assert len(column.codes) == len(values)
    assert set(column.codes.tolist()) - {-1} == set(range(len(dictionary))), "no value is left over"
    return column.array().to_pylist()
