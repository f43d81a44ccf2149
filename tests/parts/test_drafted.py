"""A draft of a release in parts: all of it but its publication, and no trace in the line."""

import json
from collections import Counter

import numpy as np
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.choice.draft import draft
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.drafts.traces import trace
from tests.parts.divided import SPEC, visits
from tests.parts.test_answers import FORMS
from tests.parts.test_evaluated import ASKED, LEAVES, often_a

STRICT = {"median-relative-width": 1e-9, "on-failure": "refuse"}


@pytest.fixture
def draft_parts(divided_line):
    def write(rows=None, **changes):
        line = divided_line.write(visits() if rows is None else rows, **changes)
        return draft(line.spec, Overrides(), hours=1)

    return write


def traces(divided):
    return trace(divided.folder.parent / "work", divided.folder / "public")


def test_a_draft_in_parts_is_all_but_published(draft_parts, divided_line):
    draft_made = draft_parts(evaluate={"workloads": ASKED, "require": STRICT})
    assert traces(divided_line) == {}
    names = sorted(path.name for path in draft_made.place.iterdir())
    assert names == ["alive", "release", "report", "retain.json"]
    assert len(open_release(draft_made.place / "release").declared.made_of) == 6
    assert check(draft_made.place / "release").verdicts
    summary = draft_made.summary
    assert (summary["stands"], summary["rows"]["published"], summary["lost"]) == (None, 600, {})
    assert [workload["queries"] for workload in summary["accuracy"]] == [6, 6, 6]
    assert [warning for warning in summary["warnings"] if "a release would be refused" in warning]
    assert summary["attacks"]["cost"]
    page = draft_made.page.read_text(encoding="utf-8")
    assert "own value guessed from the group alone" in page
    assert "left-out.csv" not in page
    assert (draft_made.page.parent / "accuracy.csv").exists()


def test_risk_is_that_of_all_rows(draft_parts):
    rows = visits()
    vectors = Counter(zip(*(rows[n].to_pylist() for n in ("age", "year", "town")), strict=True))
    alone = sum(number == 1 for number in vectors.values()) / 600
    assert of_risk(draft_parts(rows)) == (alone, alone)  # quasi-identifiers are shown
    grouped = draft_parts(rows, **FORMS["generalized"])
    assert of_risk(grouped) == (alone, 0)
    assert grouped.summary["lost"]["average_group_size"] >= 4


def of_risk(draft_made):
    (risk,) = (risk for risk in draft_made.summary["risk"] if risk["measure"].startswith("alone"))
    return risk["before"], risk["after"]


def test_who_is_left_out_is_told_in_numbers(draft_parts):
    draft_made = draft_parts(often_a(), **LEAVES)
    (number,) = draft_made.summary["left_out"].values()
    assert number == draft_made.summary["rows"]["suppressed"] > 0
    assert [
        warning
        for warning in draft_made.summary["warnings"]
        if "drafts of releases in parts do not show which values" in warning
    ]
    assert not (draft_made.page.parent / "left-out.csv").exists()


def test_what_a_release_would_be_refused_for_refuses_a_draft(draft_parts, divided_line):
    with pytest.raises(PromiseError, match="cannot be kept"):
        draft_parts(promises=[{**SPEC["promises"][0], "k": 400}])
    assert traces(divided_line) == {}


def test_a_version_that_stands_is_told_and_stays(divided_line, call):
    line = divided_line.write(visits())
    line.publish("one")
    line.write(visits().take(np.random.default_rng(3).permutation(600)))
    before = traces(divided_line)
    code, output, _ = call("plan", line.spec, "--format", "json")
    assert (code, json.loads(output)["stands"]) == (0, "0001")
    assert traces(divided_line) == before
