"""`sfumato policies`, and what a policy leaves for init, plan and compare to offer."""

import json

import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.choice.alternatives import alternatives_of
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.policies import policy_names
from sfumato.flows.inputs.spec import read_spec
from tests.policies.specs import KEPT, base, patients, with_k, write
from tests.policies.test_releases import HOUSE

ADVICE = "A policy gives no legal advice."


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return tmp_path


class TestPolicies:
    def test_list(self, call):
        code, out, _ = call("policies", "list")
        assert code == 0
        assert all(name in out for name in policy_names())
        assert out.count("known, and refused") == 2
        assert out.endswith(f"{ADVICE}\n")
        document = json.loads(call("policies", "list", "--json")[1])
        assert [row["name"] for row in document["policies"]] == list(policy_names())
        assert document["note"] == ADVICE

    @pytest.mark.parametrize("name", policy_names())
    def test_show(self, name, call):
        code, out, _ = call("policies", "show", name)
        assert code == 0
        assert ADVICE in out.splitlines()[0]
        document = json.loads(call("policies", "show", name, "--json")[1])
        assert document["policy"] == name
        assert document["source"]["instead"]
        assert document["sha256"] in out

    def test_show_an_own_one(self, folder, call):
        place = folder / "house.yaml"
        place.write_text(yaml.safe_dump(HOUSE), encoding="utf-8")
        code, out, _ = call("policies", "show", place)
        assert code == 0
        assert "at least 12 people look alike" in out

    def test_explain_a_spec_that_keeps_it(self, folder, call):
        place = write(folder, KEPT["ema-0070"])
        code, out, _ = call("policies", "explain", place)
        assert code == 0
        assert [line.split()[0] for line in out.splitlines()[1:12]] == ["kept"] * 4 + [
            "missing"
        ] * 7
        assert "write     policy: {name: ema-0070, states: {context: ANSWER" in out

    def test_explain_lists_everything_that_is_broken(self, folder, call):
        exact = {
            "promises": [{"model": "ke-anonymity", "k": 3, "e": 10}],
            "partition": {"method": "ke"},
            "form": {"method": "permuted"},
            "versions": "accepted-risk",
        }
        place = write(folder, base(roles="proposed", **exact))
        document = json.loads(call("policies", "explain", place, "--policy", "tre-10", "--json")[1])
        faults = {rule["rule"]: rule["faults"] for rule in document["rules"]}
        assert list(faults) == ["forms", "group-size", "versions"]
        assert all(faults.values())
        assert document["note"] == ADVICE

    def test_explain_without_a_policy(self, folder, call):
        code, _, err = call("policies", "explain", write(folder, base()))
        assert code == 2
        assert "names no policy" in err
        assert "--policy NAME" in err

    def test_explain_a_refused_one(self, folder, call):
        place = write(folder, base())
        code, _, err = call("policies", "explain", place, "--policy", "opensafely-7-5")
        assert (code, "tables of counts" in err) == (2, True)

    def test_schema(self, call):
        document = json.loads(call("policies", "schema")[1])
        assert {"policy", "rules", "states", "report"} <= document["properties"].keys()


class TestInit:
    @pytest.mark.parametrize(("name", "k"), [("ema-0070", 12), ("tre-10", 10), ("gdpr-wp216", 5)])
    def test_a_draft_keeps_the_policy(self, name, k, folder, call):
        write(folder, base())
        place = folder / "draft.yaml"
        code, _, err = call("init", folder / "patients.csv", "--out", place, "--policy", name)
        assert code == 0, err
        document = yaml.safe_load(place.read_text("utf-8"))
        assert document["policy"]["name"] == name
        assert document["promises"][0] == {"model": "k-anonymity", "k": k}
        assert ADVICE in " ".join(place.read_text("utf-8").replace("# ", "").split())
        if name != "gdpr-wp216":
            assert "permuted" not in place.read_text("utf-8")
            assert read_spec(_confirm(place)).policy.policy.policy == name
        else:
            assert "no limit on singling-out" in err

    def test_exact_values_are_not_offered(self, folder, call):
        write(folder, base())
        draft = ("init", folder / "patients.csv", "--out", folder / "draft.yaml")
        code, _, err = call(*draft, "--policy", "tre-10", "--hide", "values")
        assert code == 2
        assert "tre-10 does not allow exact values" in err
        assert not (folder / "draft.yaml").exists()

    def test_an_own_policy_is_named_from_the_draft(self, folder, call, monkeypatch):
        write(folder, base())
        (folder / "drafts").mkdir()
        (folder / "house.yaml").write_text(yaml.safe_dump(HOUSE), encoding="utf-8")
        monkeypatch.chdir(folder)
        draft = ("init", "patients.csv", "--out", "drafts/d.yaml", "--policy", "./house.yaml")
        assert call(*draft)[0] == 0
        document = yaml.safe_load((folder / "drafts" / "d.yaml").read_text("utf-8"))
        assert document["policy"]["name"] == "../house.yaml"

    def test_a_refused_policy(self, folder, call):
        write(folder, base())
        draft = ("init", folder / "patients.csv", "--out", folder / "draft.yaml")
        code, _, err = call(*draft, "--policy", "hipaa-limited-data-set")
        assert (code, "not for publication" in err) == (2, True)


def _confirm(place):
    text = place.read_text("utf-8").replace("roles: proposed", "roles: confirmed")
    place.write_text(text, encoding="utf-8")
    return place


def test_comparisons_offer_only_what_the_policy_allows(folder):
    place = write(folder, with_k(12, "tre-10"))
    admitted, refused, _ = alternatives_of(place, Overrides(), {})
    forms = {alternative.terms.form.method for alternative in admitted}
    assert forms <= {"generalized", "suppressed"}
    assert any("tre-10 of 2026-11-29 is not kept" in reason for reason in refused.values())
    without = write(folder, base())
    freely = {a.terms.form.method for a in alternatives_of(without, Overrides(), {})[0]}
    assert "permuted" in freely


def test_a_sweep_stops_at_the_number_of_the_policy(folder):
    place = write(folder, with_k(12, "tre-10"))
    admitted, refused, _ = alternatives_of(place, Overrides(), {"promises": {"k": [5, 9, 10, 20]}})
    assert len(admitted) == 2
    assert len(refused) == 2


def test_auto_chooses_among_allowed_forms(folder):
    wish = {"method": "auto", "forms": ["permuted"]}
    aims = {"workloads": [{"kind": "range", "aggregate": "count", "over": "age", "spans": [10]}]}
    spec = base(policy="tre-10", partition=wish, evaluate=aims)
    with pytest.raises(SpecError, match=r"partition\.forms: tre-10 does not allow permuted"):
        read_spec(write(folder, spec))


def test_plan_says_what_is_kept_and_what_has_to_be_stated(folder, call):
    place = write(folder, with_k(12, "tre-10"), patients())
    code, out, err = call("plan", place)
    assert code == 0, err
    assert "policy    tre-10 of 2026-11-29: smallest group" in out
    assert "a person has to state environment, people (policy.states)" in out
    assert f"policy    {ADVICE}" in out


def test_check_prints_the_policy(folder, call):
    from tests.policies.test_releases import publish

    release = publish(folder, with_k(12, "tre-10"))
    code, out, _ = call("check", release)
    assert code == 0
    assert "policy tre-10 of 2026-11-29: every rule that a machine decides is kept." in out
    assert "its rules are those of Sfumato's file with SHA-256" in out
    document = json.loads(call("check", release, "--json")[1])
    assert document["policy"]["rules"][1]["rule"] == "group-size"
    assert document["policy"]["known"] is True
    assert document["policy"]["note"] == ADVICE
