"""Bounds that people read are rounded outwards; numbers nobody can compute with are refused."""

from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError, SpecError
from sfumato.flows.cli.answers import number
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import read_promise
from sfumato.tasks.sql.parse import parse
from tests.release.forge import edit
from tests.release.small import people


def read(text):
    return Fraction(text.replace(",", ""))


@given(st.fractions(min_value=-(10**12), max_value=10**12))
@example(Fraction(51_242, 16))  # 3202.625
@example(Fraction(1, 10**9))
@example(Fraction(0))
def test_printed_bounds_contain_the_exact_ones(value):
    lower, upper = read(number(value, floor)), read(number(value, ceil))
    assert lower <= value <= upper
    assert upper - lower <= max(abs(value) / 10**5, Fraction(1, 10**20))
    assert abs(read(number(value, round)) - value) <= upper - lower


@pytest.mark.parametrize(
    ("value", "rounded", "text"),
    [
        (Fraction("3202.6875"), floor, "3,202.68"),
        (Fraction("3760.3125"), ceil, "3,760.32"),
        (Fraction("0.00204"), floor, "0.00204"),
        (Fraction(-1, 3), floor, "-0.333334"),
        (Fraction(-1, 3), ceil, "-0.333333"),
        (Fraction(2000), floor, "2,000.00"),
        (7, floor, "7"),
        (float("inf"), ceil, "inf"),
        ("word", floor, "word"),
    ],
)
def test_numbers_as_they_are_shown(value, rounded, text):
    assert number(value, rounded) == text


def test_a_mean_of_all_rows_is_shown_between_what_it_lies_between(release, capsys):
    sql = "SELECT AVG(wage) AS a, AVG(wage) AS b FROM microdata"
    assert run(["query", str(release), sql]) == 0
    assert " … " in capsys.readouterr().out


@pytest.mark.timeout(20)
def test_numbers_of_endless_places_are_refused(small, writable, capsys):
    promise = {"model": "ke-anonymity", "k": 3, "e": "1e999999999"}
    with pytest.raises(SpecError, match=r"promises\.0\.e: .* at most 40 places"):
        small.write(people(), promises=[promise]).plan()
    with pytest.raises(SpecError, match="at most 40 places"):
        read_promise("{model: ke-anonymity, k: 3, e: 1e-999999999}")
    edit(writable, lambda document: document["sfumato"]["promises"][0].update(e="1e999999999"))
    assert run(["check", str(writable)]) == 3
    sql = "SELECT COUNT(*) FROM microdata HAVING AVG(wage) > 1e999999999"
    assert run(["query", str(writable), sql]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("literal", ["1e401", "0." + "0" * 401 + "1", "1e999999999"])
def test_sql_with_such_a_number_is_refused(literal):
    with pytest.raises(QueryError, match="more than 400 digits before or after"):
        parse(f"SELECT {literal}", exp.Select)


def test_an_integer_that_json_cannot_hold_is_refused(small):
    promise = {"model": "ke-anonymity", "k": 10**23, "e": 1}
    with pytest.raises(SpecError, match=r"promises\.0\.k: an integer may be at most 2\^53 - 1"):
        small.write(people(), promises=[promise]).plan()
