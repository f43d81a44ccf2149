"""The policy of a draft: which methods it allows, and the lines of the draft that it asks for.

A draft under a policy proposes nothing that the policy refuses. What a person has to decide or to
state is written as comments: the draft answers no question.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.policies.policy import Policy
from sfumato.tasks.policies.rule import NO_ADVICE
from sfumato.tasks.profile.method import Hide, ProposedMethod

_OF_SIZES = "k-anonymity"
_LABELS = {"generalized": "mondrian", "suppressed": "forest"}
"""Forms that hide rows, each with the partition that a draft proposes for it."""
_WIDTH = 96


@dataclass(frozen=True)
class DraftPolicy:
    """A policy that a draft has to keep.

    Attributes:
        written: the name or the path, as the spec will have it.
        policy: its content.
    """

    written: str
    policy: Policy

    @property
    def least_k(self) -> int:
        """The smallest k that its rules allow; 1 without such a rule."""
        rules = [self.policy.rule(name) for name in ("highest-risk", "group-size")]
        return max([1, *(getattr(rule, "least_k", 1) for rule in rules)])

    @property
    def forms(self) -> Sequence[str] | None:
        """The forms that it allows, None for all."""
        return getattr(self.policy.rule("forms"), "allowed", None)

    def admit(self, methods: Sequence[ProposedMethod], hide: Hide | None) -> list[ProposedMethod]:
        """Return the methods that the policy allows, each with groups that are large enough.

        Args:
            methods: as they would be proposed without a policy, the wished one first.
            hide: what has to be hidden, as the steward answered; None without an answer.

        Raises:
            SpecError: where the steward's answer is not allowed, or nothing is.
        """
        forms = self.forms
        admitted = [m for m in map(self._in_allowed_form, methods) if m is not None]
        if hide == "values" and (not admitted or admitted[0].form not in ("permuted", "split")):
            raise SpecError(
                f"--hide values: {self.policy.policy} does not allow exact values. It allows "
                f"{', '.join(forms or ())}. Leave --hide out. {NO_ADVICE}"
            )
        if not admitted:
            raise SpecError(
                f"--policy {self.written}: its forms are {', '.join(forms or ())}, and init drafts "
                f"generalized, suppressed and permuted. Write the spec by hand. {NO_ADVICE}"
            )
        return admitted

    def _in_allowed_form(self, method: ProposedMethod) -> ProposedMethod | None:
        """Return a method with large groups, in its form or another one that hides as much."""
        promises = [self._with_large_groups(promise) for promise in method.promises]
        method = replace(method, promises=promises)
        sizes = any(promise["model"] == _OF_SIZES for promise in promises)
        if self.least_k > 1 and not sizes:
            return None
        if self.forms is None or method.form in self.forms:
            return method
        if method.form not in _LABELS:
            return None
        other = next((form for form in _LABELS if form in self.forms), None)
        return None if other is None else replace(method, form=other, partition=_LABELS[other])

    def _with_large_groups(self, promise: Mapping[str, Any]) -> dict[str, Any]:
        if promise["model"] != _OF_SIZES:
            return dict(promise)
        return {**promise, "k": max(promise["k"], self.least_k)}

    def require_for_two_tables(self) -> None:
        """Refuse a policy that no release of two related tables keeps.

        Raises:
            SpecError: with the reason, by the rule that demands it.
        """
        for rule in self.policy.rules:
            if why := rule.why_not_two_tables():
                raise SpecError(f"--policy {self.written}: {rule.rule}: {why}. {NO_ADVICE}")

    def lines(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield the lines of a draft about the policy, given the names of its columns."""
        policy = self.policy
        yield from _comment(f"The policy that each version keeps: {policy.title}. {NO_ADVICE}")
        limits = getattr(policy.rule("attack-bars"), "attacks", ())
        if limits:
            yield from _comment(
                "It needs a limit on each of these attacks, and sets no limit. Choose the shares:"
            )
            yield from (f"#   {attack}: {{max-share: SHARE}}\n" for attack in limits)
            yield from _comment("and write them under attacks:")
        yield "policy:\n"
        yield f"  name: {self.written}\n"
        yield from self._kind_lines(columns)
        if policy.states:
            yield from _comment(
                "A person answers these questions, under states. Answers stay in private.", "  "
            )
            for statement in policy.states:
                condition = f" (for {', '.join(statement.kinds)})" if statement.kinds else ""
                yield from _comment(f"  {statement.name}: {statement.asks}{condition}", "  ")

    def _kind_lines(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield the kinds that a person has to give to columns, as comments."""
        kinds: Mapping[str, Any] = getattr(self.policy.rule("columns"), "kinds", {})
        if not kinds:
            return
        yield from _comment("A person gives each column one of these kinds, under columns:", "  ")
        for name, kind in kinds.items():
            yield from _comment(f"  {name}: {kind.meaning} ({kind.demand()})", "  ")
        yield from _comment(f"Columns: {', '.join(columns)}", "  ")


def _comment(text: str, indent: str = "") -> Iterator[str]:
    prefix, inner = f"{indent}# ", text[: len(text) - len(text.lstrip())]
    for line in textwrap.wrap(text, _WIDTH - len(prefix), subsequent_indent=2 * inner):
        yield f"{prefix}{line}\n"
