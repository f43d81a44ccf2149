"""The owner's own rules: judged as they are written, told without a value, or refused."""

import datetime as dt
import json
import logging
from decimal import Decimal

import pyarrow as pa
import pytest

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.structure import NotEmpty, RowCount
from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.suites.engine import get_expectation_impl
from sfumato.expectations.suites.gate import judge, judge_source

SECRET = "CANARY-83bd"
NUMBER = 918273645546372819
TABLE = pa.table(
    {
        "name": pa.array([f"{SECRET}-{n}" for n in range(5)]).dictionary_encode(),
        "sex": pa.array(["f", "m", None, "f", "m"]).dictionary_encode(),
        "visits": pa.array([1, 2, None, 3, 2**53 + 1]).dictionary_encode(),
        "number": pa.array([NUMBER] * 5).dictionary_encode(),
        "past": pa.array([1, 2, 3, 4, 2**53 + 1]).dictionary_encode(),
        "fee": pa.array([Decimal("0.10"), Decimal("2.30"), None, None, None]).dictionary_encode(),
        "weight": pa.array([0.1, 2.3, 5.0, 5.0, 5.0]),
        "day": pa.array([dt.date(2020, 1, n) for n in range(1, 6)]),
        "flag": pa.array([True, False, None, True, True]),
        "nothing": pa.array([None] * 5, pa.string()),
    }
)
_OF = "expect_column_values_to"
# Each is met, and then broken so often; None where there is no such number.
CASES = [
    ("expect_table_row_count_to_be_between", {"min_value": 5}, {"min_value": 6}, 5),
    ("expect_table_row_count_to_equal", {"value": 5}, {"value": 4}, 5),
    ("expect_table_column_count_to_equal", {"value": 10}, {"value": 8}, 10),
    ("expect_column_to_exist", {"column": "name"}, None, None),
    (f"{_OF}_not_be_null", {"column": "name"}, {"column": "visits"}, 1),
    (f"{_OF}_not_be_null", {"column": "sex", "mostly": 0.8}, {"column": "sex", "mostly": 0.9}, 1),
    (f"{_OF}_be_null", {"column": "nothing"}, {"column": "name"}, 5),
    (f"{_OF}_be_unique", {"column": "name", "mostly": 1}, {"column": "number"}, 5),
    (
        f"{_OF}_be_between",
        {"column": "visits", "min_value": 1},
        {"column": "visits", "min_value": 1, "max_value": 2**53},
        1,
    ),
    (
        f"{_OF}_be_between",
        {"column": "fee", "min_value": 0.1, "max_value": 2.3, "strict_min": False},
        {"column": "fee", "min_value": 0.1, "max_value": 2.3, "strict_max": True},
        1,
    ),
    (
        f"{_OF}_be_between",
        {"column": "weight", "min_value": 0.1},
        {"column": "weight", "min_value": 0.1, "strict_min": True},
        1,
    ),
    (
        f"{_OF}_be_between",
        {"column": "past", "max_value": 2**53, "mostly": 0.8},
        {"column": "past", "max_value": 2**53},
        1,
    ),
    (
        f"{_OF}_be_in_set",
        {"column": "sex", "value_set": ["f", "m"]},
        {"column": "sex", "value_set": ["F", "m "]},
        4,
    ),
    (
        f"{_OF}_be_in_set",
        {"column": "visits", "value_set": [1, 2, 3, 2**53 + 1]},
        {"column": "visits", "value_set": [1, 2, 3, 2**53]},
        1,
    ),
    (
        f"{_OF}_be_in_set",
        {"column": "flag", "value_set": [True, False]},
        {"column": "flag", "value_set": [True]},
        1,
    ),
    (
        f"{_OF}_not_be_in_set",
        {"column": "sex", "value_set": ["x"]},
        {"column": "sex", "value_set": ["f"]},
        2,
    ),
    (
        f"{_OF}_match_regex",
        {"column": "name", "regex": r"^[A-Z]+-\w+-\d$"},
        {"column": "name", "regex": "[01]$"},
        3,
    ),
    (
        f"{_OF}_not_match_regex",
        {"column": "name", "regex": "^x"},
        {"column": "name", "regex": "[01]$"},
        2,
    ),
    (
        "expect_column_value_lengths_to_be_between",
        {"column": "sex", "min_value": 1, "max_value": 1},
        {"column": "sex", "min_value": 2},
        4,
    ),
    (
        "expect_column_unique_value_count_to_be_between",
        {"column": "name", "min_value": 5, "max_value": 5},
        {"column": "name", "max_value": 4},
        5,
    ),
    (
        "expect_compound_columns_to_be_unique",
        {"column_list": ["name", "number"]},
        {"column_list": ["number", "nothing"]},
        5,
    ),
    (
        "expect_column_pair_values_a_to_be_greater_than_b",
        {"column_A": "number", "column_B": "past"},
        {"column_A": "past", "column_B": "number", "or_equal": True},
        5,
    ),
]


def rule(name, kwargs):
    return OwnedRule.model_validate({name: kwargs})


def test_every_rule_is_tried_and_is_one_of_great_expectations():
    assert {case[0] for case in CASES} == set(OwnedRule.model_fields)
    for name in OwnedRule.model_fields:
        assert get_expectation_impl(name).__module__.startswith("great_expectations.")


@pytest.mark.parametrize(("name", "met", "broken", "seen"), CASES)
def test_rules_are_judged_and_tell_no_value(name, met, broken, seen, tmp_path, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    rules = [rule(name, met), rule(name, met)]
    require(judge_source("line", TABLE, [NotEmpty()], tmp_path / "met", rules))
    if broken is None:
        return
    findings = judge_source("line", TABLE, [NotEmpty()], tmp_path / "gx", [rule(name, broken)])
    assert [finding.passed for finding in findings] == [True, False]
    columns = rule(name, broken).arguments.columns
    columns_text = f" of {', '.join(map(repr, columns))}" if columns else ""
    with pytest.raises(PromiseError) as refused:
        require(findings)
    assert str(refused.value) == f"source: {name}{columns_text} is broken, observed {seen}"
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "line.owner.source.json" for path in written)
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in written)
    text += "".join(capfd.readouterr()) + caplog.text + str(refused.value)
    assert name in text
    assert SECRET not in text
    assert str(NUMBER) not in text


def test_what_raises_is_refused():
    unordered = rule(f"{_OF}_be_between", {"column": "name", "min_value": 1})
    with pytest.raises(PromiseError, match=r"^source: \w+_be_between could not be evaluated$"):
        judge_source("line", TABLE, [NotEmpty()], None, [unordered])


@pytest.fixture
def promises(groups_of):
    return [(KAnonymity(k=1), groups_of([("g", 1)]))]


TABLES = {
    "qit": pa.table({"age": [1, 2, 3], "group_id": [0, 0, 1]}),
    "st": pa.table({"group_id": [0, 1], "wage": [5, 6]}),
    "vacant": pa.table({"group_id": [0], "wage": [7]}),
}
STRUCTURE = {"qit": [RowCount(3)], "st": [NotEmpty()], "vacant": [RowCount(1)]}


def of_release(promises, *rules):
    findings = judge("line", TABLES, STRUCTURE, promises, None, rules)
    return [(finding.table, finding.passed) for finding in findings if finding.owned]


def test_a_rule_is_about_each_table_with_its_columns(promises):
    wages = rule(f"{_OF}_be_between", {"column": "wage", "max_value": 6})
    ages = rule(f"{_OF}_be_between", {"column": "age", "min_value": 1})
    assert of_release(promises, wages, ages) == [("qit", True), ("st", True), ("vacant", False)]


def test_a_rule_about_rows_is_about_those_of_people(promises):
    rows = rule("expect_table_row_count_to_equal", {"value": 3})
    assert of_release(promises, rows, rows) == [("qit", True)]


def test_a_rule_that_no_table_can_be_judged_by_is_refused(promises):
    both = rule("expect_compound_columns_to_be_unique", {"column_list": ["age", "wage"]})
    with pytest.raises(PromiseError, match="unique: no published table has 'age', 'wage'"):
        of_release(promises, both)
    rows = rule("expect_table_row_count_to_equal", {"value": 3})
    structure = {"st": [NotEmpty()]}
    with pytest.raises(PromiseError, match="equal: no published table has a row for each person"):
        judge("line", {"st": TABLES["st"]}, structure, promises, None, [rows])


def test_findings_of_the_owner_are_told_from_those_of_a_release(promises):
    rows = rule("expect_table_row_count_to_equal", {"value": 3})
    findings = judge("line", TABLES, STRUCTURE, promises, None, [rows])
    assert [finding.owned for finding in findings] == [False] * 4 + [True]
    assert json.dumps(dict(findings[-1].parameters)) == '{"value": 3}'


def test_an_error_about_values_tells_none_of_them(promises, monkeypatch):
    def quote(*_):
        raise ValueError(SECRET)

    monkeypatch.setattr("sfumato.expectations.suites.gate.frame_of_values", quote)
    rows = rule("expect_table_row_count_to_equal", {"value": 3})
    with pytest.raises(PromiseError) as caught:
        judge("line", TABLES, STRUCTURE, promises, None, [rows])
    assert "could not be evaluated (ValueError)" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_great_expectations_own_errors_are_not_logged():
    logger = logging.getLogger("great_expectations.checkpoint")
    assert not logger.isEnabledFor(logging.ERROR)
