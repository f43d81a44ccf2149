"""Rewritten queries word for word, and run by DuckDB as an analyst would run them."""

import datetime
from decimal import Decimal
from numbers import Real
from pathlib import Path

import pyarrow as pa
import pytest
import sqlglot

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.question.question import GroupColumn
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import fetch, session
from tests.query.worlds import CENSUS, with_help

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.sql"))
ELSEWHERE = sorted(Path(__file__).with_name("golden").glob("*/*.sql"))
ROWS = 24
TABLE = pa.table(
    {
        "age": [20 + 2 * i for i in range(ROWS)],
        "sex": [("f", "m", "it's", None)[i % 4] for i in range(ROWS)],
        "day": [datetime.date(2020, 1, 1 + i % 9) for i in range(ROWS)],
        "vip": [i % 3 == 0 for i in range(ROWS)],
        "loss": [(i * 7) % 11 - 3 for i in range(ROWS)],
        "capital-loss": [1000 - (i * i) % 17 for i in range(ROWS)],
        "seen": [datetime.date(2021, 1, 1 + (i * 5) % 28) for i in range(ROWS)],
        "word": [("b", "ä", "a")[i % 3] for i in range(ROWS)],
        "group_id": [i % 5 for i in range(ROWS)],
    }
)
TABLES = with_help(TABLE, "loss", "capital-loss", "seen", "word")


def read(path: Path) -> tuple[str, str]:
    header, _, expected = path.read_text(encoding="utf-8").partition("\n")
    return header.removeprefix("-- query: "), expected


def flat(question, row):
    """A row of an answer as the rewritten query returns it."""
    for item in question.shown:
        if isinstance(item, GroupColumn):
            yield row[item.label]
        else:
            yield from (row[item.label].lower, row[item.label].upper)


def number(value):
    """A number to twelve digits: `test_outward` holds the last ones against exact bounds."""
    return float(f"{float(value):.12g}") if isinstance(value, Real | Decimal) else value


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_queries_are_rewritten_as_reviewed(path):
    query, expected = read(path)
    assert rewrite(query, CENSUS).sql() + "\n" == expected


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_rewritten_text_gives_the_bounds(path):
    query, expected = read(path)
    with session(TABLES) as connection:
        returned = fetch(connection, sqlglot.parse_one(expected, read="duckdb"))
    question = read_question(query, CENSUS)
    answered = [
        [number(v) for v in flat(question, r)] for r in answer_on(TABLES, CENSUS, query).rows
    ]
    assert answered
    assert sorted(map(repr, answered)) == sorted(repr([number(v) for v in row]) for row in returned)


@pytest.mark.parametrize("path", ELSEWHERE, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_queries_are_written_for_other_databases_as_reviewed(path):
    query, expected = read(path)
    assert rewrite(query, CENSUS).sql(path.parent.name) + "\n" == expected


def test_there_are_golden_files():
    assert len(GOLDEN) >= 15
    assert {path.parent.name for path in ELSEWHERE} == {"postgres", "sqlite", "mariadb"}
