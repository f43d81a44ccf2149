"""Rewritten queries as they are published: read by people, run by DuckDB.

Each file starts with `-- query:` and what was asked. `SFUMATO_GOLDEN=write` writes the files again.
"""

import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tasks.query.answer import answer_on
from tasks.query.bounds import Bounds
from tasks.query.rewrite import rewrite
from tests.query.worlds import CENSUS, with_help

GOLDEN = Path(__file__).with_name("golden")
HEAD = "-- query: "
FILES = sorted(GOLDEN.glob("*.sql"))
NAMES = {
    "all_aggregates",
    "avg_by_sex",
    "count_alone",
    "dates",
    "hyphenated_and_aliased",
    "no_rows",
    "predicate",
    "several_sensitive",
    "two_keys",
}


def _tables():
    generator = np.random.default_rng(11)
    rows = 30
    days = generator.integers(18_000, 18_010, rows).astype("datetime64[D]")
    table = pa.table(
        {
            "age": generator.integers(20, 25, rows),
            "sex": pa.array(generator.choice(["f", "m", None], rows).tolist(), pa.string()),
            "day": pa.array(days),
            "vip": pa.array(generator.random(rows) < 0.5),
            "loss": generator.integers(-9, 10, rows),
            "capital-loss": generator.integers(0, 3000, rows),
            "seen": pa.array(days[::-1]),
            "word": generator.choice(["a", "b", "Z"], rows).tolist(),
            "group_id": np.arange(rows) // 4,
        }
    )
    return with_help(table, "loss", "capital-loss", "seen", "word")


def _query(path):
    head = path.read_text(encoding="utf-8").partition("\n")[0]
    assert head.startswith(HEAD)
    return head.removeprefix(HEAD)


def test_no_file_is_missing():
    assert {path.stem for path in FILES} == NAMES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rewritten_as_before(path):
    query = _query(path)
    text = f"{HEAD}{query}\n{rewrite(query, CENSUS).sql()};\n"
    if os.environ.get("SFUMATO_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_duckdb_returns_the_same_bounds(path):
    tables = _tables()
    answered = answer_on(tables, CENSUS, _query(path))
    expected = [_flat(row, answered.columns) for row in answered.rows]
    with duckdb.connect(":memory:") as connection:
        for name, table in tables.items():
            connection.register(name, table)
        found = connection.execute(path.read_text(encoding="utf-8")).fetchall()
    assert len(found) == len(expected)
    by_text = {_key(row): row for row in found}
    for row in expected:
        for got, wanted in zip(by_text[_key(row)], row, strict=True):
            _same(got, wanted)


def _flat(row, columns):
    flat = []
    for name in columns:
        value = row[name]
        flat += [value.lower, value.upper] if isinstance(value, Bounds) else [value]
    return flat


def _key(row):
    """Numbers differ in type and rounding, so rows are told apart to six digits."""
    return tuple(
        f"{float(v):.6g}" if isinstance(v, int | float | Fraction) else str(v) for v in row
    )


def _same(got, wanted):
    if isinstance(wanted, Fraction | Decimal):
        assert got == pytest.approx(float(wanted), rel=1e-12)
    else:
        assert got == wanted
