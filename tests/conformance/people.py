"""Tables of people who were never born: columns of every type, awkward texts and missing values."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

TOWNS = (
    ("Alton", "north", "*"),
    ("Bury", "north", "*"),
    ("Cale", "south", "*"),
    ("Dover, the old", "south", "*"),
)
KINDS = (
    ("flu", "breath", "*"),
    ("asthma", "breath", "*"),
    ("burn", "injury", "*"),
    ("cut", "injury", "*"),
    ("none", "none", "*"),
)
PLACES = (
    "Aa",
    "a, b",
    "*",
    "{x}",
    "",
    " led",
    "=1+2",
    'say "no"',
    "Cé\nté",
    "[1]",
    "x or null",
    "𝄞",
)
NOTES = ("plain", "", "-5", "@home", "'", "tab\there", "ende\u0301", "\u202eleft", "NULL", "0x1F")
MOMENTS = tuple(
    datetime.fromisoformat(text)
    for text in ("1969-12-31 23:59:59.999999", "2024-02-29", "2031-01-01")
)
DAYS = (date(1899, 12, 31), date(1970, 1, 1), date(2000, 2, 29), date(2026, 6, 1))
RATES = (0.1, 0.30000000000000004, 1e-7, 1e20, -0.0, 2.5)
DOSES = (0.5, 1.0, 1e-5, 3e8)


def people(rng: Random, rows: int, first: int = 0) -> pa.Table:
    """Return so many people, numbered from `first`; the schema is `SCHEMA`."""
    return people_of([row(rng, first + number) for number in range(rows)])


def people_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a table of these people; the schema is `SCHEMA`."""
    return pa.Table.from_pylist([dict(person) for person in rows], schema=SCHEMA)


def row(rng: Random, number: int) -> dict[str, Any]:
    """Return a person as a value of each column."""
    return {
        "person": f"IDENT-{number}",
        "age": rng.randint(20, 59),
        "town": rng.choice(TOWNS)[0],
        "place": rng.choice([None, *PLACES]),
        "born": date(1960, 1, 1) + timedelta(days=rng.randrange(20_000)),
        "code": f"{rng.choice(['13', '20'])}{rng.randrange(30):03}",
        "size": Decimal(rng.randrange(-50, 300)).scaleb(-2),
        "dose": rng.choice(DOSES),
        "treated": rng.random() < 0.5,
        "seen": rng.choice(MOMENTS),
        "illness": rng.choice(KINDS)[0],
        "note": rng.choice(NOTES),
        "wage": Decimal(rng.randrange(10_000, 99_999)).scaleb(-2),
        "hours": rng.choice([10, 20, 30, 40]),
        "rate": rng.choice(RATES),
        "day": rng.choice(DAYS),
        "moment": rng.choice(MOMENTS),
        "bonus": rng.choice([None, -1, 0, 2**62]),
        "weight": rng.randint(1, 9),
    }


SCHEMA = pa.schema(
    {
        "person": pa.string(),
        "age": pa.int64(),
        "town": pa.string(),
        "place": pa.string(),
        "born": pa.date32(),
        "code": pa.string(),
        "size": pa.decimal128(38, 2),
        "dose": pa.float64(),
        "treated": pa.bool_(),
        "seen": pa.timestamp("us"),
        "illness": pa.string(),
        "note": pa.string(),
        "wage": pa.decimal128(38, 2),
        "hours": pa.int64(),
        "rate": pa.float64(),
        "day": pa.date32(),
        "moment": pa.timestamp("us"),
        "bonus": pa.int64(),
        "weight": pa.int64(),
    }
)
TYPES = {
    "age": "integer",
    "born": "date",
    "size": "decimal",
    "dose": "float",
    "treated": "boolean",
    "seen": "timestamp",
    "wage": "decimal",
    "hours": "integer",
    "rate": "float",
    "day": "date",
    "moment": "timestamp",
    "bonus": "integer",
    "weight": "integer",
}
"""The types of columns that are not texts."""
MISSING = {"place", "bonus"}
"""Columns with missing values."""
