"""Queries at the edges of the language: what is rare, large, infinite or of no rows."""

import math
from collections import defaultdict
from fractions import Fraction

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.arithmetic import (
    divide,
    divide_by_whole,
    greatest,
    least,
    null_if,
    null_if_whole,
)
from sfumato.tasks.query.bounds.bounds import Bounds
from tests.query.test_language_of_forms import values_outside
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
    (1, "SELECT age, NULLIF(MEDIAN(gain), 0), COUNT(*) / MEDIAN(gain) FROM microdata GROUP BY age"),
    (1, "SELECT age, NULLIF(SUM(loss) / 4, -1), 3 / (SUM(gain) / 2) FROM microdata GROUP BY age"),
    (0, "SELECT COUNT(*) FROM microdata WHERE (loss > 0) = TRUE AND (age > 0) <> (sex = 'f')"),
    (
        0,
        "SELECT SUM(loss) FROM microdata WHERE sex IS DISTINCT FROM 'f' "
        "AND (loss > 0) = (loss < 9)",
    ),
    (0, "SELECT COUNT(*) FROM microdata WHERE loss IS NOT DISTINCT FROM 1 OR age = 0"),
    (0, "SELECT STDDEV(loss), VAR_POP(loss) FROM microdata WHERE age = 1 OR loss > 0"),
    (
        1,
        "SELECT sex, VARIANCE(loss), STDDEV_POP(gain) FROM microdata WHERE age = 1 OR loss > 1 "
        "GROUP BY sex",
    ),
    (0, "SELECT STDDEV(age), VARIANCE(loss) FROM microdata WHERE sex = 'f' OR NOT loss > 0"),
    (1, "SELECT age, 3 / SUM(gain), NULLIF(SUM(gain), 0) FROM microdata GROUP BY age"),
    (0, "SELECT COUNT(-1), COUNT(CASE WHEN loss > 0 THEN -1 END) FROM microdata WHERE age > 0"),
    (0, "SELECT COALESCE(SUM(loss), 1, 2), COALESCE(SUM(loss)) FROM microdata WHERE loss > 9"),
)


@pytest.fixture(scope="module", params=FORMS, ids=str)
def release(request):
    return AllWorlds(*request.param, 1)


def finite(row):
    """A row in which quotients by 0 are null."""
    return tuple(None if value in (math.inf, -math.inf) else value for value in row)


@pytest.mark.parametrize(("keys", "query"), EDGES, ids=range(len(EDGES)))
def test_answers_hold_those_of_every_world(release, keys, query):
    answer, rows_by_key = answer_on(release.tables, release.declared, query), defaultdict(list)
    for rows in release.answers(query):
        for row in rows:
            rows_by_key[row[:keys]].append(finite(row[keys:]))
    assert values_outside(answer, rows_by_key, keys, release.number) == []


def test_a_quantile_from_above_is_one_of_the_values(release):
    query = "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY loss{}) FROM microdata"
    columns = {"age": [1] * 4, "sex": ["f"] * 4, "loss": [1, 2, 3, 4], "gain": [0] * 4}
    tables = in_form(pa.table({**columns, "group_id": [0] * 4}), release.declared)
    values_found = [
        next(iter(answer_on(tables, release.declared, query.format(order)).rows[0].values())).lower
        for order in ("", " DESC")
    ]
    assert values_found == [2, 3]


def test_a_sum_of_no_rows_in_any_part_is_null():
    release = AllWorlds("split", "independent", 1)
    query = "SELECT SUM(loss) AS s FROM microdata WHERE age > 5 OR loss > 5"
    (row,) = answer_on(release.tables, release.declared, query).rows
    assert (row["s"].lower, row["s"].may_be_empty) == (None, False)


def test_an_end_that_is_left_out_is_not_attained():
    open_, single = Bounds(0, 1, may_be_empty=False), Bounds(Fraction(1), Fraction(1))
    assert null_if(open_, single) == Bounds(0, 1, may_be_empty=True, attained=False)
    assert null_if_whole(open_, single) == Bounds(0, 0, may_be_empty=True, attained=False)


def test_the_best_of_what_may_be_null_is_not_attained():
    exact, open_ = Bounds(Fraction(-1, 3), Fraction(-1, 3)), Bounds(-1, -1, may_be_empty=True)
    assert least(exact, open_) == Bounds(-1, Fraction(-1, 3), None, attained=False)
    assert not greatest(open_, exact).attained


def test_only_whole_divisors_are_at_least_one_where_they_are_not_zero():
    single, open_ = Bounds(1, 1), Bounds(0, 2)
    assert divide(single, open_).unbounded
    quotient = divide_by_whole(single, open_)
    assert (quotient.lower, quotient.upper, quotient.may_be_empty) == (Fraction(1, 2), 1, True)


REFUSED = (
    ("SELECT SUM(loss / 0) FROM microdata", "infinite, or not a number"),
    ("SELECT age / 0 AS r, COUNT(*) FROM microdata GROUP BY r", "infinite, or not a number"),
    ("SELECT loss / 0 AS r, COUNT(*) FROM microdata GROUP BY r", "infinite, or not a number"),
    ("SELECT SUM(loss // 0) FROM microdata", r"undefined in some row.*NULLIF"),
    ("SELECT SUM(loss * 9223372036854775807) FROM microdata", "too large for its type"),
    ("SELECT SUM(1e300 * loss) FROM microdata", "has more than 38 digits in some row"),
    ("SELECT SUM(1e-300 * age) FROM microdata", "has more than 38 digits in some row"),
    (
        "SELECT SUM(age) * 1e300 * 1e300 FROM microdata",
        "larger than the largest floating-point number",
    ),
    ("SELECT ROUND(AVG(loss), 1000000000) FROM microdata", "ROUND needs .* at most 30"),
    ("SELECT ROUND(AVG(loss), 1.5) FROM microdata", "ROUND needs a whole number"),
    ("SELECT COUNT(*) FROM microdata WHERE (loss > 0) = (age > 0)", "belong together"),
    ("SELECT QUANTILE_CONT(loss, [0.25, 0.5]) FROM microdata", "needs one number"),
)


@pytest.mark.parametrize(("query", "why"), REFUSED)
def test_what_no_bounds_can_hold_is_refused_in_one_line(release, query, why):
    with pytest.raises(QueryError, match=why) as refused:
        answer_on(release.tables, release.declared, query)
    assert "\n" not in str(refused.value)


OWN = {
    "r": (pa.array([1.5, float("nan")]), "value that is infinite or not a number"),
    "lists": (pa.array([[1], [2]]), "type that queries cannot use"),
    "moments": (
        pa.array([1, 2], pa.timestamp("ns")),
        "a value outside the range of type timestamp",
    ),
    "large": (pa.array([1, 2**63], pa.uint64()), "a value outside the range of type integer"),
}


@pytest.mark.parametrize("name", OWN)
def test_a_column_that_queries_cannot_use_is_named(name):
    release, (column, why) = AllWorlds("permuted", "together", 1), OWN[name]
    own = {name: pa.table({"age": [0, 1], "v": column})}
    query = f"SELECT v, COUNT(*) FROM microdata JOIN {name} USING (age) GROUP BY v"
    with pytest.raises(QueryError, match=f"column 'v'.*{why}"):
        answer_on(release.tables, release.declared, query, own=own)
