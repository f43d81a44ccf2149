"""The page's answers against every world: DuckDB answers the same query in each."""

import itertools
import json
from fractions import Fraction

import pytest

from sfumato.tasks.report.page_data import page_data
from tests.query.test_language_of_forms import (
    MOST,
    by_key,
    every_world,
    of_composed,
    of_labels,
    of_marginals,
    of_subdomains,
)
from tests.script.questions import Questions, answer_by_script

pytestmark = pytest.mark.node
CLOSE = 1e-9
QUERIES = 40
FORMS = {
    "labels": of_labels,
    "columns": of_marginals,
    "subdomains": of_subdomains,
    "rows": of_composed,
}


def keys_in(query):
    """Return how many columns a query groups by."""
    _, _, keys = query.partition(" GROUP BY ")
    return len(keys.split(", ")) if keys else 0


def is_within(row, value):
    if value is None:
        return row["lower"] is None or row["empty"]
    if row["lower"] is None:
        return False
    if isinstance(value, bool | str):
        return row["lower"] <= value <= row["upper"]
    low, high = Fraction(row["lower"]), Fraction(row["upper"])
    return low - Fraction(CLOSE) <= Fraction(value) <= high + Fraction(CLOSE)


def excluded_answers(rows, by_world, keys):
    """Return what some world answers and the page excludes."""
    lines = {tuple(row["key"]): row for row in rows}
    named = {key: lines[key] for key in by_world if key in lines}
    missing = [key for key in by_world if key not in lines]
    wrong = [
        (key, value, row["lower"], row["upper"])
        for key, row in named.items()
        for (value,) in by_world[key]
        if not is_within(row, value)
    ]
    return [*missing, *wrong] if keys else wrong


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", FORMS)
def test_no_world_is_outside_of_the_pages_bounds(form, seed):
    tables, declared, worlds = FORMS[form](seed)
    published = {name: t for name, t in tables.items() if not name.startswith("help_")}
    data = page_data(published, declared)
    questions = Questions(data, seed)
    queries = [questions.query() for _ in range(QUERIES)]
    every = every_world(itertools.islice(worlds, MOST), declared)
    answered = 0
    for query, rows in zip(queries, answer_by_script(data, queries), strict=True):
        if isinstance(rows, dict) or any(is_rest(row) for row in rows):
            continue
        keys = keys_in(query)
        assert excluded_answers(rows, by_key(every.answers(query), keys), keys) == [], query
        answered += 1
    assert answered >= QUERIES // 4


def is_rest(row):
    return any(isinstance(value, dict) for value in row["key"])


def test_a_wrong_bound_would_be_found():
    tables, declared, worlds = of_subdomains(1)
    data = page_data({n: t for n, t in tables.items() if not n.startswith("help_")}, declared)
    query = 'SELECT SUM("loss") FROM microdata'
    (rows,) = answer_by_script(data, [query])
    every = every_world(itertools.islice(worlds, MOST), declared)
    by_world = by_key(every.answers(query), 0)
    assert excluded_answers(rows, by_world, 0) == []
    narrow = [{**rows[0], "lower": rows[0]["upper"]}]
    assert excluded_answers(narrow, by_world, 0)


def test_columns_of_the_data_are_those_of_the_declaration():
    tables, declared, _ = of_composed(0)
    document = json.loads(page_data(tables, declared))
    assert [c["name"] for c in document["columns"]] == list(declared.columns)
