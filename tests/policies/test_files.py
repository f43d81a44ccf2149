"""The files of policies: sources, words, editions, and own policies by path."""

import json
import re

import pytest
import yaml

from sfumato.deployments.guide.generated.policy_editions import MODULE, editions, module_of, text_of
from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.policies import (
    POLICIES,
    all_policies,
    find_policy,
    policy_names,
    policy_schema,
)
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.policies.policy import Policy
from sfumato.tasks.policies.rule import NO_ADVICE
from sfumato.tasks.policies.term import EDITIONS, known_editions
from sfumato.tasks.report.steward.policy import shown_facts
from sfumato.tasks.schema.files import sha256_of
from tests.house.survey import ROOT
from tests.policies.specs import base, write
from tests.policies.test_releases import HOUSE

NAMES = (
    *("ema-0070", "gdpr-wp216", "health-canada-prci", "hipaa-limited-data-set"),
    *("hipaa-safe-harbor", "opensafely-7-5", "statistical-office", "tre-10"),
)
REFUSED = {"hipaa-limited-data-set": "agreement", "opensafely-7-5": "tables of counts"}
FORBIDDEN = re.compile(r"\b(anonymous|anonymised|anonymized|compliant|compliance)\b", re.IGNORECASE)


def test_the_policies_that_there_are():
    assert policy_names() == NAMES
    for file in all_policies():
        assert file.policy.policy == file.place
        assert file.sha256 == sha256_of(POLICIES / f"{file.place}.yaml")
        assert file.policy.date.isoformat() == "2026-11-29"


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_what_was_read_and_that_it_gives_no_advice(name):
    text = (POLICIES / f"{name}.yaml").read_text("utf-8")
    source = find_policy(name).policy.source
    assert NO_ADVICE in text
    assert source.read in ("in-part", "not-read")
    assert source.instead
    assert source.edition
    assert text.isprintable() or "\n" in text


@pytest.mark.parametrize(("name", "why"), REFUSED.items())
def test_policies_that_are_known_and_refused(name, why, tmp_path):
    with pytest.raises(SpecError, match=f"{name} is known.*{why}") as refused:
        read_spec(write(tmp_path, base(policy=name)))
    assert NO_ADVICE in str(refused.value)


def test_no_policy_says_that_data_are_safe():
    """The three attacks of WP216 decide nothing about the law, nor does any other policy."""
    for name in NAMES:
        words = (POLICIES / f"{name}.yaml").read_text("utf-8")
        assert FORBIDDEN.findall(words) == [], name


def test_wp216_sets_no_limit():
    (rule,) = find_policy("gdpr-wp216").policy.rules
    assert rule.document() == {
        "rule": "attack-bars",
        "attacks": ["singling-out", "linkability", "inference"],
    }


def test_headings_show_facts_and_statements_that_there_are():
    headings = [heading for file in all_policies() for heading in file.policy.report]
    assert {fact for heading in headings for fact in heading.shows} <= {*shown_facts()}
    for name in ("ema-0070", "health-canada-prci"):
        policy = find_policy(name).policy
        below = [state for heading in policy.report for state in heading.states]
        assert sorted(below) == sorted(question.name for question in policy.states)


def test_editions_have_every_policy_and_are_the_verifiers():
    listed = editions()
    assert json.loads(EDITIONS.read_text("utf-8")) == listed
    assert text_of(listed) == EDITIONS.read_text("utf-8")
    assert module_of(listed) == MODULE.read_text("utf-8")
    for file in all_policies():
        if file.policy.rules:
            assert known_editions()[file.sha256] == file.policy.machine_part()


def test_policies_are_in_the_wheel():
    """Every file of the four folders is package data; the folder has no Python of its own."""
    assert POLICIES.resolve() == (ROOT / "deployments" / "policies").resolve()
    assert not list(POLICIES.glob("*.py"))


WRONG = [
    ({"rules": []}, "rules: a policy has rules, or a reason"),
    ({"refused": "No."}, "rules: a policy has rules, or a reason"),
    ({"rules": [*HOUSE["rules"], *HOUSE["rules"]]}, "group-size is there twice"),
    ({"rules": [{"rule": "group-siez", "at-least": 3}]}, "rule.*did you mean group-size"),
    ({"rules": [{"rule": "group-size"}]}, "at-least: is missing"),
    ({"rules": [{"rule": "forms", "allowed": ["tables"]}]}, "allowed"),
    ({"rules": [{"rule": "columns", "kinds": {"a b": {}}}]}, "kinds"),
    ({"source": {**HOUSE["source"], "read": "not-read"}}, "instead: is missing"),
    ({"states": [{"name": "who", "asks": "?"}] * 2}, "two statements have one name"),
    ({"report": [{"heading": "H", "states": ["who"]}]}, "who is no statement"),
    ({"policy": "tre-10"}, "is the name of a policy of Sfumato's"),
    ({"policy": "../x"}, "policy"),
    ({"more": 1}, "more: is no key here"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG)
def test_an_own_policy_that_is_wrong_is_refused_with_its_place(changes, words, tmp_path):
    document = {**HOUSE, **changes}
    place = tmp_path / "house.yaml"
    place.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(SpecError, match=words) as refused:
        read_spec(write(tmp_path, base(policy="./house.yaml")))
    assert "house.yaml" in str(refused.value)


def test_an_own_policy_that_is_missing(tmp_path):
    with pytest.raises(SpecError, match=r"house\.yaml"):
        read_spec(write(tmp_path, base(policy="./house.yaml")))


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ("ema-70", "did you mean ema-0070"),
        ({"name": "tre-10", "columns": {"age": "C"}}, "has no kinds of columns"),
        ({"name": "tre-10", "states": {"whom": "x"}}, "does not ask for it. Write one of"),
        ({"name": "tre-10", "stats": {}}, "policy.stats: is no key here; did you mean states"),
        ({"states": {}}, "policy.name: is missing"),
        (5, "policy: must be a mapping"),
    ],
)
def test_a_key_that_is_wrong(wish, words, tmp_path):
    with pytest.raises(SpecError, match=words):
        read_spec(write(tmp_path, base(policy=wish)))


def test_the_schema_of_a_file_admits_all_policies():
    import jsonschema

    validator = jsonschema.Draft202012Validator(policy_schema())
    for name in NAMES:
        document = Policy.model_validate(
            yaml.safe_load((POLICIES / f"{name}.yaml").read_text("utf-8"))
        )
        validator.validate(document.model_dump(mode="json", by_alias=True, exclude_none=True))
