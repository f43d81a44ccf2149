"""Statements under a policy: asked in the spec, kept in the dossier, shown to reviewers."""

import json

import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.policies import find_policy, require_statements
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.flows.life.dossier import dossier_of
from sfumato.flows.runs.releasing import release as run_release
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.stages.hold import STATED_POLICY
from tests.lines import prepare, publish_prepared
from tests.policies.specs import KEPT, KINDS, answer_all, base, write
from tests.report.html import Read

EMA = [question.name for question in find_policy("ema-0070").policy.states]
WITHOUT_MEANING = "Never published: a secret of the board."


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return tmp_path


def test_a_run_asks_for_every_statement_before_anything_is_read(folder):
    place = write(folder, KEPT["ema-0070"])
    (folder / "patients.csv").unlink()
    with pytest.raises(SpecError, match="asks a person 7 things") as refused:
        run_release(str(place))
    message = str(refused.value)
    assert all(name in message for name in EMA)
    assert f"sfumato policies explain {place}" in message
    assert "policy: {name: ema-0070, states: {context: ANSWER," in message


def test_only_questions_about_kinds_that_there_are_are_asked():
    kinds = {name: kind for name, kind in KINDS.items() if kind not in ("B-zip3", "other")}
    policy = find_policy("hipaa-safe-harbor").policy
    assert [q.name for q in policy.statements(kinds)] == [
        "no-actual-knowledge",
        "unique-codes",
        "relatives",
    ]
    assert len(list(policy.statements(KINDS))) == 5


def test_a_spec_with_all_answers_is_asked_nothing(folder):
    place = write(folder, answer_all(KEPT["ema-0070"], EMA))
    require_statements(resolve_run(place).spec.policy, place)
    place = write(folder, answer_all(KEPT["ema-0070"], EMA[1:]))
    with pytest.raises(SpecError, match=f"1 thing .* no answer to {EMA[0]}. Read"):
        require_statements(resolve_run(place).spec.policy, place)


def test_the_dossier_prints_the_headings_with_facts_and_answers(folder):
    spec = answer_all(KEPT["ema-0070"], EMA)
    spec["policy"]["states"]["conclusion"] = WITHOUT_MEANING
    place = write(folder, spec)
    prepared = prepare(place, folder / "one", seeded_keys(1))
    version = publish_prepared(prepared, folder / "one").directory
    page, document = dossier_of(version, place)
    policy = find_policy("ema-0070").policy
    text = Read(page.read_text("utf-8")).text
    places = [text.index(f"{n}. {h.heading}") for n, h in enumerate(policy.report, start=1)]
    assert places == sorted(places)
    for words in (
        "Report under ema-0070",
        "A policy gives no legal advice.",
        "age: quasi-identifier, integer, coded by top.",
        "patient: withheld.",
        WITHOUT_MEANING,
        "in the smallest group, at most 0.09",
        "The policy's file was written without reading all of the source.",
    ):
        assert words in text, words
    assert document["policy"]["stated"]["states"][0]["answer"] == "Answer to context."
    assert all(rule["kept"] for rule in document["policy"]["decided"])
    published = [path.read_bytes() for path in version.rglob("*") if path.is_file()]
    assert not any(WITHOUT_MEANING.encode() in content for content in published)


def test_reviewers_sign_the_answers_and_the_dossier_keeps_them(reviewed_policy):
    line = reviewed_policy
    report = line.candidate.report
    stated = json.loads((report / STATED_POLICY).read_text("utf-8"))
    assert stated["states"][0]["answer"] == "Answer to environment."
    page = Read((report / "review.html").read_text("utf-8")).text
    assert "The policy, and what people stated" in page
    assert "Answer to people." in page
    assert "A policy gives no legal advice." in page


@pytest.fixture
def reviewed_policy(folder):
    from sfumato.tasks.approval.held import read_held

    spec = answer_all(KEPT["tre-10"], ["environment", "people"])
    place = write(folder, {**spec, "approval": "required"})
    run_release(str(place))

    class Waiting:
        candidate = read_held(resolve_run(place).line.private)

    return Waiting


def test_a_version_without_answers_says_so(folder):
    place = write(folder, base(policy="tre-10"))
    prepared = prepare(place, folder / "one", seeded_keys(1))
    version = publish_prepared(prepared, folder / "one").directory
    page, document = dossier_of(version, place)
    assert [entry["answer"] for entry in document["policy"]["stated"]["states"]] == [None, None]
    assert "Not stated." in Read(page.read_text("utf-8")).text
