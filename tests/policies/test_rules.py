"""Each rule of each policy: a spec that keeps it, and one that is refused, with what to write."""

import re
from fractions import Fraction

import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.registered import adapter_of
from sfumato.flows.inputs.policies import all_policies, find_policy
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.policies.kinds import KINDS
from sfumato.tasks.policies.registry import RULE_KINDS
from tests.policies.specs import (
    KEPT,
    LIMITS,
    SAFE_HARBOR,
    base,
    with_column,
    with_k,
    with_kind,
    with_register,
    write,
)

BY_RISK = ("ema-0070", "health-canada-prci")
LABELS = (*BY_RISK, "statistical-office", "tre-10")
EXACT = {
    "promises": [{"model": "ke-anonymity", "k": 12, "e": 10}],
    "partition": {"method": "ke"},
    "form": {"method": "permuted"},
}
HARBOR = KEPT["hipaa-safe-harbor"]


def bar_on_linkage(belief, share=0, **more):
    bar = {"register": "people.csv", "max-share-above": {"belief": belief, "share": share}}
    return {"linkage": {**bar, **more}}


BROKEN = [
    *(
        (name, "forms", base(policy=name, **EXACT), "form: permuted is not allowed")
        for name in LABELS
    ),
    *(
        (name, "highest-risk", with_k(11, name), r"k=11.*1/11 = 0.0909, above 0.09.*k: 12")
        for name in BY_RISK
    ),
    *(
        (
            name,
            "highest-risk",
            base(policy=name, promises=base()["promises"][1:]),
            "promises: no promise sets",
        )
        for name in BY_RISK
    ),
    *(
        (
            name,
            "register-risk",
            with_register(name, bar_on_linkage(0.1)),
            r"linkage: allows a risk .* above 0.09",
        )
        for name in BY_RISK
    ),
    *(
        (name, "register-risk", with_register(name, bar_on_linkage(0.09, 0.01)), "share: 0")
        for name in BY_RISK
    ),
    *(
        (
            name,
            "versions",
            base(policy=name, versions="accepted-risk"),
            "versions: accepted-risk lets",
        )
        for name in LABELS
    ),
    ("statistical-office", "group-size", with_k(2, "statistical-office"), r"k=2, below 3.*k: 3"),
    ("tre-10", "group-size", with_k(9, "tre-10"), r"k=9, below 10.*k: 10"),
    *(
        (
            "gdpr-wp216",
            "attack-bars",
            base(policy="gdpr-wp216", attacks={k: v for k, v in LIMITS.items() if k != name}),
            f"no limit on {name} that refuses",
        )
        for name in LIMITS
    ),
    (
        "gdpr-wp216",
        "attack-bars",
        base(
            policy="gdpr-wp216",
            attacks={**LIMITS, "inference": {"max-share": 1, "on-failure": "tell"}},
        ),
        "no limit on inference that refuses",
    ),
    *(
        (
            "hipaa-safe-harbor",
            f"columns, {kind}",
            with_kind("cost", kind),
            r"columns.cost: kind .* is published",
        )
        for kind in "ABDEFGHIJKLMNOPQR"
    ),
    ("hipaa-safe-harbor", "columns", with_kind("cost", None), r"has no kind for cost"),
    ("hipaa-safe-harbor", "columns", with_kind("cost", "Z"), r"Z is no kind of this policy"),
    ("hipaa-safe-harbor", "columns", with_kind("price", "other"), r"there is no such column"),
    (
        "hipaa-safe-harbor",
        "columns, C-age",
        with_column(HARBOR, "age", top=None),
        r'columns.age.*top: "90"',
    ),
    ("hipaa-safe-harbor", "columns, C-age", with_column(HARBOR, "age", top="91"), r'top: "90"'),
    (
        "hipaa-safe-harbor",
        "columns, C-age",
        with_column(HARBOR, "age", top={"share": 0.01}),
        r'top: "90"',
    ),
    ("hipaa-safe-harbor", "columns, B-zip3", with_column(HARBOR, "zip", prefix=None), "prefix: 3"),
    ("hipaa-safe-harbor", "columns, B-zip3", with_column(HARBOR, "zip", prefix=4), "prefix: 3"),
    ("hipaa-safe-harbor", "columns, C", with_column(HARBOR, "admitted", range=None), "range: {min"),
    (
        "hipaa-safe-harbor",
        "columns, C",
        with_column(HARBOR, "admitted", range=None, type="date", hierarchy={"dates": ["year"]}),
        "labels can show days",
    ),
    (
        "hipaa-safe-harbor",
        "columns, C",
        with_column(HARBOR, "admitted", range=None, type="string", prefix=7),
        "prefix: 4",
    ),
    (
        "hipaa-safe-harbor",
        "columns, C-birth",
        with_column(HARBOR, "born", bottom="1934"),
        r'bottom: "1935"',
    ),
    (
        "hipaa-safe-harbor",
        "columns, C-birth",
        with_column(HARBOR, "born", bottom=None),
        r'bottom: "1935"',
    ),
    (
        "hipaa-safe-harbor",
        "columns, C-birth",
        base(policy={k: v for k, v in SAFE_HARBOR.items() if k != "year"}),
        "year: YEAR",
    ),
]
"""Name of the policy, the rule, a spec that breaks it, and words of the message."""


@pytest.mark.parametrize("name", KEPT)
def test_a_spec_that_keeps_a_policy(name, tmp_path):
    spec = read_spec(write(tmp_path, KEPT[name]))
    terms = spec.terms(tmp_path)
    assert (terms.format, terms.policy.name) == (12, name)
    assert terms.policy.sha256 == find_policy(name).sha256


@pytest.mark.parametrize(("name", "rule", "spec", "words"), BROKEN)
def test_a_spec_that_breaks_a_rule_is_refused(name, rule, spec, words, tmp_path):
    with pytest.raises(SpecError) as refused:
        read_spec(write(tmp_path, spec))
    message = str(refused.value)
    assert re.search(words, message), (rule, message)
    assert f"{name} of 2026-11-29 is not kept" in message
    assert "A policy gives no legal advice." in message


@pytest.mark.parametrize(
    "attacks", [{}, bar_on_linkage(0.09), bar_on_linkage(0.05), bar_on_linkage("0.0900")]
)
def test_risks_against_a_register_that_are_kept(attacks, tmp_path):
    attacks = {name: dict(bar) for name, bar in attacks.items()}
    for bar in attacks.values():
        bar["max-share-above"] = {"belief": float(bar["max-share-above"]["belief"]), "share": 0}
    assert read_spec(write(tmp_path, with_register("ema-0070", attacks))).policy is not None


def test_every_rule_of_every_policy_is_kept_by_one_spec_and_broken_by_another():
    broken = {(name, rule.partition(",")[0]) for name, rule, _, _ in BROKEN}
    rules = {(f.policy.policy, rule.rule) for f in all_policies() for rule in f.policy.rules}
    assert broken == rules
    assert {name for name, _ in rules} == set(KEPT)
    kinds = find_policy("hipaa-safe-harbor").policy.rule("columns").kinds
    demanding = {name for name, kind in kinds.items() if kind.shown != "any"}
    assert {rule.partition(", ")[2] for _, rule, _, _ in BROKEN} - {""} == demanding


@pytest.mark.parametrize("most", ["0.09", "0.1", "0.0909", "1/11"])
def test_risks_are_compared_as_fractions(most, tmp_path):
    """1/11 = 0.0909… is above 0.09 and 0.0909, and no rounding makes it smaller."""
    kind = RULE_KINDS["highest-risk"]
    if "/" in most:
        with pytest.raises(ValueError, match="at-most"):
            adapter_of(kind).validate_python({"rule": "highest-risk", "at-most": most})
        return
    rule = adapter_of(kind).validate_python({"rule": "highest-risk", "at-most": most})
    least = next(k for k in range(1, 99) if Fraction(1, k) <= Fraction(most))
    assert rule.least_k == least == (10 if most == "0.1" else 12)


@pytest.mark.parametrize("name", [*RULE_KINDS, *KINDS])
def test_every_kind_has_an_example_that_a_steward_can_copy(name):
    kind = {**RULE_KINDS, **KINDS}[name]
    made = adapter_of(kind).validate_python(kind.example)
    words = made.sentence() if name in RULE_KINDS else made.demand()
    assert words
    assert not words.endswith(".")


def test_a_weight_stands_for_the_population(tmp_path):
    """With weights k-map may keep the risk; a smaller k of the table itself is then allowed."""
    spec = base(policy="ema-0070")
    columns = {
        **spec["columns"],
        "born": {"role": "weight", "type": "integer", "unprotected": "made up"},
    }
    promises = [{"model": "k-map", "k": 12}, spec["promises"][1]]
    spec_read = read_spec(write(tmp_path, {**spec, "columns": columns, "promises": promises}))
    assert spec_read.policy is not None
    promises = [{"model": "k-map", "k": 11}, spec["promises"][1]]
    with pytest.raises(SpecError, match="k-map has k=11"):
        read_spec(write(tmp_path, {**spec, "columns": columns, "promises": promises}))


def test_a_promise_about_some_quasi_identifiers_is_not_enough(tmp_path):
    few = [{"model": "k-anonymity", "k": 12, "quasi-identifiers": ["age"]}]
    spec = base(policy="tre-10", promises=[*few, base()["promises"][1]])
    with pytest.raises(SpecError, match="no promise sets how many people"):
        read_spec(write(tmp_path, spec))
