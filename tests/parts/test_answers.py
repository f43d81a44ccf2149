"""A release in parts answers as the same groups do that were published as one table."""

import json
from dataclasses import replace
from functools import partial

import duckdb
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.cli.main import run
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.publication.parts_files import answers_of_parts
from sfumato.tasks.query.ask import answer, answer_on, files_of_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import read_table
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import form_of, schemas
from tests.parts.divided import SPEC, visits

QUERIES = [
    "SELECT COUNT(*), SUM(cost), AVG(cost), MIN(cost), MAX(cost) FROM microdata",
    "SELECT year, COUNT(*), AVG(cost) FROM microdata WHERE age BETWEEN 30 AND 60 GROUP BY year",
    "SELECT town, MIN(cost), MAX(cost) FROM microdata WHERE year < 2022 GROUP BY town",
    "SELECT COUNT(*), SUM(cost), AVG(cost), MIN(cost), MAX(cost), STDDEV(cost) FROM microdata "
    "WHERE age > 40 AND cost BETWEEN 20000 AND 70000",
    "SELECT year, COUNT(*), AVG(cost) FROM microdata WHERE ward = 'a' GROUP BY year",
    "SELECT town, AVG(cost) FROM microdata WHERE age < 50 GROUP BY town "
    "HAVING AVG(cost) > 48000 AND COUNT(*) > 60",
    "SELECT COUNT(*), AVG(cost) FROM microdata WHERE age > 200",
    "SELECT SUM(cost * 2), COUNT(*) FILTER (WHERE cost > 50000) FROM microdata WHERE age > 30",
    "SELECT MEDIAN(cost), SUM(ABS(cost)) / COUNT(*) FROM microdata WHERE age > 40",
    "SELECT ward, COUNT(*) FROM microdata WHERE age > 70 GROUP BY ward ORDER BY ward",
]
FORMS = {
    "permuted": {},
    "split": {"form": {"method": "split"}},
    "anatomy": {
        "promises": [
            {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": name}
            for name in ("ward",)
        ],
        "columns": {
            **SPEC["columns"],
            "cost": {"role": "sensitive", "type": "decimal", "unprotected": "known anyway"},
            "ward": {"role": "sensitive"},
        },
        "partition": {"method": "anatomy"},
        "form": {"method": "split"},
    },
    "generalized": {
        "promises": [{"model": "k-anonymity", "k": 4}],
        "columns": {
            **SPEC["columns"],
            "cost": {"role": "sensitive", "type": "decimal", "unprotected": "known anyway"},
        },
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
    },
    "suppressed": {
        "promises": [{"model": "k-anonymity", "k": 4}],
        "columns": {
            **SPEC["columns"],
            "cost": {"role": "sensitive", "type": "decimal", "unprotected": "known anyway"},
        },
        "partition": {"method": "forest"},
        "form": {"method": "suppressed"},
    },
}

for called, partition, target in [
    ("stratum", "stratum", {"target": "source"}),
    ("exact-qi", "exact-qi", {"target": "source", "per": "table"}),
]:
    FORMS[called] = {
        "columns": {
            name: definition for name, definition in SPEC["columns"].items() if name != "ward"
        },
        "promises": [{"model": "p-privacy", **target}],
        "partition": {"method": partition},
        "form": {"method": "redistributed", "fakes": 0.1},
    }


def as_one(release) -> tuple[Tables, object]:
    """The tables of all parts as one release would publish them, and what it would declare."""
    opened = open_release(release)
    declared = opened.declared.model_copy(update={"parts": None, "made_of": ()})
    files = files_of_tables(opened, [])
    tables = {name: read_table(files[name]) for name in schemas(declared)}
    tables = form_of(declared).canonical(tables)
    return {**tables, **build_help_tables(tables, declared)}, declared


@pytest.mark.parametrize("kind", FORMS)
def test_answers_are_those_of_one_table(published_as, kind):
    release, _ = published_as(kind, FORMS[kind])
    opened = replace(open_release(release), verified=True)
    assert len(opened.declared.made_of) == 6
    tables, declared = as_one(release)
    for query in QUERIES:
        answerers = (partial(answer, opened, query), partial(answer_on, tables, declared, query))
        in_parts, as_table = map(answered_by, answerers)
        assert in_parts == as_table, query


def test_estimates_are_those_of_one_table(release):
    opened = replace(open_release(release), verified=True)
    tables, declared = as_one(release)
    for query in QUERIES:
        answer_found, expected_answer = (
            document(answer(opened, query)),
            document(answer_on(tables, declared, query)),
        )
        for row, expected in zip(answer_found["rows"], expected_answer["rows"], strict=True):
            for name, bounds in row.items():
                if isinstance(bounds, dict) and bounds["estimate"] is not None:
                    assert bounds["estimate"] == pytest.approx(expected[name]["estimate"], rel=1e-9)


def test_the_ready_sql_sees_all_parts(release, monkeypatch):
    monkeypatch.chdir(release)
    with duckdb.connect() as connection:
        connection.execute((release / "sql" / "duckdb.sql").read_text(encoding="utf-8"))
        counts = connection.execute(
            "SELECT COUNT(*), COUNT(DISTINCT group_id), MAX(group_id) FROM microdata"
        ).fetchone()
        helped = connection.execute("SELECT MAX(group_id), COUNT(*) FROM help_cost").fetchone()
    groups = sum(part.groups for part in open_release(release).declared.made_of)
    assert counts == (600, groups, groups - 1)
    assert helped == (groups - 1, 600)


def test_a_database_is_given_one_table(release, tmp_path, capsys):
    database = tmp_path / "all.duckdb"
    assert run(["load", str(release), f"duckdb:///{database}"]) == 0
    query = "SELECT year, COUNT(*), AVG(cost) FROM microdata WHERE age < 60 GROUP BY year"
    capsys.readouterr()
    assert run(["query", str(release), query, "--rewrite", "duckdb"]) == 0
    rewritten = capsys.readouterr().out
    assert run(["query", str(release), query, "--format", "json"]) == 0
    answered = json.loads(capsys.readouterr().out)
    with duckdb.connect(str(database)) as connection:
        rows = connection.sql(rewritten).to_arrow_table().to_pylist()
    expected = [(row["year"], row["COUNT(*)"]["lower"]) for row in answered["rows"]]
    assert sorted((row["year"], row["count(*)_lower"]) for row in rows) == sorted(expected)


def answered_by(ask):
    """Return the answer, estimates apart, or why there is none."""
    try:
        return _without_estimates(document(ask()))
    except QueryError as error:
        return str(error)


def _without_estimates(document):
    rows = [
        {
            name: {k: v for k, v in value.items() if k != "estimate"}
            if isinstance(value, dict)
            else value
            for name, value in row.items()
        }
        for row in document["rows"]
    ]
    return {**document, "rows": rows}


def test_parts_are_disjoint_and_all_rows(release):
    opened = open_release(release)
    table = read_table(files_of_tables(opened, [])["microdata"])
    source = visits().drop_columns(["person"])
    counted = [
        sorted(rows.select(["age", "year", "town"]).to_pylist(), key=str)
        for rows in (table, source)
    ]
    assert counted[0] == counted[1]
    for name in ("cost", "ward"):
        assert sorted(table[name].to_pylist()) == sorted(source[name].to_pylist())
    assert isinstance(table, pa.Table)


def test_parts_are_asked_one_after_another(release, monkeypatch):
    """SQL over all of them is for what codes and group ids do not answer."""

    def refuse_asking(*_arguments):
        raise AssertionError

    for name in ("_bounds_by_help", "_bounds_by_values"):
        monkeypatch.setattr(RowsEngine, name, refuse_asking)
    opened = open_release(release)
    for query in QUERIES:
        if "STDDEV" not in query:
            assert answer(opened, query).columns


@pytest.mark.parametrize("name", FORMS)
def test_the_page_of_the_whole_shows_answers_about_all_parts(published_as, name):
    directory, _ = published_as(name, FORMS[name])
    opened = open_release(directory)
    first = answers_of_parts(directory, opened.declared)
    assert first
    for own in first:
        again = answer(opened, own.question.sql)
        assert [bounds_of(row) for row in own.answer.rows] == list(map(bounds_of, again.rows))
    assert "What it answers" in (directory / "index.html").read_text(encoding="utf-8")


def bounds_of(row):
    return [(cell.lower, cell.upper) for cell in row.values() if isinstance(cell, Bounds)]
