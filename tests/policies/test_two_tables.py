"""Policies on two related tables: those that can be kept, and others refused with the reason."""

import json
import shutil
import subprocess

import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.policies import explanation
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.policies import all_policies, find_policy
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.check import check
from tests.house.survey import ROOT
from tests.lines import prepare, publish_prepared
from tests.profile.test_two_tables import hospital as draft_hospital
from tests.related.hospital import made_up, patients, spec_with, stays

VERIFIER = ROOT / "deployments" / "verifier" / "verify.mjs"
KINDS = {"patient": "H", "age": "C-age", "sex": "other", "diagnosis": "other", "cost": "other"}
NOT_OF_TWO = {
    "ema-0070": "two tables show quasi-identifiers of people as they are",
    "health-canada-prci": "two tables show quasi-identifiers of people as they are",
    "statistical-office": "two tables show quasi-identifiers of people as they are",
    "tre-10": "two tables show quasi-identifiers of people as they are",
    "gdpr-wp216": "no attack on two tables can be limited yet",
}


def answers(name):
    """An answer to each question that a person has to answer."""
    policy = find_policy(name).policy
    return {statement.name: "A. Weber, 2026-11-20" for statement in policy.statements(KINDS)}


def safe_harbor(place, **changes):
    people = patients()
    people["columns"]["age"] = {"role": "quasi-identifier", "type": "integer", "top": 90}
    kinds = {"columns": {**KINDS, **changes}, "states": answers("hipaa-safe-harbor")}
    return spec_with(
        place,
        made_up(2, 60),
        tables={"patients": people, "stays": stays()},
        policy={"name": "hipaa-safe-harbor", **kinds},
    )


@pytest.mark.parametrize("name", NOT_OF_TWO)
def test_policies_that_two_tables_cannot_keep_say_why(tmp_path, name):
    spec = spec_with(tmp_path, made_up(2, 60), policy=name)
    with pytest.raises(SpecError) as error:
        read_spec(spec, Overrides())
    assert f"{name} of" in str(error.value)
    assert NOT_OF_TWO[name] in str(error.value)
    assert "Release one table" in str(error.value)


def test_every_policy_is_either_kept_or_refused_with_a_reason():
    names = {file.policy.policy for file in all_policies() if file.policy.refused is None}
    assert names == {*NOT_OF_TWO, "hipaa-safe-harbor"}


def test_kinds_are_about_columns_of_both_tables(tmp_path):
    read_spec(safe_harbor(tmp_path), Overrides())
    with pytest.raises(SpecError) as error:
        read_spec(safe_harbor(tmp_path, diagnosis="A"), Overrides())
    assert "columns.diagnosis: kind A (names)" in str(error.value)


def test_an_explanation_lists_what_two_tables_break(tmp_path):
    spec = spec_with(tmp_path, made_up(2, 60))
    explained = explanation(spec, "statistical-office")
    broken = {rule["rule"]: rule["faults"] for rule in explained["rules"] if rule["faults"]}
    assert "does not replace it" in broken["group-size"][0]
    assert "Release one table" in broken["forms"][0]


def test_a_release_of_two_tables_keeps_a_policy_and_is_checked_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    spec = safe_harbor(tmp_path / "hospital")
    prepared = prepare(spec, tmp_path / "run", seeded_keys(1))
    release = publish_prepared(prepared, tmp_path / "run").directory
    assert check(release).derived == "equal"
    if shutil.which("node"):
        done = subprocess.run(
            ["node", str(VERIFIER), str(release), "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert json.loads(done.stdout)["verdict"] == "valid", done.stdout[:600]


def test_a_draft_keeps_a_policy_or_says_why_not(tmp_path):
    written = draft_hospital(tmp_path, policy="hipaa-safe-harbor")
    assert "name: hipaa-safe-harbor" in written.spec.read_text("utf-8")
    assert "policy.columns" in written.undecided
    with pytest.raises(SpecError) as error:
        draft_hospital(tmp_path, policy="ema-0070", out="other.yaml")
    assert "--policy ema-0070: forms: tables" in str(error.value)
