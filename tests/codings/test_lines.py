"""Coded columns of lines and versions about the same people."""

import json

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.people.lines import read_line
from tests.codings.stays import COLUMNS, Stays, stays

ACCEPTED = {"people": "town", "across-lines": "accepted-risk"}
ROUNDED = {"role": "sensitive", "type": "decimal", "round": {"to": 100}}


def columns(cost):
    return {**COLUMNS, "cost": cost}


@pytest.fixture
def first(line):
    line.write(stays(), columns=columns(ROUNDED), **ACCEPTED).publish("first")
    return line


@pytest.fixture
def second(first, tmp_path):
    """Another line about the same people, whose costs are as they are told to be."""

    def second(cost, **changes):
        other = Stays(tmp_path / "other")
        spec = {"name": "other", "columns": columns(cost), **ACCEPTED, **changes}
        return other.write(stays(), **spec)

    return second


def test_columns_that_are_coded_alike_are_counted_together(second):
    made = second(ROUNDED).publish("one").directory
    page = (made / "index.html").read_text(encoding="utf-8")
    assert "What versions reveal together was counted" in page


@pytest.mark.parametrize(
    "cost",
    [
        {"role": "sensitive", "type": "decimal"},
        ROUNDED | {"round": {"to": 50}},
        ROUNDED | {"top": "100000"},
    ],
)
def test_columns_that_are_coded_otherwise_are_refused(second, cost):
    with pytest.raises(
        PromiseError, match=r"columns\.cost: is coded differently in line stays, ab"
    ):
        second(cost).publish("one")


def test_thresholds_that_each_line_computed_are_not_alike(line, tmp_path):
    line.write(stays(), **ACCEPTED).publish("first")
    other = Stays(tmp_path / "other").write(stays(), name="other", **ACCEPTED)
    with pytest.raises(PromiseError, match=r"columns\.cost: is coded differently in line stays"):
        other.publish("one")


def test_other_people_may_be_coded_otherwise(second):
    assert second({"role": "sensitive", "type": "decimal"}, people="others").publish("one")


def test_versions_that_may_be_combined_are_coded_alike(line):
    accepted = {"versions": "accepted-risk"}
    line.write(stays(), columns=columns(ROUNDED), **accepted).publish("one")
    changed = stays()
    changed[0]["cost"] = "123456.00"
    line.write(changed, columns=columns(ROUNDED), **accepted).publish("two")
    plain = columns({"role": "sensitive", "type": "decimal"})
    with pytest.raises(
        PromiseError, match=r"columns\.cost: is coded differently in the version be"
    ):
        line.write(changed, columns=plain, **accepted).publish("three")
    line.write(stays(first=1000), columns=plain).publish("of-others")


def test_a_line_that_codes_nothing_sensitive_tells_what_it_always_told(line):
    line.write(stays(), columns=columns({"role": "sensitive", "type": "decimal"})).publish("one")
    work = line.plan().line.work
    document = json.loads((work / "people" / "lines" / "stays").read_bytes())
    assert "coded" not in document
    assert read_line(work, "stays").coded == {}
