"""The page of two related tables: the answers that it shows before anybody asks."""

import re

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
