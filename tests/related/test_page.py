"""The page of two related tables, and ready SQL beside it: answers before anybody asks."""

import re
from pathlib import Path

import duckdb
import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.first_answers import first_answers
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.flow_here import release_here
from tests.related.hospital import made_up, patients, spec_with, stays


@pytest.fixture(autouse=True)
def _work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def captions_of(directory):
    page = (directory / "index.html").read_text(encoding="utf-8")
    return re.findall(r"<caption>((?:Average|Number) of .*?)</caption>", page)


def ends(answer):
    return [
        [(cell.lower, cell.upper) for cell in row.values() if isinstance(cell, Bounds)]
        for row in answer.rows
    ]


def test_rows_are_counted_alone_and_beside_their_people(tmp_path):
    directory = release_here(spec_with(tmp_path, made_up(1, 60)))
    assert captions_of(directory) == [
        "Number of rows of <code>stays</code> by <code>diagnosis</code>",
        "Average of <code>cost</code> by <code>sex</code>",
        "Number of people with rows of <code>stays</code> by <code>sex</code>",
    ]
    page = (directory / "index.html").read_text(encoding="utf-8")
    assert "Each row of <code>patients</code> is about another person." in page
    check(directory)


def test_without_numbers_rows_are_counted_beside_their_people(tmp_path):
    columns = {**stays()["columns"], "cost": {"role": "drop"}}
    tables = {"patients": patients(), "stays": stays(columns=columns)}
    directory = release_here(spec_with(tmp_path, made_up(1, 60), tables=tables))
    assert captions_of(directory)[1] == "Number of rows of <code>stays</code> by <code>sex</code>"
    check(directory)


def test_they_are_the_answers_that_the_command_gives(tmp_path):
    release = open_release(release_here(spec_with(tmp_path, made_up(2, 60))))
    tables = read_tables(release.declared, release.directory / "data")
    first = first_answers(release.declared, tables)
    again = answers(release, [first_answer.question.sql for first_answer in first])
    assert [ends(first_answer.answer) for first_answer in first] == list(map(ends, again))
    assert len(first) == 3


def run_ready_sql(directory, monkeypatch):
    """The rows of each query in a release's ready SQL, run in the release's directory."""
    monkeypatch.chdir(directory)
    with duckdb.connect() as connection:
        text = Path("sql/duckdb.sql").read_text(encoding="utf-8")
        statements = duckdb.extract_statements(text)
        answers_in_sql = [connection.execute(statement).fetchall() for statement in statements]
    return text, [rows for rows in answers_in_sql if rows]


def test_ready_sql_gives_the_bounds_of_the_command(tmp_path, monkeypatch):
    directory = release_here(spec_with(tmp_path, made_up(3, 60)))
    queries = [
        'SELECT COUNT(*), COUNT(DISTINCT "patient") FROM patients JOIN stays USING ("patient")',
        'SELECT "age", COUNT(*), COUNT(DISTINCT "patient") FROM patients JOIN stays USING '
        '("patient") GROUP BY "age"',
    ]
    text, (_, *answers_in_sql) = run_ready_sql(directory, monkeypatch)
    for query, rows in zip(queries, answers_in_sql, strict=True):
        assert f"-- Bounds for: {query}\n" in text
        (answer,) = answers(open_release(directory), [query])
        expected = [
            [*keys, *(end for cell in cells for end in (cell.lower, cell.upper))]
            for row in answer.rows
            for keys, cells in [split_row(row)]
        ]
        assert sorted(map(list, rows)) == sorted(expected)


def split_row(row):
    bounds = [cell for cell in row.values() if isinstance(cell, Bounds)]
    return [cell for cell in row.values() if not isinstance(cell, Bounds)], bounds


def test_a_table_with_a_name_of_a_part_has_no_queries_for_bounds(tmp_path, monkeypatch):
    tables = {"selected": patients(), "stays": stays(of="selected")}
    directory = release_here(spec_with(tmp_path, made_up(3, 60), tables=tables))
    text, _ = run_ready_sql(directory, monkeypatch)
    assert "Bounds for" not in text
    check(directory)
