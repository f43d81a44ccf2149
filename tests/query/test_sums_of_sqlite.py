"""Sums in SQLite: what floats stand for is rounded outwards, so that bounds hold beyond 2**53."""

import random
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.dialects.sqlite import LARGEST_WHOLE
from sfumato.tasks.sql.target import target
from tests.query.asked import on_disk
from tests.query.worlds import column, declare, with_help

QUERIES = [
    "SELECT SUM(loss) AS s FROM microdata",
    "SELECT SUM(loss) AS s FROM microdata WHERE age < 3",
    "SELECT age, SUM(loss) AS s FROM microdata WHERE age > 1 GROUP BY age",
    "SELECT SUM(loss) AS s FROM microdata WHERE loss > 5",
    "SELECT age, SUM(loss) AS s FROM microdata WHERE loss > -9 AND age < 4 GROUP BY age",
]


def release(values, type_, scale):
    rng = random.Random(len(values))
    declared = declare(
        age=column("quasi-identifier", "integer"),
        loss=column("sensitive", type_, scale=scale),
    )
    table = pa.table(
        {
            "age": [rng.randrange(5) for _ in values],
            "loss": pa.array(values, declared.columns["loss"].arrow_type),
            "group_id": pa.array([n // 4 for n in range(len(values))], pa.int64()),
        }
    )
    return declared, with_help(table, "loss")


def ends(declared, tables, directory):
    """The bounds that SQLite gives, beside exact ones."""
    url = f"sqlite:///{directory}/release.sqlite"
    load(on_disk(directory / "release", tables, declared), url, replace=True)
    with target(url) as database:
        for query in QUERIES:
            rows = {row.get("age"): row["s"] for row in answer_on(tables, declared, query).rows}
            rows_found = database.execute(rewrite(query, declared).sql("sqlite"))
            assert len(rows_found) == len(rows)
            for *key, low, high in rows_found:
                yield rows[key[0] if key else None], low, high


@pytest.mark.parametrize("signs", [[1], [-1], [1, -1]])
def test_sums_of_floats_hold_the_exact_ones(signs, tmp_path):
    rng, apart = random.Random(7), 0
    big = [Decimal(rng.randrange(10**14, 10**15) * rng.choice(signs)) for _ in range(400)]
    declared, tables = release(big, "decimal", 0)
    size = float(sum(map(abs, big)))
    for exact, low, high in ends(declared, tables, tmp_path):
        if exact.lower is None:
            assert low is high is None
            continue
        assert Fraction(low) <= Fraction(exact.lower)
        assert Fraction(exact.upper) <= Fraction(high)
        near = (pytest.approx(float(end), abs=size / 10**9) for end in (exact.lower, exact.upper))
        assert (low, high) == tuple(near)
        apart += Fraction(low) < Fraction(exact.lower) and abs(exact.lower) > LARGEST_WHOLE
    assert apart


def test_whole_numbers_stay_exact(tmp_path):
    rng = random.Random(8)
    values = [rng.randrange(2**53, 2**54) for _ in range(40)]
    declared, tables = release(values, "integer", None)
    for exact, low, high in ends(declared, tables, tmp_path):
        assert (low, high) == (exact.lower, exact.upper)


def test_small_sums_are_as_they_were(tmp_path):
    rng = random.Random(9)
    values = [Decimal(rng.randrange(-900, 900)) / 100 for _ in range(80)]
    declared, tables = release(values, "decimal", 2)
    for exact, low, high in ends(declared, tables, tmp_path):
        assert (low, high) == (pytest.approx(float(exact.lower)), pytest.approx(float(exact.upper)))
