"""Ranks and running totals of groups: the answers of all worlds are within the bounds."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.arithmetic import NULL
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.summaries import BoundedNumber, RunningSum, summarize_numbers
from sfumato.tasks.query.inquiries.windows import compare_values, key_values
from sfumato.tasks.query.rewrite import rewrite
from tests.query.test_language_of_forms import FORMS as OTHER_FORMS
from tests.query.test_language_of_forms import by_key, every_world, values_outside
from tests.query.test_language_of_worlds import AllWorlds
from tests.query.test_matched import FORMS

QUERIES = (
    (1, "SELECT age, RANK() OVER (ORDER BY AVG(loss) DESC) AS place FROM microdata GROUP BY age"),
    (1, "SELECT age, ROW_NUMBER() OVER (ORDER BY SUM(loss), age) FROM microdata GROUP BY age"),
    (
        2,
        "SELECT age, sex, COUNT(*), RANK() OVER (PARTITION BY sex ORDER BY MAX(loss) NULLS FIRST, "
        "COUNT(*) DESC) AS r FROM microdata WHERE loss <> 1 GROUP BY age, sex ORDER BY r LIMIT 99",
    ),
    (1, "SELECT loss, RANK() OVER (ORDER BY COUNT(*)) FROM microdata GROUP BY loss"),
    (1, "SELECT loss, ROW_NUMBER() OVER (ORDER BY loss) FROM microdata WHERE age > 0 GROUP BY 1"),
    (1, "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) AS running FROM microdata GROUP BY age"),
    (
        2,
        "SELECT sex, age, SUM(COUNT(*)) OVER (ORDER BY age), SUM(SUM(loss)) OVER (ORDER BY sex) "
        "FROM microdata GROUP BY sex, age",
    ),
    (
        2,
        "SELECT sex, age, SUM(SUM(loss)) OVER (PARTITION BY sex ORDER BY age DESC) "
        "FROM microdata WHERE loss <> 0 GROUP BY sex, age",
    ),
    (
        1,
        "SELECT loss, SUM(COUNT(*)) OVER (ORDER BY loss DESC NULLS LAST), "
        "SUM(AVG(gain)) OVER (ORDER BY loss NULLS FIRST) FROM microdata GROUP BY loss",
    ),
    (
        1,
        "SELECT age, RANK() OVER (ORDER BY share) AS place FROM (SELECT age, SUM(loss) / "
        "NULLIF(SUM(gain), 0) AS share FROM microdata GROUP BY age) ORDER BY place",
    ),
    (1, "SELECT age, RANK() OVER (ORDER BY MIN(sex)) FROM microdata WHERE loss > 0 GROUP BY age"),
)
OF_OTHER_FORMS = (
    (1, "SELECT sex, RANK() OVER (ORDER BY COUNT(*) DESC) FROM microdata GROUP BY sex"),
    (1, "SELECT age, ROW_NUMBER() OVER (ORDER BY COUNT(*)) FROM microdata GROUP BY age"),
    (1, "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) FROM microdata GROUP BY age"),
)


@pytest.fixture(scope="module", params=[(*form, 31) for form in FORMS], ids=str)
def all_worlds(request):
    return AllWorlds(*request.param)


@pytest.fixture(scope="module", params=[(*form, 32) for form in FORMS], ids=str)
def worlds_with_nulls(request):
    return AllWorlds(*request.param, nulls=True)


@pytest.mark.parametrize(("keys", "query"), QUERIES, ids=range(len(QUERIES)))
def test_windows_hold_those_of_every_world(all_worlds, keys, query):
    require_windows(all_worlds, keys, query)


@pytest.mark.parametrize(("keys", "query"), QUERIES, ids=range(len(QUERIES)))
def test_windows_hold_where_values_are_missing(worlds_with_nulls, keys, query):
    require_windows(worlds_with_nulls, keys, query)


def require_windows(all_worlds, keys, query):
    answer = answer_on(all_worlds.tables, all_worlds.declared, query)
    rows_by_key = by_key(all_worlds.answers(query), keys)
    assert answer.rows
    assert values_outside(answer, rows_by_key, keys, all_worlds.number) == []


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_windows_of_other_forms_hold_those_of_every_world(form):
    tables, declared, worlds = OTHER_FORMS[form][0](5)
    every = every_world(itertools.islice(worlds, 300), declared)
    for keys, query in OF_OTHER_FORMS:
        rows_by_key = by_key(every.answers(query), keys)
        answer = answer_on(tables, declared, query)
        assert values_outside(answer, rows_by_key, keys, every.size) == []


def test_windows_over_exact_values_are_exact(all_worlds):
    query = "SELECT age, RANK() OVER (ORDER BY COUNT(*)), SUM(COUNT(*)) OVER (ORDER BY age) "
    answer = answer_on(
        all_worlds.tables, all_worlds.declared, query + "FROM microdata GROUP BY age"
    )
    cells = [cell for row in answer.rows for cell in list(row.values())[1:]]
    assert all(cell.is_exact and cell.attained for cell in cells)


VALUES = (None, 0, 1, 2)
INTERVALS = [
    Bounds(low, high, may_be_empty=empty)
    for low, high in ((0, 0), (0, 1), (1, 1), (1, 2), (0, 2))
    for empty in (False, True)
]
INTERVALS.append(Bounds(None, None))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_outcomes_are_those_of_all_values(descending, nulls_first):
    def place(value):
        if value is None:
            return (0 if nulls_first else 2, 0)
        return (1, -value if descending else value)

    values = key_values(INTERVALS)
    for other_place, other in enumerate(INTERVALS):
        outcomes = compare_values(values, other_place, descending, nulls_first)
        for first_place, first in enumerate(INTERVALS):
            pairs = [
                (place(value), place(value_there))
                for value, value_there in itertools.product(VALUES, repeat=2)
                if value in first and value_there in other
            ]
            assert [
                outcomes.before[first_place],
                outcomes.equal[first_place],
                outcomes.after[first_place],
            ] == [
                any(value < value_there for value, value_there in pairs),
                any(value == value_there for value, value_there in pairs),
                any(value > value_there for value, value_there in pairs),
            ]


NUMBERS = st.builds(
    lambda low, more, guess, sure: BoundedNumber(
        Fraction(low), Fraction(low + more), Fraction(low) + Fraction(more * guess, 4), sure
    ),
    st.integers(-4, 4),
    st.integers(0, 3),
    st.integers(0, 4),
    st.booleans(),
)


@given(st.lists(NUMBERS, max_size=7), st.data())
def test_a_running_sum_is_the_summary_of_its_numbers(numbers, data):
    running = RunningSum()
    assert running.bounds() == NULL
    for place, added in enumerate(numbers):
        running.add(added)
        so_far = numbers[: place + 1]
        assert running.bounds() == summarize_numbers("sum", so_far)
        missing = [n for n, value in enumerate(so_far) if not value.sure]
        if missing:
            there = data.draw(st.sampled_from(missing))
            with_it = [replace(v, sure=True) if n == there else v for n, v in enumerate(so_far)]
            assert running.bounds(so_far[there]) == summarize_numbers("sum", with_it)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT age, NTILE(4) OVER (ORDER BY COUNT(*)) FROM microdata GROUP BY age", "WINDOW"),
        ("SELECT RANK() OVER (ORDER BY age) FROM microdata", "WINDOW"),
        ("SELECT SUM(loss) OVER (ORDER BY age) FROM microdata", "WINDOW"),
        (
            "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age ROWS 2 PRECEDING) FROM microdata "
            "GROUP BY age",
            "WINDOW",
        ),
        (
            "SELECT age, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) FROM microdata GROUP BY age",
            "need columns of GROUP BY",
        ),
        (
            "SELECT age, RANK() OVER (PARTITION BY COUNT(*) ORDER BY age) FROM microdata "
            "GROUP BY age",
            "need columns of GROUP BY",
        ),
        (
            "SELECT age, 2 * RANK() OVER (ORDER BY COUNT(*)) FROM microdata GROUP BY age",
            "WINDOW",
        ),
        (
            "SELECT age, RANK() OVER (ORDER BY COUNT(*)) FROM microdata GROUP BY age "
            "HAVING COUNT(*) > 1",
            "WINDOW",
        ),
        ("SELECT age, SUM(age) OVER (ORDER BY age) FROM microdata GROUP BY age", "aggregate"),
    ],
)
def test_other_windows_are_refused(all_worlds, query, why):
    with pytest.raises(QueryError, match=why):
        answer_on(all_worlds.tables, all_worlds.declared, query)


def test_windows_are_not_written_in_sql_for_databases(all_worlds):
    with pytest.raises(QueryError, match="a rank or a running total"):
        rewrite(QUERIES[0][1], all_worlds.declared)
