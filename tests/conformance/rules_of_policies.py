"""Rules about the policy of a release: rules that it does not keep, or that mean nothing."""

from collections.abc import Callable
from random import Random
from typing import Any

from tests.conformance.drafts import Document, Draft
from tests.conformance.rulebook import refuses, require

BROKEN = ("policy-broken", "validation-wrong")


def _change(draft: Draft, change: Callable[[Document], Any]) -> None:
    """Change the policy of a release that names one, and nothing beside it."""
    require("policy" in draft.terms)
    draft.declare(lambda terms: change(terms["policy"]))


def _rule(policy: Document, name: str) -> Document:
    rules = [rule for rule in policy["rules"] if rule["rule"] == name]
    require(rules)
    first: Document = rules[0]
    return first


@refuses(*BROKEN)
def risk_above_the_threshold(draft: Draft, rng: Random) -> None:
    """Allow a lower risk than that of the smallest group."""
    most = rng.choice(["0.001", "0.0001"])
    _change(draft, lambda policy: _rule(policy, "highest-risk").update({"at-most": most}))


@refuses(*BROKEN)
def form_that_is_not_allowed(draft: Draft, rng: Random) -> None:
    """Allow another form than that of the release."""
    others = [form for form in ("split", "permuted") if form != draft.terms["form"]["method"]]
    other = rng.choice(others)
    _change(draft, lambda policy: _rule(policy, "forms").update(allowed=[other]))


@refuses(*BROKEN)
def column_without_a_kind(draft: Draft, rng: Random) -> None:
    """Leave out the kind of a column."""
    require(draft.terms.get("policy", {}).get("columns"))
    name = rng.choice(sorted(draft.terms["policy"]["columns"]))
    _change(draft, lambda policy: policy["columns"].pop(name))


@refuses(*BROKEN)
def kind_of_no_column(draft: Draft, _rng: Random) -> None:
    """State the kind of a column that there is not."""
    require(draft.terms.get("policy", {}).get("columns"))
    kinds = draft.terms["policy"]["columns"]
    _change(draft, lambda policy: policy["columns"].update(nobody=next(iter(kinds.values()))))


@refuses(*BROKEN)
def kind_that_withholds(draft: Draft, rng: Random) -> None:
    """Let the kind of a published column withhold it."""
    require(draft.terms.get("policy", {}).get("columns"))
    kind = draft.terms["policy"]["columns"][rng.choice(sorted(draft.terms["policy"]["columns"]))]
    withheld = {"shown": "withheld", "meaning": "nothing to see"}
    _change(draft, lambda policy: _rule(policy, "columns")["kinds"].update({kind: withheld}))


@refuses("manifest-schema", "validation-wrong")
def rule_of_a_policy_twice(draft: Draft, rng: Random) -> None:
    """State a rule of a policy twice."""
    _change(draft, lambda policy: policy["rules"].append(rng.choice(policy["rules"])))


@refuses("manifest-schema", "validation-wrong")
def rule_of_an_unknown_kind(draft: Draft, rng: Random) -> None:
    """State a rule of a policy that the specification does not have."""
    name = rng.choice(["highest-risks", "", "k"])
    _change(draft, lambda policy: policy["rules"][0].update(rule=name))


@refuses("manifest-schema", "validation-wrong", "statement-wrong")
def digest_of_a_policy_otherwise(draft: Draft, rng: Random) -> None:
    """State something else in the place of the SHA-256 of a policy's file."""
    text = rng.choice(["", "0" * 63, "A" * 64])
    _change(draft, lambda policy: policy.update(sha256=text))
