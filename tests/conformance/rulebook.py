"""Rules of mutation: each changes a draft in one way, and says what a verifier must answer.

A rule decides its answer by the specification and the member, never by a verifier.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from tests.conformance.drafts import Draft, NotApplicableError


class Chance(Random):
    """Random choices of a rule, which does not apply where there is nothing to choose from."""

    def choice(self, seq: Any) -> Any:
        """Return one of the items.

        Raises:
            NotApplicableError: if there are none.
        """
        require(len(seq))
        return super().choice(seq)


Verdict = Literal["valid", "refused", "not judged"]
AtCore = Literal["same", "valid", "either"]


@dataclass(frozen=True)
class Expected:
    """The answer that a verifier must give.

    Attributes:
        verdict: at level byte.
        reasons: any of them is right; empty for a valid release.
        core: the answer at level core: the same, valid, or either where a verifier may skip a rule.
    """

    verdict: Verdict
    reasons: frozenset[str] = frozenset()
    core: AtCore = "same"


VALID = Expected("valid")
Change = Callable[[Draft, Random], Expected | None]


@dataclass(frozen=True)
class Rule:
    """A way to change a release.

    Attributes:
        name: of the rule.
        change: changes a draft; returns what is expected where the member decides it.
        expected: otherwise.
    """

    name: str
    change: Change
    expected: Expected

    def apply(self, draft: Draft, rng: Random) -> Expected:
        """Change a draft, and return what is expected of it.

        Raises:
            NotApplicableError: where the draft cannot be changed so.
        """
        in_parts = draft.in_parts
        expected = self.change(draft, rng) or self.expected
        if in_parts and expected.reasons & _DECLARED:
            return replace(expected, reasons=expected.reasons | {"parts-wrong"})
        return expected


_DECLARED = {
    *("manifest-schema", "format-wrong", "counts-contradict", "promise-scope", "statement-wrong"),
    *("hierarchy-wrong", "observed-wrong", "promise-broken"),
}
"""Reasons beside which a whole differs from its parts, which declare the same (F9.2)."""
RULES: dict[str, Rule] = {}


def refusal(*reasons: str, core: AtCore = "same") -> Expected:
    """Return the answer that refuses for any of these reasons."""
    return Expected("refused", frozenset(reasons), core)


def refuses(*reasons: str, core: AtCore = "same") -> Callable[[Change], Change]:
    """Register a rule whose mutants are refused for any of these reasons."""
    return _register(refusal(*reasons, core=core))


def valid(change: Change) -> Change:
    """Register a rule whose mutants stay valid."""
    return _register(VALID)(change)


def not_judged(reason: str) -> Callable[[Change], Change]:
    """Register a rule whose mutants are not judged."""
    return _register(Expected("not judged", frozenset({reason})))


def _register(expected: Expected) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        name = change.__name__.strip("_").replace("_", "-")
        if name in RULES:
            raise ValueError(f"two rules are named {name}")
        RULES[name] = Rule(name, change, expected)
        return change

    return register


def require(condition: object) -> None:
    """Leave a rule that does not apply to a member.

    Raises:
        NotApplicableError: unless the condition is true.
    """
    if not condition:
        raise NotApplicableError
