"""Laws of composed releases: of choices among rows, of versions that nobody left, of truths."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import QueryError
from sfumato.expectations.shared.exact import exact
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.ask import answer_on, ask, engine
from sfumato.tasks.query.bounds.extremes import CountedValues
from sfumato.tasks.query.engines.attendance import FullAttendance, PartialAttendance, PossibleRows
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import fetch, session
from tests.query import asked
from tests.query.composed import as_composed, publish_composed, random_columns
from tests.query.test_composed_databases import release
from tests.query.test_recoded_truth import is_inside
from tests.query.worlds import aggregate, column, declare, shape

VALUES = np.arange(-2, 3)
MEANT = st.sampled_from(["surely", "maybe", "no"])
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, len(VALUES) - 1), MEANT), min_size=1, max_size=6
)


def chosen_sets(rows, live):
    """The codes that count in every world: of each class so many rows are people's."""
    of_classes = [
        itertools.combinations([row for row in rows if row[0] == number], people)
        for number, people in enumerate(live)
    ]
    for people in itertools.product(*of_classes):
        ways = [
            {"surely": [(code,)], "maybe": [(), (code,)], "no": [()]}[certainty]
            for _, code, certainty in itertools.chain(*people)
        ]
        yield from (tuple(itertools.chain(*world)) for world in itertools.product(*ways))


@given(ROWS, st.data())
def test_choices_among_rows_are_attained(rows, data):
    sizes = [sum(row[0] == number for row in rows) for number in range(2)]
    live = [data.draw(st.integers(min(size, 1), size)) for size in sizes]
    attendance = PartialAttendance(np.array([row[0] for row in rows]), np.array(live))
    may = np.array([row[2] != "no" for row in rows])
    must = np.array([row[2] == "surely" for row in rows])[may]
    selected_rows = PossibleRows(np.flatnonzero(may), must, np.where(must, 1.0, 0.5))
    codes = np.array([row[1] for row in rows])[may]
    worlds = [[int(VALUES[code]) for code in world] for world in chosen_sets(rows, live)]
    numbers = [len(world) for world in worlds]
    assert attendance.counts(selected_rows) == (min(numbers), max(numbers))
    assert 0 <= attendance.chances(selected_rows).sum() <= sum(live) + 1e-9
    if not max(numbers):
        return
    low, high = attendance.countings(selected_rows, codes, len(VALUES))
    counted = CountedValues(
        VALUES,
        lambda: exact(pa.array(VALUES), "loss"),
        low,
        high,
        whole=True,
        expected=None,
        expected_rows=np.nan,
    )
    for name in ("count", "sum", "avg", "min", "max"):
        bounds = AGGREGATES[name].of_values(counted)
        some = [aggregate(name, world) for world in worlds if world or name == "count"]
        assert (bounds.lower, bounds.upper) == (min(some), max(some)), name
    spread = AGGREGATES["stddev"].of_choices(attendance.choices(selected_rows, VALUES[codes], 0))
    for world in worlds:
        if len(world) > 1:
            mean = Fraction(sum(world), len(world))
            variance = sum((value - mean) ** 2 for value in world) / (len(world) - 1)
            assert spread.lower**2 - Fraction(1, 10**9) <= variance
            assert variance <= spread.upper**2 + Fraction(1, 10**9)


@given(ROWS)
def test_where_nobody_left_everyone_is_here(rows):
    group, codes = (np.array([row[place] for row in rows]) for place in (0, 1))
    must = np.array([row[2] == "surely" for row in rows])
    selected_rows = PossibleRows(np.arange(len(rows)), must, np.where(must, 1.0, 0.25))
    partial, here = PartialAttendance(group, np.bincount(group, minlength=2)), FullAttendance()
    assert partial.counts(selected_rows) == here.counts(selected_rows)
    assert np.array_equal(partial.chances(selected_rows), here.chances(selected_rows))
    for first, other in zip(
        partial.countings(selected_rows, codes, len(VALUES)),
        here.countings(selected_rows, codes, len(VALUES)),
        strict=True,
    ):
        assert np.array_equal(first.sure, other.sure)
        assert np.array_equal(first.maybe, other.maybe)


QUESTIONS = [
    "SELECT COUNT(*) AS n FROM microdata",
    "SELECT COUNT(*) AS n FROM microdata WHERE age >= 1",
    "SELECT COUNT(*) AS n FROM microdata WHERE age >= 1 AND loss > 0",
    "SELECT COUNT(*) AS n FROM microdata WHERE loss <= 1 AND sex = 'f'",
]
SUMS = "SUM(loss), AVG(loss), MIN(loss), MAX(loss), STDDEV(loss)"
FORMS = {
    "permuted": {},
    "split": {},
    "ambiguous": {},
    "redistributed": {"fakes": 9},
    "generalized": {},
    "suppressed": {},
}


@pytest.mark.parametrize("method", FORMS)
def test_a_first_version_answers_as_any_release(method):
    rng = random.Random(method)
    columns = random_columns(rng, 12)
    del columns["word"]
    declared = declare(
        age=column("quasi-identifier", "integer"),
        sex=column("quasi-identifier", "string", nulls=True),
        loss=column("sensitive", "integer"),
    ).model_copy(update={"form": shape(method, **FORMS[method])})
    group = [0] * 5 + [1] * 4 + [2] * 3
    first = as_composed(declared)
    tables = publish_composed(first, columns, group, [0] * 12)
    queries = QUESTIONS + [
        query.replace("COUNT(*) AS n", SUMS) for query in QUESTIONS if method != "ambiguous"
    ]
    alone = {name: table for name, table in tables.items() if name not in ("lineage", "vacant")}
    for query in queries:
        answer, other = (
            answer_on(*release, query) for release in ((tables, first), (alone, declared))
        )
        for row, expected_row in zip(answer.rows, other.rows, strict=True):
            for name, bounds in row.items():
                ends = (bounds.lower, bounds.upper, bounds.may_be_empty)
                expected_bounds = expected_row[name]
                assert ends == (
                    expected_bounds.lower,
                    expected_bounds.upper,
                    expected_bounds.may_be_empty,
                ), (query, name)
                if expected_bounds.estimate is not None:
                    assert float(bounds.estimate) == pytest.approx(
                        float(expected_bounds.estimate)
                    ), query


@pytest.mark.parametrize(("form", "sensitive"), asked.FORMS)
def test_the_truth_over_people_is_within_the_bounds(form, sensitive):
    declared, tables, _, people = release(form, sensitive)
    rng, outcomes = random.Random(f"truth {form} {sensitive}"), Counter()
    with engine(tables, declared) as asking, session({"microdata": people}) as connection:
        for _ in range(40):
            query, _ = asked.Queries(rng, sensitive == "together").query()
            query = query.partition(" HAVING ")[0]
            try:
                answer = ask(asking, declared, read_question(query, declared))
                truth = fetch(connection, sqlglot.parse_one(query, read="duckdb"))
            except QueryError:
                continue
            keys = len(read_question(query, declared).group_by)
            numbers = {tuple(row.values())[:keys]: [*row.values()][keys:] for row in answer.rows}
            for row in truth:
                for bounds, value in zip(numbers[row[:keys]], row[keys:], strict=True):
                    assert is_inside(bounds, value), query
                    outcomes["held"] += 1
    assert outcomes["held"] > 40


ONE_GROUP = {"age": [0, 0, 1, 2, 1], "sex": list("fmfmf"), "loss": [5, 1, 4, 2, -2]}
EXPECTED = {  # of five values and three people: hits times the share of the values that match
    "permuted": {"": 2, "loss > 1": 2 * 3 / 5},
    "split": {"": 2, "loss > 1": 2 * 3 / 5},
    "generalized": {"": 2 / 3 * 3, "loss > 1": 2 / 3 * 3 * 3 / 5},
    "ambiguous": {"": 2 / 3 * 3, "loss > 1": 2 / 3 * 3 * 3 / 5},
}


@pytest.mark.parametrize("method", EXPECTED)
def test_estimates_are_of_people(method):
    declared = as_composed(
        declare(
            method,
            age=column("quasi-identifier", "integer"),
            sex=column("quasi-identifier", "string"),
            loss=column("sensitive", "integer"),
        )
    )
    tables = publish_composed(declared, ONE_GROUP, [0] * 5, [0, 0, 0, 1, 1])
    for where, expected in EXPECTED[method].items():
        query = f"FROM microdata WHERE age <= {0 if method in ('permuted', 'split') else 1}"
        query += f" AND {where}" if where else ""
        (row,) = answer_on(tables, declared, f"SELECT COUNT(*) AS n {query}", "uniform").rows
        assert float(row["n"].estimate) == pytest.approx(expected), where
        if not where and method in ("permuted", "split"):
            (row,) = answer_on(
                tables, declared, f"SELECT SUM(loss) AS s, AVG(loss) AS a {query}"
            ).rows
            assert float(row["s"].estimate) == pytest.approx(2 * 10 / 5)
            assert float(row["a"].estimate) == pytest.approx(10 / 5)
