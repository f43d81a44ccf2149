"""Rules of a spec about its source's values, against Python's own comparisons."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.rules.source import AcceptedValues, ValuesInRange, source_rules
from sfumato.expectations.shared.arrow import as_text
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.suites.gate import judge_source

TYPES = {
    "integer": (pa.int64(), st.integers(-5, 5)),
    "decimal": (pa.decimal128(38, 2), st.decimals(-3, 3, places=2)),
    "float": (pa.float64(), st.sampled_from([0.1, 0.3, 0.1 + 0.2, -1.5, 2.0])),
    "date": (pa.date32(), st.dates(date(1969, 12, 30), date(1970, 1, 3))),
    "timestamp": (
        pa.timestamp("us"),
        st.datetimes(datetime.fromisoformat("1969-12-31"), datetime.fromisoformat("1970-01-02")),
    ),
    "string": (pa.string(), st.sampled_from(["a", "A", "", "1", "é"])),
    "boolean": (pa.bool_(), st.booleans()),
}


def columns(values, type_):
    plain = pa.chunked_array([pa.array(values, type_)])
    return plain, plain.dictionary_encode()


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_accepted_values(kind, data):
    type_, some = TYPES[kind]
    values = data.draw(st.lists(some | st.none(), max_size=15))
    accepted = data.draw(st.lists(some, min_size=1, max_size=3))
    wrong = [v is not None and v not in accepted for v in values]
    rule = AcceptedValues("x", tuple(as_text(v) for v in accepted))
    for column in columns(values, type_):
        table = pa.table({"x": column})
        assert rule.count(table) == sum(wrong)
        assert rule.holds(table) == (not any(wrong))
        assert rule.first(table) == (wrong.index(True) if any(wrong) else None)


@pytest.mark.parametrize("kind", ["integer", "decimal", "float", "date", "timestamp"])
@given(data=st.data())
def test_ranges(kind, data):
    type_, some = TYPES[kind]
    values = data.draw(st.lists(some | st.none(), max_size=15))
    low, high = data.draw(some | st.none()), data.draw(some | st.none())
    wrong = [
        v is not None and ((low is not None and v < low) or (high is not None and v > high))
        for v in values
    ]
    rule = ValuesInRange("x", *(None if v is None else as_text(v) for v in (low, high)))
    for column in columns(values, type_):
        table = pa.table({"x": column})
        assert rule.count(table) == sum(wrong)
        assert rule.first(table) == (wrong.index(True) if any(wrong) else None)


def test_one_value_may_be_written_in_several_ways():
    table = pa.table({"x": pa.array([Decimal("1.50")], pa.decimal128(5, 2))})
    assert AcceptedValues("x", ("1.5",)).holds(table)
    assert ValuesInRange("x", "1.499999", "1.5").holds(table)
    assert not ValuesInRange("x", None, "1.4999999999").holds(table)


RULES = [
    AcceptedValues("town", ("Aa", "Bee")),
    AcceptedValues("town", ("Aa",)),
    ValuesInRange("age", "0", "120"),
    ValuesInRange("age", None, "40"),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("encoded", [False, True])
def test_great_expectations_says_what_the_rules_say(rule, encoded):
    age, town = columns([3, None, 50], pa.int64()), columns(["Aa", "Bee", None], pa.string())
    table = pa.table({"age": age[encoded], "town": town[encoded]})
    schema = pa.schema([("age", pa.int64()), ("town", pa.string())])
    rules = source_rules(schema, [rule])
    judged = judge_source("line", table, rules)
    assert [(row.type, row.passed, row.observed) for row in judged] == [
        (rule.type, *rule.judge(table)) for rule in rules
    ]
    assert judged[-1].parameters == rule.parameters()
    assert [row.passed for row in judged[:3]] == [True] * 3


def test_a_source_suite_has_its_name(tmp_path):
    table = pa.table({"age": pa.array([3])})
    judge_source("line", table, source_rules(table.schema, []), tmp_path)
    assert (tmp_path / "line.source.json").is_file()


def test_nothing_declared_of_a_column_that_is_not_there():
    table = pa.table({"age": pa.array([3])})
    with pytest.raises(PromiseError, match="'town' is missing"):
        AcceptedValues("town", ("Aa",)).holds(table)
