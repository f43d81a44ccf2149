"""Great Expectations says of versions together what the gate says, and sees counts alone."""

import json

import pytest

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.suites.gate import judge_atoms
from tests.composition.lines import judge
from tests.composition.vectors import SLOTS, T2, T3, T5, T8, distinct, entropy, ke


@pytest.mark.parametrize(
    ("line", "slots", "promises"),
    [
        (T8, None, [distinct(3), entropy(3), KAnonymity(k=9)]),
        (T5, None, [distinct(3), ke(3, 2)]),
        (T3, None, [entropy(3)]),
        (T2, SLOTS, [distinct(2)]),
    ],
)
def test_what_passes_the_gate_is_kept(line, slots, promises):
    passed = judge(line, promises, slots)[-1]
    (verdict,) = judge_atoms("small", passed, promises)
    require([verdict])
    assert verdict.type == "expect_atoms_to_keep"
    assert verdict.observed == {"groups": len(passed.judged), "failing": 0}


def test_what_is_promised_beyond_is_broken():
    passed = judge(T5, [distinct(1)])[-1]
    (verdict,) = judge_atoms("small", passed, [distinct(3), entropy(3)])
    assert (verdict.passed, verdict.observed) == (False, {"groups": 2, "failing": 1})


def test_slots_keep_no_promise_about_how_likely_values_are():
    passed = judge(T2, [distinct(1)], SLOTS)[-1]
    (verdict,) = judge_atoms("small", passed, [entropy(1)])
    assert verdict.passed is False


def test_documents_have_the_suite_and_no_people(tmp_path):
    judge_atoms("small", judge(T8, [distinct(3)])[-1], [distinct(3)], tmp_path)
    written = json.loads((tmp_path / "small.composition.json").read_text(encoding="utf-8"))
    assert written["suite_name"] == "small.composition"
    text = "".join(p.read_text(encoding="utf-8") for p in tmp_path.rglob("*.html"))
    assert "All versions together keep distinct l-diversity (l = 3)" in text
