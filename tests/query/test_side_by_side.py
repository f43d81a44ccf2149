"""Aggregates of other rows than WHERE means, in databases: the same bounds as the engine's.

So are values that may be missing: an aggregate of them is of the rows that have one.
"""

import random
from itertools import product

import pytest

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.load import load
from sfumato.tasks.query.sql.rewrite import rewrite
from sfumato.tasks.sql.target import target
from tests.query.asked import FORMS, declare, in_form, microdata, on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, comparable
from tests.query.test_exact_in_databases import near, sides

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


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
@pytest.mark.parametrize("missing", [False, True], ids=["values", "nulls"])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_databases_answer_as_the_engine_does(form, sensitive, missing, kind, tmp_path):
    declared = declare(form, sensitive, missing=missing)
    rng = random.Random(f"{form} {sensitive} {missing}")
    tables = in_form(microdata(rng, missing=missing), declared)
    url = address(kind, tmp_path)
    load(on_disk(tmp_path / "release", tables, declared), url, replace=True)
    asked = 0
    with target(url) as database:
        for query, reading in product(QUERIES, ("possible", "certain")):
            answer = answer_on(tables, declared, query)
            rows = zip(sides(answer), answer.certain, strict=True)
            expected = [row for row, certain in rows if certain or reading == "possible"]
            found = [
                [comparable(value) for value in row]
                for row in database.execute(rewrite(query, declared, reading).sql(kind))
            ]
            if "ORDER BY" not in query:
                found, expected = (sorted(of, key=str) for of in (found, expected))
            assert found == [[near(value) for value in row] for row in expected], (query, reading)
            asked += 1
    assert asked == 2 * len(QUERIES)


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
