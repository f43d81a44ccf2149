"""Bounds that people read are rounded outwards; numbers nobody can compute with are refused."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError, SpecError
from sfumato.flows.cli.answers import column_cells
from sfumato.flows.cli.main import run
from sfumato.flows.inputs.spec import read_promise
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.sql.parse import parse
from tests.release.forge import edit
from tests.release.small import people


def read(text):
    return Fraction(text.replace(",", ""))


def numbers_in(text):
    """The numbers of a cell: its ends, then the estimate."""
    return re.findall(r"-?[0-9][0-9,.]*", text)


NUMBERS = st.fractions(min_value=-(10**12), max_value=10**12)
INTERVALS = st.lists(st.tuples(NUMBERS, NUMBERS).map(sorted), min_size=1, max_size=4)


@given(INTERVALS)
@example([(Fraction(51_242, 16),) * 2])  # 3202.625
@example([(Fraction(1, 10**9), Fraction(10**9))])
@example([(Fraction(0), Fraction(1, 3))])
def test_printed_bounds_contain_the_exact_ones(pairs):
    column = [Bounds(low, high, (low + high) / 2) for low, high in pairs]
    largest = max(abs(end) for pair in pairs for end in pair)
    for (low, high), text in zip(pairs, column_cells(column), strict=True):
        ends = [read(number) for number in numbers_in(text)]
        if low == high:
            assert abs(ends[0] - low) <= max(largest / 10**5, Fraction(1, 10**20))
            assert len(ends) == 1  # an exact answer is one number
            continue
        lower, upper, estimate = ends
        assert lower <= low < high <= upper
        assert upper - lower <= high - low + 2 * max(largest / 10**5, Fraction(1, 10**20))
        assert abs(estimate - (low + high) / 2) <= max(largest / 10**5, Fraction(1, 10**20))


@given(INTERVALS)
def test_a_column_has_the_same_decimals(pairs):
    cells = column_cells([Bounds(*pair) for pair in pairs])
    decimals = {len(n.partition(".")[2]) for cell in cells for n in numbers_in(cell)}
    assert len(decimals) == 1
    whole = all(end.denominator == 1 for pair in pairs for end in pair)
    assert (decimals == {0}) is whole


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ([Bounds(Fraction("3202.6875"), Fraction("3760.3125"))], ["3,202.68 … 3,760.32"]),
        ([Bounds(Fraction("0.00204"), Fraction(1, 3))], ["0.002040 … 0.333334"]),
        ([Bounds(Fraction(5, 2), 3, 3), Bounds(3, 3, 3)], ["2.50 … 3.00 (≈ 3)", "3.00"]),
        ([Bounds(0, 1200, Fraction(61, 40))], ["0 … 1,200 (≈ 1.525)"]),
        ([Bounds(Fraction(1, 3), Fraction(1, 3))], ["0.333333"]),
        ([Bounds(7, 7, may_be_empty=True), 1200, None], ["7 or null", "1200", "null"]),
        ([Bounds(0, float("inf"))], ["0 … inf"]),
        ([Bounds("a", "b", "a"), Bounds(None, None)], ["a … b (≈ a)", "none selected"]),
        ([], []),
    ],
)
def test_numbers_as_they_are_shown(column, texts):
    assert column_cells(column) == texts


def test_an_exact_mean_is_one_number(release, capsys):
    remark = "a single number is the exact answer, rounded"
    sql = "SELECT AVG(wage) AS a, AVG(wage) AS b FROM microdata"
    assert run(["query", str(release), sql]) == 0
    out = capsys.readouterr().out
    assert " … " not in out
    assert remark in out
    assert run(["query", str(release), "SELECT COUNT(*) FROM microdata"]) == 0
    assert remark not in capsys.readouterr().out


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
