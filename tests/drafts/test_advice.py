"""Advice of plan: what answers more narrowly, with its figure and what it does not protect."""

from pathlib import Path

import pytest

from sfumato.flows.choice.advice import TOO_WIDE, advise, typical_accuracy
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.report.steward.draft import DraftContent
from tests.comparison.test_comparison import K_ANONYMOUS
from tests.release.small import people

WIDE = [{"workload": "avg(wage) by range of age", "level": 5, "median": 1.9}]


def content(accuracy, rows=60):
    """Return the content of a draft with such an accuracy; nothing else of it is asked."""
    return DraftContent({"published": rows}, [], [], {}, {}, accuracy, {}, [], "")


def test_each_workload_has_one_vote():
    ages = [{"workload": "by age", "level": n, "median": 0.1} for n in range(9)]
    town = {"workload": "by town", "level": 1, "median": 0.9}
    assert typical_accuracy([*ages, town]) == 0.5
    assert typical_accuracy([{**town, "median": None}]) is None
    assert typical_accuracy([]) is None


def test_narrow_answers_need_no_advice(small):
    narrow = [{**WIDE[0], "median": TOO_WIDE}]
    assert advise(small.spec, Overrides(), content(narrow)) == []
    assert advise(small.spec, Overrides(), content([])) == []


def test_the_narrower_form_is_named_with_its_figure_and_its_limits(small):
    spec = small.write(people(), **K_ANONYMOUS).spec
    verdict, *better = advise(spec, Overrides(), content(WIDE))
    assert verdict.startswith("±95 % is too wide for most uses")
    last = better[-1]
    assert "form permuted, promises instead: ke-anonymity (e 10, k 2): ±" in last
    assert last.endswith(
        "It publishes age, town unchanged: it hides which sensitive value a person has, and "
        "does not hide who is in the table."
    )
    assert all(text.endswith("It keeps the same promises.") for text in better[:-1])


def test_advice_stands_in_plan_and_on_its_private_page_alone(small, call, monkeypatch, tmp_path):
    monkeypatch.setattr("sfumato.flows.choice.advice.TOO_WIDE", 0)
    monkeypatch.setattr("sfumato.flows.choice.advice._NARROWER", 9)
    spec = small.write(people(), **K_ANONYMOUS).spec
    code, output, _ = call("plan", spec)
    assert code == 0
    advice = [line for line in output.splitlines() if line.startswith("advice")]
    assert len(advice) >= 2
    page = Path(output.splitlines()[-1])
    assert "is too wide for most uses" in page.read_text(encoding="utf-8")
    published = [path for path in page.parents[1].rglob("release/**/*") if path.is_file()]
    assert published
    assert not any(b"too wide for most uses" in path.read_bytes() for path in published)


def test_where_nothing_is_better_the_number_of_methods_tried_is_said(small, monkeypatch):
    spec = small.write(people(), **K_ANONYMOUS).spec
    monkeypatch.setattr("sfumato.flows.choice.advice._NARROWER", 0)
    (verdict,) = advise(spec, Overrides(), content(WIDE))
    number = int(verdict.split("; the ")[1].split()[0])
    assert number > 5
    assert verdict.endswith("other methods are not better on this table")


def test_a_large_table_is_left_to_compare(small, monkeypatch):
    monkeypatch.setattr("sfumato.flows.choice.advice.ask_few_alternatives", None)
    (verdict,) = advise(small.spec, Overrides(), content(WIDE, rows=200_001))
    assert verdict.endswith(f"type sfumato compare {small.spec}")


@pytest.mark.parametrize("parts", [{"by": "age", "at": [40]}])
def test_what_cannot_be_tried_is_said_with_the_reason(small, parts):
    spec = small.write(people(), parts=parts).spec
    (verdict,) = advise(spec, Overrides(), content(WIDE))
    assert "other partitions and forms could not be tried (" in verdict
    assert "parts" in verdict
