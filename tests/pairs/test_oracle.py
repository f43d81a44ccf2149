"""The evaluator says what DuckDB says, on complete tables: it is held against another one."""

import random
from decimal import Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

from tests.pairs.asking.constructs import CONSTRUCTS
from tests.pairs.asking.maker import Maker
from tests.pairs.possible.releases import random_release
from tests.pairs.possible.shapes import Shape
from tests.pairs.run import OWN, own_tables
from tests.pairs.semantics.answers import Answers
from tests.pairs.semantics.formulas import Combined


@pytest.mark.parametrize("seed", range(2))
def test_answers_are_those_of_duckdb(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(Combined, "sql", null_by_zero)
    rng = random.Random(seed)
    release = random_release(rng, Shape("permuted"), tmp_path, 12)
    maker, compared = Maker(rng, release, OWN), 0
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, table in {"microdata": original(release), **own_tables()}.items():
            connection.register(name, table)
        for _ in range(100):
            query = maker.query(rng.sample(CONSTRUCTS, 2))
            if query.limit is not None or differs(query.sql()):
                continue
            try:
                rows = connection.execute(query.sql()).fetchall()
            except duckdb.BinderException:  # a text is added up, or CASE is of several types
                continue
            expected = Answers(query, release.rows).in_world(release.worlds.original)
            rows_found = {row[: len(query.keys)]: row[len(query.keys) :] for row in rows}
            rows_kept = {key: row.values for key, row in expected.items() if row.kept}
            assert_same(rows_found, rows_kept, query)
            compared += 1
    assert compared > 60


def null_by_zero(combined):
    """A calculation as SQL, in which what is divided by 0 is null: DuckDB makes it infinite."""
    left_side, right = combined.left.sql(), combined.right.sql()
    right = f"NULLIF({right}, 0)" if combined.sign == "/" else right
    return f"({left_side} {combined.sign} {right})"


def differs(sql):
    """Tell what DuckDB does otherwise: it rounds quantiles of decimals, and reads 1e-400 as 0."""
    return "1e-400" in sql or (any(name in sql for name in ("MEDIAN", "CONT")) and "0.5" in sql)


def original(release):
    """The original rows as a table."""
    rows = [release.rows[place] for place in release.worlds.original]
    columns = release.declared.columns
    return pa.table(
        {
            name: pa.array([_value(row[name], column.type) for row in rows], column.arrow_type)
            for name, column in columns.items()
        }
    )


def _value(value, type_):
    if isinstance(value, Fraction):
        return float(value) if type_ == "float" else Decimal(str(float(value)))
    return Decimal(value) if type_ == "decimal" else value


def assert_same(rows_found, expected, query):
    keys = [{tuple(map(plain, key)) for key in rows} for rows in (rows_found, expected)]
    assert keys[0] == keys[1], query.sql()
    by_key = {tuple(map(plain, key)): values for key, values in expected.items()}
    for key, values in rows_found.items():
        for value, expected_value in zip(values, by_key[tuple(map(plain, key))], strict=True):
            assert plain(value) == pytest.approx(plain(expected_value)), (query.sql(), key)


def plain(value):
    """A value in which all kinds of numbers are alike."""
    numbers = int | float | Decimal | Fraction
    return float(value) if isinstance(value, numbers) and not isinstance(value, bool) else value
