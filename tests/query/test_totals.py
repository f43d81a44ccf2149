"""Shares of totals, queries among values, functions of aggregates, groups in FROM: all worlds."""

from collections import defaultdict
from fractions import Fraction
from itertools import islice

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.arithmetic import (
    greatest,
    least,
    root,
    round_down,
    round_up,
    to_whole,
)
from sfumato.tasks.query.bounds.bounds import Bounds
from tests.query.test_language_of_forms import FORMS as OTHER_FORMS
from tests.query.test_language_of_forms import by_key, every_world, values_outside
from tests.query.test_language_of_worlds import AllWorlds, ends, extremes
from tests.query.test_matched import FORMS

EXACT = (  # that some world comes to each end is said, and so
    (1, "SELECT sex, SUM(loss) / SUM(SUM(loss)) OVER () AS part FROM microdata GROUP BY sex"),
    (1, "SELECT age, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM microdata GROUP BY age"),
    (1, "SELECT loss, COUNT(*) / (SELECT COUNT(*) FROM microdata) FROM microdata GROUP BY loss"),
    (
        1,
        "SELECT sex, COUNT(*) FILTER (WHERE loss > 0) * 1.0 / (SELECT COUNT(*) FROM microdata) "
        "FROM microdata GROUP BY sex",
    ),
    (0, "SELECT FLOOR(AVG(loss)), CEIL(AVG(loss)) FROM microdata WHERE age > 0"),
    (0, "SELECT GREATEST(SUM(loss), 1), LEAST(MAX(loss), 1) FROM microdata WHERE age > 0"),
    (0, "SELECT SQRT(SUM(gain)) FROM microdata WHERE age > 0"),
    (0, "SELECT SUM(loss - 5 * age), AVG(2 * (loss - age) + 1) FROM microdata WHERE age > 0"),
    (1, "SELECT age, SUM(-(age - loss) / 2) FROM microdata GROUP BY age"),
    (
        1,
        "WITH g AS (SELECT age, SUM(loss) AS l FROM microdata GROUP BY age) "
        "SELECT * FROM g ORDER BY age DESC",
    ),
    (
        1,
        "SELECT t.y, t.l * 2 FROM (SELECT age + 1 AS y, SUM(loss) AS l, COUNT(*) AS n FROM "
        "microdata GROUP BY 1) t WHERE t.n > 1 AND t.y > 1 ORDER BY t.y",
    ),
)
BOUNDED = (
    (
        2,
        "SELECT sex, loss, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY sex) AS share "
        "FROM microdata GROUP BY sex, loss",
    ),
    (
        2,
        "SELECT sex, age, SUM(SUM(loss)) OVER (PARTITION BY sex), MAX(loss) - MIN(MIN(loss)) OVER "
        "(PARTITION BY age, sex), COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY age) AS part "
        "FROM microdata WHERE loss <> 1 GROUP BY sex, age",
    ),
    (
        2,
        "SELECT sex, age, COUNT(*) FILTER (WHERE loss > 0) * 1.0 / SUM(COUNT(*)) OVER "
        "(PARTITION BY sex) FROM microdata WHERE loss > 0 OR age > 0 GROUP BY sex, age",
    ),
    (
        1,
        "SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () AS part FROM microdata WHERE loss > 0 "
        "GROUP BY sex",
    ),
    (1, "SELECT sex, SUM(loss - age) AS s FROM microdata WHERE gain > 0 GROUP BY sex"),
    (0, "SELECT CAST(AVG(loss) AS INTEGER), CAST(SUM(loss) / 2 AS BIGINT) FROM microdata"),
    (1, "SELECT age, GREATEST(MAX(loss), MIN(gain)) FROM microdata WHERE loss > 0 GROUP BY age"),
    (1, "SELECT age, LEAST(MAX(loss), 1) FROM microdata WHERE loss > 0 GROUP BY age"),
    (
        1,
        "SELECT sex, MAX(loss) - (SELECT AVG(loss) FROM microdata WHERE age > 0) FROM microdata "
        "GROUP BY sex HAVING MAX(loss) > (SELECT MIN(loss) FROM microdata)",
    ),
    (
        1,
        "WITH w AS (SELECT age AS a, loss AS l FROM microdata WHERE loss <> 1), "
        "g AS (SELECT a, COUNT(*) AS n FROM w GROUP BY a HAVING n > 1) "
        "SELECT a, n * 1.0 / (SELECT COUNT(*) FROM microdata WHERE age >= 1) FROM g WHERE a >= 0",
    ),
    (
        1,
        "SELECT a, n / SUM(n) OVER () FROM (SELECT age AS a, COUNT(*) AS n FROM microdata "
        "WHERE loss > 0 GROUP BY ALL) ORDER BY 1",
    ),
)


@pytest.fixture(scope="module", params=[(*form, 11) for form in FORMS], ids=str)
def all_worlds(request):
    return AllWorlds(*request.param)


@pytest.mark.parametrize(("keys", "query"), [*EXACT, *BOUNDED])
def test_answers_hold_those_of_every_world(all_worlds, keys, query):
    rows_by_key, answer = (
        defaultdict(list),
        answer_on(all_worlds.tables, all_worlds.declared, query),
    )
    for rows in all_worlds.answers(query):
        for row in rows:
            rows_by_key[row[:keys]].append(row[keys:])
    assert answer.rows
    assert values_outside(answer, rows_by_key, keys, all_worlds.number) == []
    for row in answer.rows:
        key, bounds = tuple(row.values())[:keys], tuple(row.values())[keys:]
        always = len(rows_by_key[key]) == all_worlds.number
        for place, bounds_of_value in enumerate(bounds):
            assert bounds_of_value.attained or (keys, query) in BOUNDED
            if bounds_of_value.attained and bounds_of_value.lower is not None and always:
                near = pytest.approx(extremes(bounds_of_value, rows_by_key[key], place, always))
                assert ends(bounds_of_value, always) == near


COUNTS = (
    (1, "SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () AS part FROM microdata GROUP BY sex"),
    (
        2,
        "SELECT sex, age, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY sex) AS part FROM microdata "
        "GROUP BY sex, age",
    ),
    (
        1,
        "SELECT sex, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM microdata) FROM microdata "
        "WHERE loss > 0 GROUP BY sex",
    ),
    (0, "SELECT FLOOR(SQRT(COUNT(*))), LEAST(COUNT(*), 2) FROM microdata WHERE age = 1"),
    (1, "SELECT * FROM (SELECT sex AS s, COUNT(*) AS n FROM microdata GROUP BY 1) t WHERE n < 9"),
)


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_answers_on_other_forms_hold_those_of_every_world(form):
    tables, declared, worlds = OTHER_FORMS[form][0](3)
    every = every_world(islice(worlds, 200), declared)
    answers = [answer_on(tables, declared, query) for _, query in COUNTS]
    for answer, (keys, query) in zip(answers, COUNTS, strict=True):
        rows_by_key = by_key(every.answers(query), keys)
        assert values_outside(answer, rows_by_key, keys, every.size) == [], query
    assert all(row["part"].upper <= 1 for row in answers[0].rows)


REFUSED = (
    ("SELECT COUNT(*) OVER () FROM microdata", "a WINDOW function"),
    ("SELECT SUM(COUNT(*)) OVER (ORDER BY age) FROM microdata GROUP BY sex", "ORDER BY needs"),
    (
        "SELECT loss, SUM(COUNT(*)) OVER (PARTITION BY loss) FROM microdata GROUP BY loss",
        "PARTITION BY of a total needs columns of GROUP BY",
    ),
    (
        "SELECT sex, SUM(COUNT(*)) OVER (PARTITION BY age) FROM microdata GROUP BY sex",
        "PARTITION BY of a total needs columns of GROUP BY",
    ),
    (
        "SELECT sex, SUM(COUNT(*)) OVER (PARTITION BY sex ROWS 1 PRECEDING) FROM microdata "
        "GROUP BY sex",
        "a WINDOW function",
    ),
    ("SELECT SUM(AVG(loss)) OVER () FROM microdata GROUP BY sex", "a WINDOW function"),
    (
        "SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () FROM microdata GROUP BY sex "
        "HAVING COUNT(*) > 1",
        "together with HAVING",
    ),
    ("SELECT COUNT(*) / (SELECT age FROM microdata) FROM microdata", "SUBQUERY"),
    ("SELECT COUNT(*) / (SELECT COUNT(*) FROM microdata GROUP BY sex) FROM microdata", "GROUP"),
    ("SELECT COUNT(*) / (SELECT COUNT(*) FROM other) FROM microdata", "FROM names another table"),
    ("SELECT COUNT(*) / (SELECT COUNT(*) FROM microdata WHERE x = 1) FROM microdata", "unknown"),
    ("SELECT COUNT(*) FROM microdata WHERE age > (SELECT AVG(age) FROM microdata)", "SUBQUERY"),
    ("SELECT SQRT(MIN(loss)) FROM microdata WHERE age < 9", "may be negative"),
    ("SELECT -AVG(n) FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY age)", "one question"),
    ("SELECT ags FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY age)", "mean 'age'"),
    ("SELECT o.n FROM (SELECT COUNT(*) AS n FROM microdata) t", "unknown table 'o'"),
    ("SELECT FLOOR(AVG(loss), 1) FROM microdata", "not allowed|parsed"),
)


@pytest.mark.parametrize(("query", "why"), REFUSED)
def test_what_has_no_total_is_refused(query, why):
    worlds_known = AllWorlds("permuted", "independent", 1)
    table = worlds_known.table.set_column(2, "loss", pa.array([-1] * worlds_known.table.num_rows))
    with pytest.raises(QueryError, match=why):
        answer_on({**worlds_known.tables, "microdata": table}, worlds_known.declared, query)


def test_nulls_are_not_taken_apart():
    """A row whose sex is null has no sum: columns that can be null stay together."""
    worlds_known = AllWorlds("split", "independent", 2)
    with pytest.raises(QueryError, match="belong together"):
        answer_on(
            worlds_known.tables,
            worlds_known.declared,
            "SELECT SUM(loss - LENGTH(sex)) FROM microdata",
        )


def test_ends_go_where_the_function_takes_them():
    half = Bounds(Fraction(1, 2), Fraction(5, 2), Fraction(3, 2))
    assert (round_down(half).lower, round_down(half).upper) == (0, 2)
    assert (round_up(half).lower, round_up(half).upper) == (1, 3)
    assert (to_whole(half).lower, to_whole(half).upper, to_whole(half).attained) == (0, 3, False)
    assert root(Bounds(4, 9)) == Bounds(2, 3)
    assert root(Bounds(2, 2)).lower < root(Bounds(2, 2)).upper


def test_nulls_are_left_out_of_the_greatest_and_the_least():
    open_, sure, none = Bounds(0, 9, may_be_empty=True), Bounds(3, 4), Bounds(None, None)
    assert greatest(open_, sure) == Bounds(3, 9, attained=False)
    assert least(open_, sure) == Bounds(0, 4, attained=False)
    assert greatest(open_, open_) == Bounds(0, 9, may_be_empty=True, attained=False)
    assert greatest(none, sure) == sure
    assert least(none, none) == none
