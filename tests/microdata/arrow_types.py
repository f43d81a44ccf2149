"""A column of every Arrow type that Parquet can store."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

ROWS = 60
_DAY = datetime(2020, 1, 1, tzinfo=UTC)
Make = Callable[[int], Any]


def _number(n: int) -> int:
    return n % 40


def _letter(n: int) -> str:
    return "abc"[n % 3]


def _bytes(n: int) -> bytes:
    return bytes([n, n])


def _moment(n: int) -> datetime:
    return _DAY + timedelta(hours=n)


def _day(n: int) -> date:
    return date(2020, 1, 1 + n % 28)


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_UNITS = ("s", "ms", "us", "ns")
_DECIMALS = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 76}
_MADE: Mapping[str, tuple[pa.DataType, Make]] = {
    "null": (pa.null(), lambda _: None),
    "float64, all null": (pa.float64(), lambda _: None),
    "bool": (pa.bool_(), lambda n: n % 2 == 0),
    **{name: (getattr(pa, name)(), _number) for name in _INTEGERS},
    **{name: (getattr(pa, name)(), float) for name in ("float16", "float32", "float64")},
    "float64 with NaN": (pa.float64(), lambda n: n / 2 if n % 7 else float("nan")),
    "float16 with NaN": (pa.float16(), lambda n: n / 2 if n % 7 else float("nan")),
    "float64 with infinity": (pa.float64(), lambda n: n / 2 if n % 7 else float("inf")),
    **{
        name: (getattr(pa, name)(digits, 2), lambda n: Decimal(n) / 4)
        for name, digits in _DECIMALS.items()
    },
    "decimal256 of 60 digits": (pa.decimal256(76, 0), lambda n: Decimal(10**60 + n)),
    **{name: (getattr(pa, name)(), _day) for name in ("date32", "date64")},
    **{f"timestamp {unit}": (pa.timestamp(unit), _moment) for unit in _UNITS},
    **{f"timestamp {u} of a zone": (pa.timestamp(u, "Europe/Rome"), _moment) for u in _UNITS},
    "timestamp of nanoseconds": (pa.timestamp("ns"), lambda n: n + 1),
    **{f"duration {unit}": (pa.duration(unit), _number) for unit in _UNITS},
    "time32": (pa.time32("ms"), _number),
    "time64": (pa.time64("ns"), _number),
    **{name: (getattr(pa, name)(), _bytes) for name in ("binary", "large_binary", "binary_view")},
    "fixed-size binary": (pa.binary(2), _bytes),
    **{name: (getattr(pa, name)(), _letter) for name in ("string", "large_string", "string_view")},
    "list": (pa.list_(pa.int8()), lambda n: [n]),
    "large list": (pa.large_list(pa.int8()), lambda n: [n]),
    "fixed-size list": (pa.list_(pa.int8(), 1), lambda n: [n]),
    "list view": (pa.list_view(pa.int8()), lambda n: [n]),
    "struct": (pa.struct({"a": pa.int8()}), lambda n: {"a": n}),
    "map": (pa.map_(pa.string(), pa.int8()), lambda n: [("a", n)]),
}  # fmt: skip


def _extension(type_: pa.DataType, make: Make) -> pa.Array:
    storage = pa.array([make(n) for n in range(ROWS)], type_.storage_type)
    return pa.ExtensionArray.from_storage(type_, storage)


_OTHERS: Mapping[str, Callable[[], pa.Array]] = {
    "dictionary of texts": lambda: pa.array(map(_letter, range(ROWS))).dictionary_encode(),
    "dictionary of bytes": lambda: pa.array(map(_bytes, range(ROWS))).dictionary_encode(),
    "dictionary of numbers": lambda: pa.array(map(_number, range(ROWS))).dictionary_encode(),
    "uuid": lambda: _extension(pa.uuid(), lambda n: bytes([n] * 16)),
    "json": lambda: _extension(pa.json_(), lambda n: f'{{"a": {n}}}'),
    "bool8": lambda: _extension(pa.bool8(), lambda n: n % 2),
}
NAMES = (*_MADE, *_OTHERS)


def column_of_type(name: str) -> pa.Array:
    """Return a column of an Arrow type."""
    if name in _OTHERS:
        return _OTHERS[name]()
    type_, make = _MADE[name]
    return pa.array([make(n) for n in range(ROWS)], type_)


def people_with(column: pa.Array) -> pa.Table:
    """Return a table about people with a column `extra`."""
    return pa.table(
        {
            "pid": [1000 + n for n in range(ROWS)],
            "age": [20 + n % 40 for n in range(ROWS)],
            "sex": ["mf"[n % 2] for n in range(ROWS)],
            "diagnosis": [("flu", "cold", "gout")[n % 3] for n in range(ROWS)],
            "extra": column,
        }
    )
