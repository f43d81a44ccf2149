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
def drafted(divided):
    def write(rows=None, **changes):
        line = divided.write(visits() if rows is None else rows, **changes)
        return draft(line.spec, Overrides(), hours=1)

    return write


def traces(divided):
    return trace(divided.folder.parent / "work", divided.folder / "public")


def test_a_draft_in_parts_is_all_but_published(drafted, divided):
    found = drafted(evaluate={"workloads": ASKED, "require": STRICT})
    assert traces(divided) == {}
    names = sorted(path.name for path in found.place.iterdir())
    assert names == ["alive", "release", "report", "retain.json"]
    assert len(open_release(found.place / "release").declared.made_of) == 6
    assert check(found.place / "release").verdicts
    told = found.summary
    assert (told["stands"], told["rows"]["published"], told["lost"]) == (None, 600, {})
    assert [one["queries"] for one in told["accuracy"]] == [6, 6, 6]
    assert [one for one in told["warnings"] if "a release would be refused" in one]
    assert told["attacks"]["cost"]
    page = found.page.read_text(encoding="utf-8")
    assert "own value guessed from the group alone" in page
    assert "left-out.csv" not in page
    assert (found.page.parent / "accuracy.csv").exists()


def test_risk_is_that_of_all_rows(drafted):
    rows = visits()
    vectors = Counter(zip(*(rows[n].to_pylist() for n in ("age", "year", "town")), strict=True))
    alone = sum(number == 1 for number in vectors.values()) / 600
    assert of_risk(drafted(rows)) == (alone, alone)  # quasi-identifiers are shown
    grouped = drafted(rows, **FORMS["generalized"])
    assert of_risk(grouped) == (alone, 0)
    assert grouped.summary["lost"]["average_group_size"] >= 4


def of_risk(found):
    (one,) = (one for one in found.summary["risk"] if one["measure"].startswith("alone"))
    return one["before"], one["after"]


def test_who_is_left_out_is_told_in_numbers(drafted):
    found = drafted(often_a(), **LEAVES)
    (number,) = found.summary["left_out"].values()
    assert number == found.summary["rows"]["suppressed"] > 0
    assert [one for one in found.summary["warnings"] if "is not told of releases in parts" in one]
    assert not (found.page.parent / "left-out.csv").exists()


def test_what_a_release_would_be_refused_for_refuses_a_draft(drafted, divided):
    with pytest.raises(PromiseError, match="cannot be kept"):
        drafted(promises=[{**SPEC["promises"][0], "k": 400}])
    assert traces(divided) == {}


def test_a_version_that_stands_is_told_and_stays(divided, call):
    line = divided.write(visits())
    line.publish("one")
    line.write(visits().take(np.random.default_rng(3).permutation(600)))
    before = traces(divided)
    code, shown, _ = call("plan", line.spec, "--format", "json")
    assert (code, json.loads(shown)["stands"]) == (0, "0001")
    assert traces(divided) == before
