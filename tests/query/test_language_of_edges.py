"""Queries at the edges of the language: what is rare, large, infinite or of no rows."""

from collections import defaultdict

import pyarrow as pa
import pytest

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from tests.query.test_language_of_forms import outside
from tests.query.test_language_of_worlds import AllWorlds
from tests.query.test_matched import FORMS, in_form

EDGES = (
    (
        0,
        "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY loss DESC), "
        "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY age DESC) FROM microdata WHERE age > 0",
    ),
    (
        1,
        "SELECT sex, PERCENTILE_DISC(0.5) WITHIN GROUP "
        "(ORDER BY CASE WHEN age < 2 THEN loss END DESC) FROM microdata GROUP BY sex",
    ),
    (1, "SELECT sex, SUM(1), SUM(-2) FILTER (WHERE loss > 0) FROM microdata GROUP BY sex"),
    (0, "SELECT SUM(1), SUM(2) FROM microdata WHERE age > 5"),
    (0, "SELECT SUM(loss) FROM microdata WHERE (age > 5 OR loss > 5)"),
)


@pytest.fixture(scope="module", params=FORMS, ids=str)
def release(request):
    return AllWorlds(*request.param, 1)


@pytest.mark.parametrize(("keys", "query"), EDGES, ids=range(len(EDGES)))
def test_answers_hold_those_of_every_world(release, keys, query):
    answer, found = answer_on(release.tables, release.declared, query), defaultdict(list)
    for rows in release.answers(query):
        for row in rows:
            found[row[:keys]].append(row[keys:])
    assert outside(answer, found, keys, release.number) == []


def test_a_quantile_from_above_is_one_of_the_values(release):
    query = "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY loss{}) FROM microdata"
    columns = {"age": [1] * 4, "sex": ["f"] * 4, "loss": [1, 2, 3, 4], "gain": [0] * 4}
    tables = in_form(pa.table({**columns, "group_id": [0] * 4}), release.declared)
    found = [
        next(iter(answer_on(tables, release.declared, query.format(order)).rows[0].values())).lower
        for order in ("", " DESC")
    ]
    assert found == [2, 3]


def test_a_sum_of_no_rows_in_any_part_is_null():
    release = AllWorlds("split", "independent", 1)
    query = "SELECT SUM(loss) AS s FROM microdata WHERE age > 5 OR loss > 5"
    (row,) = answer_on(release.tables, release.declared, query).rows
    assert (row["s"].lower, row["s"].may_be_empty) == (None, False)


REFUSED = (
    ("SELECT SUM(loss / 0) FROM microdata", "infinite, or no number"),
    ("SELECT age / 0 AS r, COUNT(*) FROM microdata GROUP BY r", "infinite, or no number"),
    ("SELECT loss / 0 AS r, COUNT(*) FROM microdata GROUP BY r", "infinite, or no number"),
    ("SELECT SUM(loss // 0) FROM microdata", r"undefined in some row.*NULLIF"),
    ("SELECT SUM(loss * 9223372036854775807) FROM microdata", "beyond its type"),
    ("SELECT SUM(age) * 1e300 * 1e300 FROM microdata", "more than the largest float"),
    ("SELECT ROUND(AVG(loss), 1000000000) FROM microdata", "ROUND takes .* 30 at most"),
    ("SELECT ROUND(AVG(loss), 1.5) FROM microdata", "ROUND takes a whole number"),
    ("SELECT QUANTILE_CONT(loss, [0.25, 0.5]) FROM microdata", "takes one number"),
)


@pytest.mark.parametrize(("query", "why"), REFUSED)
def test_what_no_bounds_can_hold_is_refused_in_one_line(release, query, why):
    with pytest.raises(QueryError, match=why) as refused:
        answer_on(release.tables, release.declared, query)
    assert "\n" not in str(refused.value)
