"""Releases under a policy: what they publish, how a check measures it again, and forged ones."""

import json
import shutil
import subprocess

import pytest
import yaml

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.inputs.policies import find_policy
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.publication.manifest import manifest
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import software
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.verification.integrity import digest
from tests.house.survey import ROOT
from tests.lines import prepare, publish_prepared
from tests.policies.specs import KEPT, KINDS, base, patients, with_k, write

VERIFIER = ROOT / "deployments" / "verifier" / "verify.mjs"
HOUSE = {
    "policy": "house-rules",
    "title": "Rules of a hospital",
    "date": "2026-10-01",
    "source": {
        "title": "Rules of the board",
        "issued-by": "The board",
        "edition": "2026",
        "read": "whole",
    },
    "reading": "All of it.",
    "rules": [{"rule": "group-size", "at-least": 12}],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return tmp_path


def publish(folder, spec, rows=None, run="one"):
    place = write(folder, spec, rows)
    return publish_prepared(prepare(place, folder / run, seeded_keys(1)), folder / run).directory


def by_hand(release, **changes):
    """Write a release again whose declaration claims something else, whole and sealed."""
    opened = open_release(release)
    document = {**opened.manifest["sfumato"], **changes}
    declared = type(opened.declared).model_validate(
        {k: v for k, v in document.items() if k in type(opened.declared).model_fields}
    )
    tables = read_tables(opened.declared, release / "data")
    place = release.with_name("forged")
    shutil.rmtree(place, ignore_errors=True)
    write_release(place, assess(declared, tables))
    return place


def verdict_of_the_second_verifier(release):
    done = subprocess.run(
        ["node", str(VERIFIER), str(release), "--json"], capture_output=True, text=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", KEPT)
def test_a_release_is_checked_again_by_its_files(name, folder):
    release = publish(folder, KEPT[name])
    checked = check(release)
    assert checked.derived == "equal"
    declared = open_release(release).manifest["sfumato"]
    file = find_policy(name)
    stated = {key: declared["policy"][key] for key in ("name", "date", "rules")}
    assert stated == file.policy.machine_part()
    assert (declared["format"], declared["policy"]["sha256"]) == (12, file.sha256)
    entries = json.loads((release / "validation.json").read_bytes())
    decided = [entry for entry in entries if entry["table"] == "policy"]
    assert [entry["parameters"] for entry in decided] == stated["rules"]
    assert all(entry["passed"] for entry in decided)
    assert "A policy gives no legal advice." in (release / "index.html").read_text("utf-8")


def test_risks_are_published_as_fractions(folder):
    release = publish(folder, KEPT["ema-0070"])
    entries = json.loads((release / "validation.json").read_bytes())
    risk = next(e for e in entries if e["expectation"] == "expect_highest_risk")
    k = risk["observed"]["k"]
    assert risk["observed"]["risk"] == f"1/{k}" or k in (16, 20, 25)
    assert k >= 12


def test_kinds_of_withheld_columns_are_not_published(folder):
    release = publish(folder, KEPT["hipaa-safe-harbor"])
    declared = open_release(release).declared
    assert declared.policy.columns == {k: v for k, v in KINDS.items() if k != "patient"}
    assert declared.policy.year == 2025


def test_a_small_area_in_the_source_is_refused_before_publication(folder):
    rows = [{**row, "zip": "03601"} for row in patients()]
    place = write(folder, KEPT["hipaa-safe-harbor"], rows)
    resolved = prepare(place, folder / "one", seeded_keys(1))
    with pytest.raises(PromiseError, match=r"columns\.zip: 1 different published texts") as refused:
        publish_prepared(resolved, folder / "one")
    assert "036" not in str(refused.value).replace("(the first 3 digits", "")
    assert not (folder / "public" / "stays").exists()


@pytest.mark.node
def test_both_verifiers_agree(folder):
    for number, (name, spec) in enumerate(KEPT.items()):
        if name == "ema-0070":
            continue  # the same rules as Health Canada's
        place = folder / name
        place.mkdir()
        people = patients(seed=number + 2)
        release = publish(place, {**spec, "name": f"line-{number}"}, people, run=f"run-{name}")
        assert verdict_of_the_second_verifier(release)["verdict"] == "valid", name


class TestForged:
    """Releases that claim a policy, sealed again: their own files refuse them."""

    @pytest.fixture
    def release(self, folder):
        return publish(folder, with_k(12, "tre-10"))

    @staticmethod
    def policy(release, **changes):
        stated = open_release(release).manifest["sfumato"]["policy"]
        return {**stated, **changes}

    def require_refused(self, place, words, reason):
        with pytest.raises(PromiseError, match=words):
            check(place)
        report = verdict_of_the_second_verifier(place)
        assert (report["verdict"], report["reasons"][0]["reason"]) == ("refused", reason)

    @pytest.mark.node
    def test_a_weaker_rule_under_the_same_sha256(self, release):
        rules = [{"rule": "group-size", "at-least": 2}]
        place = by_hand(release, policy=self.policy(release, rules=rules))
        self.require_refused(place, "its rules differ from those of tre-10", "statement-wrong")

    @pytest.mark.node
    def test_a_policy_that_the_tables_do_not_keep(self, release):
        ema = find_policy("ema-0070")
        policy = {**ema.policy.machine_part(), "sha256": ema.sha256, "columns": {}}
        promises = open_release(release).manifest["sfumato"]["promises"]
        promises = [{**promises[0], "k": 11}, *promises[1:]]
        place = by_hand(release, policy=policy, promises=promises)
        self.require_refused(place, r"k-anonymity has k=11.*above 0\.09", "policy-broken")

    @pytest.mark.node
    def test_a_promise_that_was_raised(self, release):
        """The tables decide: a larger promised k is measured, and is broken."""
        promises = open_release(release).manifest["sfumato"]["promises"]
        promises = [{**promises[0], "k": 99}, *promises[1:]]
        place = by_hand(release, promises=promises)
        self.require_refused(place, "k-anonymity is broken", "promise-broken")

    @pytest.mark.node
    def test_ages_that_the_declaration_says_were_cut(self, folder):
        """Labels in place of ages are compared one by one with what the kind allows."""
        spec = base(name="other")
        age = {"role": "quasi-identifier", "type": "integer", "top": "200"}
        columns = {**spec["columns"], "age": age}
        rows = patients()
        rows = [{**row, "age": 95} for row in rows[:60]] + rows[60:]
        release = publish(folder, {**spec, "columns": columns}, rows, run="other")
        opened = open_release(release).manifest["sfumato"]
        harbor = find_policy("hipaa-safe-harbor")
        policy = {
            **harbor.policy.machine_part(),
            "sha256": harbor.sha256,
            "columns": {k: v for k, v in KINDS.items() if k != "patient"},
            "year": 2025,
        }
        columns = [
            {**column, "top": "90"} if column["name"] == "age" else column
            for column in opened["columns"]
        ]
        place = by_hand(release, policy=policy, columns=columns, format=12)
        self.require_refused(place, r"columns\.age: \d+ different published texts", "policy-broken")

    @pytest.mark.node
    def test_validation_without_the_rules(self, release):
        entries = json.loads((release / "validation.json").read_bytes())
        place = release.with_name("forged")
        shutil.copytree(release, place)
        (place / "validation.json").chmod(0o644)
        fewer = [entry for entry in entries if entry["table"] != "policy"]
        (place / "validation.json").write_bytes(canonical_json(fewer))
        opened = open_release(place)
        document = manifest(place, opened.declared, opened.manifest["sfumato"]["observed"])
        document["sfumato"]["digest"] = digest(document)
        (place / MANIFEST).chmod(0o644)
        (place / MANIFEST).write_bytes(canonical_json(document))
        self.require_refused(place, "validation.json: differs", "validation-wrong")


class TestOwnPolicy:
    """A steward's own file, by path."""

    @pytest.fixture
    def house(self, folder):
        (folder / "house.yaml").write_text(yaml.safe_dump(HOUSE), encoding="utf-8")
        return base(policy="./house.yaml", versions="accepted-risk")

    def test_it_is_a_term_like_others(self, folder, house):
        release = publish(folder, house)
        assert open_release(release).declared.policy.name == "house-rules"
        assert check(release).rule_findings[0].passed

    def test_the_same_file_is_the_same_version_and_an_edited_one_is_another(self, folder, house):
        first = publish(folder, house)
        assert publish(folder, house, run="again") == first
        (folder / "house.yaml").write_text(yaml.safe_dump(HOUSE) + "# edited\n", encoding="utf-8")
        second = publish(folder, house, run="two")
        assert (first.name, second.name) == ("0001", "0002")
        shas = [open_release(place).declared.policy.sha256 for place in (first, second)]
        assert shas[0] != shas[1]

    def test_answers_are_no_terms(self, folder, house):
        digest_before = resolve_run(write(folder, house)).terms.digest()
        asking = {**HOUSE, "states": [{"name": "who", "asks": "Who?"}]}
        (folder / "house.yaml").write_text(yaml.safe_dump(asking), encoding="utf-8")
        digests = {
            resolve_run(write(folder, {**house, "policy": wish})).terms.digest()
            for wish in (
                "./house.yaml",
                {"name": "./house.yaml", "states": {"who": "Ann"}},
                {"name": "./house.yaml", "states": {"who": "Bob"}},
            )
        }
        assert len(digests) == 1
        assert digest_before not in digests


def test_a_release_without_a_policy_is_as_before(folder):
    release = publish(folder, base())
    declared = open_release(release).manifest["sfumato"]
    assert declared["format"] == 4
    assert "policy" not in declared
    assert "policy" not in (release / "index.html").read_text("utf-8").lower().replace(
        "content-security-policy", ""
    )
    assert declared["software"] == software()
