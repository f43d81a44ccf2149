"""Intervals in answers: what has one, what has none and why, and how they are told."""

import json

import numpy as np
import pytest

from sfumato.flows.cli.answers import answer_as
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.intervals.answering import EXACT, NOTHING, OUTSIDE, SMALL
from tests.intervals.releases import DECLARED, publish_permuted, wages, with_factors
from tests.query.worlds import answers_on

TABLES, _ = publish_permuted(wages(), boxes=False)


def ask(query, declared=None, tables=TABLES):
    (answer_found,) = answers_on(tables, declared or with_factors(), [query])
    return answer_found


def cell(query, declared=None, tables=TABLES):
    """The one aggregate of an answer, as JSON."""
    (row,) = document(ask(query, declared, tables))["rows"]
    return list(row.values())[-1]


def test_an_interval_stands_beside_the_bounds():
    cell_ = cell("SELECT AVG(wage) FROM microdata WHERE age BETWEEN 30 AND 40")
    low, high = cell_["interval_95"]
    assert cell_["lower"] <= low < cell_["estimate"] < high <= cell_["upper"]
    assert high - low < (cell_["upper"] - cell_["lower"]) / 2
    assert set(cell_) == {"lower", "upper", "estimate", "interval_95"}


def test_a_greater_factor_widens_it():
    query = "SELECT AVG(wage) FROM microdata WHERE age BETWEEN 30 AND 40"
    (first, other), (wider, end) = (
        cell(query, with_factors(factor))["interval_95"] for factor in ("1", "2")
    )
    assert end - wider == pytest.approx(2 * (other - first))
    assert end + wider == pytest.approx(other + first)


def test_counts_have_whole_ends():
    cell_ = cell("SELECT COUNT(*) FROM microdata WHERE age > 40 AND wage BETWEEN 20 AND 40")
    assert all(isinstance(end, int) for end in cell_["interval_95"])


def test_extremes_have_values_as_ends_and_an_estimate():
    cell_ = cell("SELECT MAX(wage) FROM microdata WHERE age BETWEEN 21 AND 33")
    values = set(TABLES["microdata"]["wage"].to_pylist())
    assert {*cell_["interval_95"], cell_["estimate"]} <= values


def test_no_interval_is_about_the_value_of_a_few_however_many_rows_are_selected():
    wages = TABLES["microdata"]["wage"].to_pylist()
    rare = min(set(wages), key=wages.count)
    assert wages.count(rare) < 20
    cell_ = cell(f"SELECT COUNT(*) FROM microdata WHERE age BETWEEN 25 AND 45 AND wage = {rare}")
    assert (cell_["interval_95"], cell_["interval_95_reason"]) == (None, SMALL)


def test_without_calibration_answers_are_as_they_were():
    cell_ = cell("SELECT AVG(wage) FROM microdata WHERE age BETWEEN 30 AND 40", DECLARED)
    assert set(cell_) == {"lower", "upper", "estimate"}


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("age = 30 AND town = 'A' OR age = 31", OUTSIDE),
        ("age IN (30, 50)", OUTSIDE),
        ("NOT age BETWEEN 30 AND 40", OUTSIDE),
        ("age + 0 > 30", OUTSIDE),
        ("age <> 30", OUTSIDE),
        ("age > 30 AND wage > 20", OUTSIDE),
        ("age > 500", NOTHING),
    ],
)
def test_queries_of_other_shapes_have_bounds_alone(where, reason):
    cell_ = cell(f"SELECT AVG(wage) FROM microdata WHERE {where}")
    assert (cell_["interval_95"], cell_["interval_95_reason"]) == (None, reason)


@pytest.mark.parametrize("aggregate", ["STDDEV(wage)", "MIN(wage)", "SUM(wage)"])
def test_aggregates_that_were_not_calibrated_have_none(aggregate):
    cell_ = cell(f"SELECT {aggregate} FROM microdata WHERE age BETWEEN 30 AND 32")
    assert cell_["interval_95_reason"] == OUTSIDE


def test_what_is_exact_needs_none():
    assert cell("SELECT COUNT(*) FROM microdata WHERE age > 30")["interval_95_reason"] == EXACT


def test_fewer_than_twenty_rows_have_none():
    """Whoever narrows a query down to one person gets what the groups show, and no more."""
    rows = TABLES["microdata"].to_pylist()
    ages = sorted(row["age"] for row in rows)
    for number in (1, 2, 5, 19):
        last = ages[number - 1]
        chosen = [age for age in ages if age <= last]
        cell_ = cell(f"SELECT AVG(wage), MAX(wage) FROM microdata WHERE age <= {last}")
        small = len(chosen) < 20
        assert (cell_.get("interval_95_reason") == SMALL) == small
    for row in rows[::400]:
        alone = f"age = {row['age']} AND town = '{row['town']}'"
        rows_meant = sum((r["age"], r["town"]) == (row["age"], row["town"]) for r in rows)
        assert rows_meant < 20
        assert cell(f"SELECT AVG(wage) FROM microdata WHERE {alone}")["interval_95"] is None
        counted = f"SELECT COUNT(*) FROM microdata WHERE {alone} AND wage = {row['wage']}"
        assert cell(counted)["interval_95"] is None


def test_one_group_has_none():
    age, town, wage = wages(60)
    tables, _ = publish_permuted((age, town, wage), k=60)
    cell_ = cell("SELECT AVG(wage) FROM microdata WHERE age > 30", tables=tables)
    assert cell_["interval_95_reason"] == SMALL


def test_each_cell_of_a_group_by_is_a_query_of_its_own():
    answer = ask("SELECT town, AVG(wage) AS a FROM microdata WHERE age < 24 GROUP BY town")
    alone = [
        cell(f"SELECT AVG(wage) FROM microdata WHERE age < 24 AND town = '{row['town']}'")
        for row in answer.rows
    ]
    assert [row["a"].document() for row in answer.rows] == alone
    assert len(alone) == 4


def test_bounds_that_are_narrower_end_the_interval():
    cell_ = cell("SELECT AVG(wage) FROM microdata WHERE age BETWEEN 30 AND 40", with_factors("500"))
    assert cell_["interval_95"] == [cell_["lower"], cell_["upper"]]


def test_the_terminal_never_calls_it_guaranteed(capsys):
    answer_as(ask("SELECT AVG(wage) FROM microdata WHERE age BETWEEN 30 AND 40"), "text")
    output = capsys.readouterr().out
    assert "likely" in output
    assert "likely: for 95 % of queries like this one, the interval" in output
    answer_as(ask("SELECT AVG(wage) FROM microdata WHERE age IN (30, 40)"), "text")
    assert f"no likely interval: {OUTSIDE}" in capsys.readouterr().out


def test_csv_has_columns_of_their_own(capsys):
    query = "SELECT town, AVG(wage) AS a FROM microdata WHERE age < 24 GROUP BY town"
    answer_as(ask(query), "csv")
    header = capsys.readouterr().out.splitlines()[0]
    assert header == "town,a_lower,a_upper,a_estimate,a_likely_lower,a_likely_upper"


def test_json_is_plain(capsys):
    answer_as(ask("SELECT MAX(wage) FROM microdata WHERE age < 40"), "json")
    assert json.loads(capsys.readouterr().out)["columns"] == ["max(wage)"]


def test_the_middle_follows_covariates_that_groups_alone_tell():
    """Groups made by chance, each of people of all ages: their means tell how wages rise."""
    values = wages(6_000, effect=12)
    tables, _ = publish_permuted(values, boxes=False, k=3)
    age, _, wage = values
    truth = wage[age < 30].mean()
    plain = answers_on(tables, DECLARED, ["SELECT AVG(wage) AS a FROM microdata WHERE age < 30"])
    moved = cell("SELECT AVG(wage) FROM microdata WHERE age < 30", tables=tables)["estimate"]
    missed = abs(float(plain[0].rows[0]["a"].estimate) - truth)
    assert abs(moved - truth) < missed / 3


def test_without_covariates_nothing_moves():
    rng = np.random.default_rng(3)
    age, town, _ = wages(3_000)
    tables, _ = publish_permuted((age, town, rng.integers(0, 100, 3_000)), boxes=False)
    query = "SELECT AVG(wage) AS a FROM microdata WHERE age < 30"
    (plain,) = answers_on(tables, DECLARED, [query])
    moved = cell(query, tables=tables)["estimate"]
    assert moved == pytest.approx(float(plain.rows[0]["a"].estimate), abs=3)


def test_no_rows_have_no_interval():
    few, _ = publish_permuted(wages(5), k=5)
    assert (
        cell("SELECT AVG(wage) FROM microdata WHERE age > 900", tables=few)["interval_95"] is None
    )
