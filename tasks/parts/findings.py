"""Findings on some rows at a time, as one finding on all of them."""

from collections.abc import Sequence
from dataclasses import replace

from sfumato.expectations.verdicts import Expectation, Finding


def join_findings(found: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """Findings of the same expectations: all must pass, and what was counted is added up."""
    known: dict[str, Finding] = {}
    for one in (one for findings in found for one in findings):
        key = Expectation(one.type, one.parameters).key
        before = known.get(key)
        known[key] = one if before is None else _sum(before, one)
    return tuple(known.values())


def _sum(one: Finding, other: Finding) -> Finding:
    both = (one.observed, other.observed)
    numbers = [n for n in both if isinstance(n, int)]
    observed = sum(numbers) if len(numbers) == len(both) else one.observed
    return replace(one, passed=one.passed and other.passed, observed=observed)
