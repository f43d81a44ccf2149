"""The dossier of a version: declared, measured, attacked, decided and stated, in private."""

import json
import re
import stat

import pytest

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.life.dossier import dossier_of, keep_dossier
from sfumato.tasks.schema.stated import DossierStatements
from sfumato.tasks.terms.opened import open_release
from tests.release.small import SPEC, people
from tests.report.html import Read

STATED = {
    "context": "enclave",
    "purpose": "To plan <wards>.",
    "controls": "Nothing leaves.\n\nEverything is logged.",
    "residual-risk": "Rare towns are known.",
    "review": "2027-11-01",
}
REASON = "wages are public here"
TERMS = {
    "columns": {**SPEC["columns"], "note": {"role": "sensitive", "unprotected": REASON}},
    "promises": [{"model": "ke-anonymity", "k": 3, "e": 10.5, "sensitive": "wage"}],
}


@pytest.fixture
def stated_line(small):
    return small.write(people(), **TERMS, dossier=STATED)


def test_all_that_is_known_and_stated(stated_line):
    version = stated_line.publish("one").directory
    page, document = dossier_of(version, stated_line.spec)
    assert document["stated"]["purpose"] == STATED["purpose"]
    assert document["not_stated"] == ["recipients", "attackers", "decision", "accepted-by"]
    manifest_keys = open_release(version).manifest["sfumato"]
    assert document["identifiability"]["promises"] == manifest_keys["observed"]
    assert document["digest"] == manifest_keys["digest"]
    assert document["data"]["withheld"] == ["person"]
    assert {
        "about": "note",
        "decided": "is published without a promise",
        "reason": REASON,
    } in document["decisions"]
    assert document["attacks"] is None
    assert json.loads((page.parent / "dossier.json").read_text("utf-8")) == document
    page_read = Read(page.read_text("utf-8"))
    for words in (
        "PRIVATE",
        "To plan <wards>.",
        REASON,
        "2027-11-01",
        "No attack was tried on this version",
    ):
        assert words in page_read.text
    assert page_read.text.count("Not stated.") == 4


ALIKE = {"limit": "max-share", "most": 0.0125, "belief": None, "column": "wage", "refuses": True}
BARS = [
    {**ALIKE, "attack": "homogeneity", "observed": 0.0125, "kept": True},
    {**ALIKE, "attack": "background", "known": 2, "observed": 0.34567891, "kept": False},
    {**ALIKE, "attack": "skewness", "times": 2.5, "observed": None, "kept": False},
]
SHOWN = [
    ["homogeneity", "wage", "max-share", "1.25 %", "1.25 %", "kept"],
    ["background", "wage", "max-share (known 2)", "1.25 %", "34.57 %", "broken"],
    ["skewness", "wage", "max-share (times 2.5)", "1.25 %", "not judged", "not judged"],
]


def test_bars_stand_beside_what_was_observed(stated_line):
    version = stated_line.publish("one").directory
    record = {"bars": BARS, "scores": {}, "missing": []}
    reports = stated_line.plan().line.reports("0001")
    reports.mkdir(parents=True, exist_ok=True)
    (reports / "attacks.json").write_text(json.dumps(record), encoding="utf-8")
    page, document = dossier_of(version, stated_line.spec)
    bars = document["attacks"]["bars"]
    assert [(bar["most"], bar["observed"], bar["outcome"]) for bar in bars] == [
        (0.0125, 0.0125, "kept"),
        (0.0125, 0.34567891, "broken"),
        (0.0125, None, "not judged"),
    ]
    assert json.loads((page.parent / "dossier.json").read_text("utf-8")) == document
    rows = re.findall(r"<tr>(.*?)</tr>", page.read_text("utf-8"))
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    assert [row for row in cells if row and row[-1] in ("kept", "broken", "not judged")] == SHOWN
    public = b"".join(p.read_bytes() for p in version.parent.rglob("*") if p.is_file())
    assert b"0.3456" not in public


def test_it_is_private(stated_line):
    version = stated_line.publish("one").directory
    page, _ = dossier_of(version, stated_line.spec)
    assert page.is_relative_to(stated_line.plan().line.private)
    for name in ("dossier.html", "dossier.json"):
        assert stat.S_IMODE((page.parent / name).stat().st_mode) == 0o600
    public = b"".join(p.read_bytes() for p in version.parent.rglob("*") if p.is_file())
    for words in ("Rare towns are known", "Nothing leaves", "dossier"):
        assert words.encode() not in public


def test_other_statements_make_no_other_version(stated_line):
    first = stated_line.publish("one")
    stated_line.write(people(), **TERMS, dossier={**STATED, "purpose": "Another."})
    assert stated_line.publish("two").existed
    _, document = dossier_of(first.directory, stated_line.spec)
    assert document["stated"]["purpose"] == "Another."


def test_nothing_stated(small, first):
    version = first.directory
    page, document = dossier_of(version, small.spec)
    expected = [field.alias or name for name, field in DossierStatements.model_fields.items()]
    assert document["not_stated"] == expected
    assert Read(page.read_text("utf-8")).text.count("Not stated.") == len(expected)


def test_a_withdrawal_is_told_at_once_and_later_statements_are_taken(stated_line, call):
    version = stated_line.publish("one").directory
    _, before = dossier_of(version, stated_line.spec)
    code, _, error = call("withdraw", version, "--reason", "The wrong <month>.", "--yes")
    assert (code, error.count("dossier")) == (0, 0)
    page = stated_line.plan().line.reports("0001") / "dossier.html"
    page_text = Read(page.read_text("utf-8")).text
    assert "The wrong <month>. What follows was known before the withdrawal." in page_text
    stated_line.write(people(), **TERMS, dossier={**STATED, "decision": "It goes."})
    same, after = dossier_of(version, stated_line.spec)
    assert (same, after["state"]) == (page, "withdrawn")
    assert after["withdrawn"]["reason"] == "The wrong <month>."
    assert after["stated"]["decision"] == "It goes."
    for part in ("identifiability", "data", "digest", "decisions"):
        assert after[part] == before[part]


def test_of_a_version_that_was_withdrawn_before(stated_line, call):
    version = stated_line.publish("one").directory
    assert call("withdraw", version, "--reason", "Wrong.", "--yes")[0] == 0
    with pytest.raises(InputError, match="was withdrawn before a dossier was written, so there"):
        dossier_of(version, stated_line.spec)


def test_a_dossier_that_cannot_be_written_stops_no_withdrawal(stated_line, call):
    version = stated_line.publish("one").directory
    page, _ = dossier_of(version, stated_line.spec)
    page.with_name("dossier.json").write_text("{", encoding="utf-8")
    code, _, error = call("withdraw", version, "--reason", "Wrong.", "--yes")
    assert (code, "warning: dossier: " in error) == (0, True)


def test_of_versions_of_the_line_alone(small, first, tmp_path):
    with pytest.raises(InputError, match="is not a version of the spec's line"):
        dossier_of(tmp_path, small.spec)


def test_a_dossier_that_fails_fails_no_run(stated_line, monkeypatch):
    messages = []
    monkeypatch.setattr(
        "sfumato.flows.life.dossier.say_in_run", lambda line, **_: messages.append(line)
    )
    version = stated_line.publish("one").directory

    def fail(*_):
        raise InputError("no room")

    monkeypatch.setattr("sfumato.flows.life.dossier.make_dossier", fail)
    keep_dossier(stated_line.plan(), version)
    assert messages == ["warning: dossier: no room"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"context": "friends"}, r"dossier\.context"),
        ({"purpose": "x"}, r"dossier\.context"),
        ({**STATED, "review": "soon"}, r"dossier\.review"),
        ({**STATED, "motive": "x"}, r"dossier\.motive"),
    ],
)
def test_wrong_statements(small, wrong, message):
    small.write(people(), dossier=wrong)
    with pytest.raises(SpecError) as error:
        small.plan()
    assert re.search(message, str(error.value))
