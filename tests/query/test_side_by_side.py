"""Aggregates of other rows than WHERE means, in databases: the same bounds as the engine's.

Proportions, and what OR joins, are calculated of several of them. Values may be missing: an
aggregate of them is of the rows that have one.
"""

import random
from functools import cache

import pytest

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.target import target
from tests.query.asked import FORMS, declare, in_form, microdata, on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, comparable
from tests.query.test_exact_in_databases import near_value, sides

QUERIES = (
    "SELECT COUNT(*) FILTER (WHERE loss > 0), COUNT(*) FROM microdata",
    "SELECT SUM(loss) FILTER (WHERE age > 1), SUM(loss) FILTER (WHERE age <= 1) FROM microdata",
    "SELECT COUNT(*) FILTER (WHERE loss > 0) FROM microdata WHERE vip",
    'SELECT "Sex", MAX(loss) FILTER (WHERE vip), COUNT(*) FROM microdata GROUP BY "Sex"',
    'SELECT "Sex", COUNT(loss), SUM(loss), AVG(gain), MIN(seen) FROM microdata GROUP BY 1 '
    "ORDER BY 1",
    'SELECT age, MAX("capital-word"), COUNT(*) FROM microdata GROUP BY age ORDER BY age LIMIT 3',
    "SELECT AVG(gain), MAX(gain), COUNT(flag), AVG(age) FROM microdata WHERE age < 5",
    "SELECT AVG(loss) FROM microdata",
    "SELECT SUM(gain), COUNT(*) FILTER (WHERE gain > 0) FROM microdata WHERE loss < 2",
    "SELECT vip, MIN(loss) FILTER (WHERE \"Sex\" >= 'a') FROM microdata WHERE loss < 2 GROUP BY 1 "
    "ORDER BY 1",
    "SELECT MAX(loss) FILTER (WHERE age > 999), COUNT(*) FILTER (WHERE loss > 999) FROM microdata",
    'SELECT "Sex", COUNT(*) FROM microdata GROUP BY "Sex" HAVING COUNT(*) > 3',
    'SELECT "Sex", COUNT(*) FILTER (WHERE loss > 2), COUNT(*) FROM microdata WHERE gain > 0 '
    "GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY 1",
)
CALCULATED = (
    "SELECT AVG(CASE WHEN loss > 0 THEN 1 ELSE 0 END) FROM microdata WHERE age = 1 OR loss > 2",
    'SELECT "Sex", 100.0 * COUNT(*) FILTER (WHERE gain > 0) / COUNT(*) AS p FROM microdata '
    'WHERE loss > -3 GROUP BY "Sex"',
    'SELECT "Sex", AVG(CASE WHEN loss > 0 THEN -2.5 ELSE 0 END) AS p, '
    "SUM(CASE WHEN loss > 0 THEN 3 ELSE 0 END) FROM microdata WHERE gain > 1 GROUP BY 1 ORDER BY 1",
    "SELECT SUM(gain), COUNT(*), MIN(loss), MAX(seen) FROM microdata WHERE vip OR loss > 2",
    'SELECT "Sex", SUM(loss), COUNT(*), MAX(gain) FROM microdata '
    "WHERE NOT (age > 2 AND loss < 2) GROUP BY 1",
    "SELECT age, COUNT(*) FROM microdata WHERE (vip OR loss > 2) AND (age > 1 OR gain < 0) "
    "GROUP BY age",
    "SELECT SUM(loss), COUNT(*) FILTER (WHERE loss > 1) / NULLIF(COUNT(*), 0) FROM microdata "
    "WHERE age > 99 OR loss > 99",
)


@cache
def questions_of_release(form, sensitive, missing):
    """A release, and each query in each reading: as it is rewritten, and the engine's rows.

    Where both readings are rewritten alike, and have the same rows, there is one.
    """
    declared, questions_found = declare(form, sensitive, missing=missing), {}
    rng = random.Random(f"{form} {sensitive} {missing}")
    tables = in_form(microdata(rng, missing=missing), declared)
    for query in (*QUERIES, *CALCULATED):
        answer = answer_on(tables, declared, query)
        rows = list(zip(sides(answer), answer.certain, strict=True))
        for reading in ("possible", "certain"):
            expected = [row for row, certain in rows if certain or reading == "possible"]
            rewritten = rewrite(query, declared, reading)
            if (rewritten, expected) != questions_found.get((query, "possible")):
                questions_found[query, reading] = rewritten, expected
    return declared, tables, questions_found


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
@pytest.mark.parametrize("missing", [False, True], ids=["values", "nulls"])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_databases_answer_as_the_engine_does(form, sensitive, missing, kind, tmp_path):
    declared, tables, questions = questions_of_release(form, sensitive, missing)
    url = address(kind, tmp_path)
    load(on_disk(tmp_path / "release", tables, declared), url, replace=True)
    compared = 0
    with target(url) as database:
        for (query, reading), (rewritten, expected) in questions.items():
            rows_found = [
                [comparable(value) for value in row]
                for row in database.execute(rewritten.sql(kind))
            ]
            if "ORDER BY" not in query:
                rows_found, expected = (sorted(rows, key=str) for rows in (rows_found, expected))
            assert rows_found == [[near_value(value) for value in row] for row in expected], (
                query,
                reading,
            )
            compared += 1
    assert compared > len(QUERIES) + len(CALCULATED)


def test_a_sum_by_the_number_of_its_values_is_their_mean():
    declared = declare("permuted", "independent", missing=True)
    tables = in_form(microdata(random.Random(1), missing=True), declared)
    query = "SELECT SUM(loss) / COUNT(loss) AS a, AVG(loss) AS b FROM microdata WHERE age < 3"
    (row,) = answer_on(tables, declared, query).rows
    assert row["a"] == row["b"]
    assert row["b"].lower < row["b"].upper


def test_a_column_that_may_be_missing_has_no_help_table():
    declared = declare("permuted", "independent", missing=True)
    tables = in_form(microdata(random.Random(1), missing=True), declared)
    assert list(tables) == ["microdata"]
