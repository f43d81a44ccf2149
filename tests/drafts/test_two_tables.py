"""Drafts of two related tables: what can be kept at best, attackers, and what to try next."""

from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.advice import advise
from sfumato.flows.choice.draft import draft
from sfumato.flows.cli.choice.init import _for_each, _is_two
from sfumato.flows.cli.choice.plan import _lines
from sfumato.flows.inputs.overrides import Overrides
from tests.related.hospital import made_up, spec_with

WIDE = {"kind": "range", "aggregate": "count", "over": "age", "spans": [2], "queries": 5}


@pytest.fixture(scope="module")
def two_table_draft(tmp_path_factory):
    place = tmp_path_factory.mktemp("hospital")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SFUMATO_WORK", str(place / "work"))
        spec = spec_with(place, made_up(3, 80), evaluate={"workloads": [WIDE]})
        return draft(spec, Overrides(), advise=advise)


def test_a_plan_shows_what_can_be_kept_at_best(two_table_draft):
    assert two_table_draft.summary["at_best"] == [
        "people: k 80, with all people as one group",
        "related-l-diversity of diagnosis: l 4, with all people as one group",
    ]
    assert "related-l-diversity of diagnosis: l 4" in two_table_draft.page.read_text("utf-8")


def test_a_plan_names_the_attackers_who_are_certain_of_most(two_table_draft):
    lines = [text for name, text in _lines(two_table_draft.summary) if name == "attack"]
    assert 1 <= len(lines) <= 4
    assert any("by the cost of one of their rows" in line for line in lines)
    assert not any("of all rows" in line for line in lines)


def test_answers_that_are_too_wide_lead_to_a_comparison(two_table_draft):
    (advice,) = two_table_draft.summary["advice"]
    assert "type sfumato compare" in advice
    assert "maximum" in advice


def test_init_takes_one_file_or_two():
    assert not _is_two(("a.csv",), None, None)
    assert _is_two(("a.csv", "b.csv"), None, "id")
    with pytest.raises(SpecError, match="3 files"):
        _is_two(("a.csv", "b.csv", "c.csv"), None, None)
    with pytest.raises(SpecError, match="two files"):
        _is_two(("a.csv",), None, "id")
    with pytest.raises(SpecError, match="--data"):
        _is_two(("a.csv", "b.csv"), Path("x.deid"), None)


def test_a_sheet_is_for_all_files_or_one_for_each():
    assert _for_each("--sheet", (), 2) == [None, None]
    assert _for_each("--sheet", ("a",), 2) == ["a", "a"]
    assert _for_each("--sheet", ("a", "b"), 2) == ["a", "b"]
    with pytest.raises(SpecError, match="3 times for 2 files"):
        _for_each("--sheet", ("a", "b", "c"), 2)
