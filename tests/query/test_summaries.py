"""Aggregates of groups: the answers of all worlds are within the bounds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.inquiries.summaries import BoundedNumber, summarize_numbers
from sfumato.tasks.query.rewrite import rewrite
from tests.query.test_language_of_forms import FORMS as OTHER_FORMS
from tests.query.test_language_of_forms import every_world
from tests.query.test_language_of_worlds import AllWorlds, holds
from tests.query.test_matched import FORMS

QUERIES = (
    "SELECT AVG(n) FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY age)",
    "SELECT COUNT(*), SUM(n), AVG(n), MIN(n), MAX(n) FROM (SELECT age, sex, COUNT(*) AS n "
    "FROM microdata WHERE loss > 0 GROUP BY age, sex)",
    "SELECT COUNT(*) FROM (SELECT loss FROM microdata GROUP BY loss HAVING COUNT(*) > 1) t",
    "WITH g AS (SELECT age, AVG(loss) AS mean, COUNT(*) AS n FROM microdata GROUP BY age) "
    "SELECT COUNT(mean), AVG(g.mean) AS middle, MIN(mean), MAX(mean) FROM g WHERE n > 1",
    "SELECT SUM(s), COUNT(s), AVG(s), MIN(s), MAX(s) FROM (SELECT sex, age, SUM(loss) "
    "FILTER (WHERE loss < 1) AS s FROM microdata WHERE loss <> 1 GROUP BY ALL)",
    "SELECT SUM(l), AVG(l), MIN(l), MAX(l), COUNT(l) FROM (SELECT loss AS l, COUNT(*) AS n "
    "FROM microdata WHERE age > 0 GROUP BY loss) WHERE n > 1",
    "SELECT SUM(r), MAX(r) FROM (SELECT age, SUM(loss) / NULLIF(SUM(gain), 0) AS r FROM microdata "
    "GROUP BY age)",
    "SELECT COUNT(*), MAX(n) FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY ROLLUP (age))",
    "SELECT MIN(s), SUM(s) FROM (SELECT SUM(loss) AS s FROM microdata WHERE loss > 1)",
    "SELECT SUM(n), AVG(n) FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY age) "
    "WHERE n > 99",
)


@pytest.fixture(scope="module", params=[(*form, 21) for form in FORMS], ids=str)
def all_worlds(request):
    return AllWorlds(*request.param)


@pytest.fixture(scope="module", params=[(*form, 22) for form in FORMS], ids=str)
def worlds_with_nulls(request):
    return AllWorlds(*request.param, nulls=True)


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_summaries_hold_those_of_every_world(all_worlds, query):
    require_summaries(all_worlds, query)


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_summaries_hold_where_values_are_missing(worlds_with_nulls, query):
    require_summaries(worlds_with_nulls, query)


def require_summaries(all_worlds, query):
    answer = answer_on(all_worlds.tables, all_worlds.declared, query)
    (row,) = answer.rows
    assert answer.certain == (True,)
    for rows in all_worlds.answers(query):
        (values,) = rows
        assert all(map(holds, row.values(), map(plain, values))), (values, row)


def plain(value):
    return None if value is None else float(value)


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_summaries_of_other_forms_hold_those_of_every_world(form):
    tables, declared, worlds = OTHER_FORMS[form][0](3)
    query = "SELECT COUNT(*), SUM(n), MIN(n), MAX(n), AVG(n) FROM (SELECT sex, COUNT(*) AS n "
    query += "FROM microdata GROUP BY sex)"
    (row,) = answer_on(tables, declared, query).rows
    for (values,) in every_world(worlds, declared).answers(query):
        assert all(map(holds, row.values(), map(plain, values)))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["sum", "avg", "min", "max"])
def test_bounds_are_the_extremes_over_all_choices(name, seed):
    function = {"sum": sum, "min": min, "max": max, "avg": lambda v: Fraction(sum(v), len(v))}[name]
    generator = np.random.default_rng(seed)
    numbers = []
    for _ in range(int(generator.integers(1, 6))):
        low, high = sorted(int(v) for v in generator.integers(-4, 5, 2))
        sure = bool(generator.random() < 0.5)
        numbers.append(BoundedNumber(Fraction(low), Fraction(high), Fraction(low), sure))
    choices = [[(n.low,), (n.high,)] if n.sure else [(n.low,), (n.high,), ()] for n in numbers]
    values = [list(itertools.chain(*choice)) for choice in itertools.product(*choices)]
    results = [function(chosen) for chosen in values if chosen]
    bounds = summarize_numbers(name, numbers)
    assert (bounds.lower, bounds.upper) == (min(results), max(results))
    assert bounds.may_be_empty == any(not chosen for chosen in values)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT SUM(2 * n) FROM (SELECT COUNT(*) AS n FROM microdata)", "give the result a name"),
        ("SELECT SUM(t.m) FROM (SELECT COUNT(*) AS n FROM microdata) AS t", "unknown column"),
        ("SELECT SUM(u.n) FROM (SELECT COUNT(*) AS n FROM microdata) AS t", "unknown table"),
        ("SELECT SUM(s) FROM (SELECT sex AS s FROM microdata GROUP BY 1)", "needs numbers"),
        ("SELECT COUNT(DISTINCT n) FROM (SELECT COUNT(*) AS n FROM microdata)", "a calculation"),
        ("SELECT 1 + SUM(n) FROM (SELECT COUNT(*) AS n FROM microdata)", "cannot aggregate"),
        (
            "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM microdata) UNION ALL "
            "SELECT COUNT(*) FROM microdata",
            "in a query of its own",
        ),
    ],
)
def test_other_aggregates_of_groups_are_refused(all_worlds, query, why):
    with pytest.raises(QueryError, match=why):
        answer_on(all_worlds.tables, all_worlds.declared, query)


def test_summaries_are_not_written_in_sql_for_databases(all_worlds):
    with pytest.raises(QueryError, match="asks several questions"):
        rewrite(QUERIES[0], all_worlds.declared)
