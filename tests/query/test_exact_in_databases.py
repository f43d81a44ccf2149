"""Exact columns of published rows, in databases: the same rows as the engine's, in its order."""

import random
from functools import cache

import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.target import target
from tests.query.asked import FORMS, declare, in_form, microdata, on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, comparable

QUERIES = (
    "SELECT AVG(age), SUM(age), MIN(age), COUNT(DISTINCT age), AVG(loss) FROM microdata",
    'SELECT "Sex", AVG(age), COUNT(DISTINCT age), SUM(loss) FROM microdata GROUP BY "Sex" '
    'ORDER BY "Sex" DESC NULLS FIRST',
    'SELECT "Sex", COUNT(DISTINCT "Sex"), MAX("Sex"), COUNT("Sex") FROM microdata GROUP BY 1 '
    "ORDER BY 1",
    "SELECT COUNT(*) FILTER (WHERE \"Sex\" >= 'a'), AVG(age) FILTER (WHERE age > 40), SUM(loss), "
    "COUNT(*) FROM microdata WHERE vip",
    "SELECT age, COUNT(*) FROM microdata GROUP BY age ORDER BY age DESC LIMIT 3 OFFSET 1",
    'SELECT age, "Sex", COUNT(*) FROM microdata GROUP BY ALL ORDER BY "Sex" LIMIT 4',
    'SELECT "Sex", SUM(loss) FROM microdata WHERE gain > 0 GROUP BY "Sex" ORDER BY 1 DESC',
    "SELECT age // 10 * 10 AS decade, COUNT(*), AVG(loss) FROM microdata GROUP BY 1 ORDER BY 1",
    "SELECT CASE WHEN age < 40 THEN 'young' WHEN age >= 60 THEN 'old' ELSE '' END AS band, "
    "MAX(loss), AVG(age) FROM microdata GROUP BY band",
    "SELECT COALESCE(\"Sex\", '?') AS s, COUNT(*) FROM microdata GROUP BY s",
    "SELECT SUM(age * 2 + 1), MAX(-age), MIN(loss) FROM microdata WHERE age // 10 <> 3",
    "SELECT age + 1 AS y, SUM(CASE WHEN \"Sex\" = 'f' THEN age END) FROM microdata GROUP BY 1 "
    "ORDER BY 1 LIMIT 5",
    "SELECT AVG(age), SUM(age), COUNT(DISTINCT age), COUNT(*) FROM microdata WHERE age > 999",
    'SELECT "Sex", COUNT(*) FROM microdata GROUP BY 1 HAVING AVG(age) > 10 AND SUM(loss) > -9',
)


def sides(answer):
    """The rows of an answer as a table has them, exact answers as both ends."""
    rows_found = []
    for row in answer.rows:
        values = []
        for value in row.values():
            values += [value.lower, value.upper] if isinstance(value, Bounds) else [value]
        rows_found.append([comparable(value) for value in values])
    return rows_found


def near_value(value):
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return pytest.approx(float(value), rel=1e-9) if numeric else value


@cache
def questions_asked(form, sensitive):
    """A release, and each query: as it is rewritten, and the engine's rows."""
    declared = declare(form, sensitive)
    tables = in_form(microdata(random.Random(f"{form} {sensitive}")), declared)
    questions = [
        (query, rewrite(query, declared), sides(answer_on(tables, declared, query)))
        for query in QUERIES
    ]
    return declared, tables, questions


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_databases_answer_as_the_engine_does(form, sensitive, kind, tmp_path):
    declared, tables, questions = questions_asked(form, sensitive)
    url, rows = address(kind, tmp_path), 0
    load(on_disk(tmp_path / "release", tables, declared), url, replace=True)
    with target(url) as database:
        for query, rewritten, expected in questions:
            rows_found = [
                [comparable(value) for value in row]
                for row in database.execute(rewritten.sql(kind))
            ]
            if "ORDER BY" not in query:
                rows_found, expected = (sorted(rows, key=str) for rows in (rows_found, expected))
            assert rows_found == [[near_value(value) for value in row] for row in expected], query
            rows += len(rows_found)
    assert rows > 3 * len(QUERIES)


NOT_WRITTEN = {
    "SELECT AVG(age) FROM microdata WHERE loss > 1": "together with conditions on",
    "SELECT age + 1, COUNT(*) FROM microdata WHERE loss > 1 GROUP BY 1": "together with conditions",
    "SELECT MEDIAN(age) FROM microdata": "MEDIAN/PERCENTILE_CONT of a column",
    'SELECT UPPER("Sex"), COUNT(*) FROM microdata GROUP BY 1': "the function UPPER",
    "SELECT age // 0, COUNT(*) FROM microdata GROUP BY 1": "a divisor that can be 0",
    "SELECT age / 2, COUNT(*) FROM microdata GROUP BY 1": "a calculation with DIV",
    "SELECT CASE WHEN age < 4 THEN 'a' ELSE 'A' END, COUNT(*) FROM microdata GROUP BY 1": "lower",
    "SELECT SUM(loss + 1) FROM microdata": "sensitive values",
    "SELECT SUM(loss), AVG(age) FILTER (WHERE loss > 1) FROM microdata": "together with conditions",
    "SELECT vip, MIN(MIN(age)) OVER () FROM microdata GROUP BY vip": "all rows of the answer",
    "SELECT vip FROM microdata GROUP BY vip HAVING COUNT(*) FILTER (WHERE loss > 1) > 1": "HAVING",
    "SELECT SUM(age * loss) FROM microdata": "a product",
    "SELECT age, AVG(loss) AS a FROM microdata GROUP BY age ORDER BY a": "columns that have bounds",
    'SELECT age FROM microdata GROUP BY age, "Sex" ORDER BY age': "not shown",
    "SELECT age FROM microdata WHERE loss > 1 GROUP BY age LIMIT 1": "may not be in the answer",
    "SELECT age FROM microdata GROUP BY age HAVING COUNT(*) > 2 LIMIT 1": "may not be in",
    "SELECT age FROM microdata GROUP BY age OFFSET 1": "OFFSET without LIMIT",
}


@pytest.mark.parametrize("query", NOT_WRITTEN)
def test_what_databases_cannot_know_is_not_written(query):
    with pytest.raises(
        QueryError, match=f"^the query cannot be written in SQL.*{NOT_WRITTEN[query]}"
    ):
        rewrite(query, declare("permuted", "independent"))
