"""Statements of a publisher about promises that no file can show.

Such a promise needs a reference, or needs to know whose the rows are.

A statement is compared with itself and with the tables; no file of a release can show that it is
true.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.rules.verdicts import GROUPS, PEOPLE, Finding, observation
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import Number, exact, plain
from sfumato.tasks.private.references import References
from sfumato.tasks.terms.assessment import Assessment
from sfumato.tasks.terms.opened import MANIFEST

_WRITTEN = re.compile(r"[0-9]+(?:[./][0-9]+)?")


def with_statements(
    assessment: Assessment, manifest: Mapping[str, Any], references: References
) -> tuple[Assessment, tuple[PrivacyModel, ...]]:
    """Return an assessment with a manifest's statements about promises without a known reference.

    Statements about people who have several rows are also taken as they are.

    Returns:
        The assessment, and the promises that were not measured.

    Raises:
        PromiseError: where it states nothing, that a promise is broken, or of other groups.
    """
    promises = assessment.declared.promises
    assessment = _with_people(assessment, manifest)
    stated = tuple(p for p in promises if p.needs_population and references.file_for(p) is None)
    if not stated:
        return assessment, ()
    observed = manifest["sfumato"].get("observed")
    findings = [finding_ for finding_ in assessment.findings if finding_.table != GROUPS]
    judged = [finding_ for finding_ in assessment.findings if finding_.table == GROUPS]
    for number, (promise, finding) in enumerate(zip(promises, judged, strict=True)):
        as_said = (
            _stated_finding(finding, promise, observed[number]) if promise in stated else finding
        )
        findings.append(as_said)
    return replace(assessment, findings=tuple(findings)), stated


def _with_people(assessment: Assessment, manifest: Mapping[str, Any]) -> Assessment:
    """Return the assessment with the manifest's statements about promises over people, if any."""
    if not assessment.declared.over_people:
        return assessment
    observed = manifest["sfumato"].get("observed")
    judged = [finding_ for finding_ in assessment.findings if finding_.table == GROUPS]
    people = [
        _stated_finding(
            replace(finding, table=PEOPLE), promise, observation_, assessment.declared.kept_over
        )
        for finding, promise, observation_ in zip(
            judged, assessment.declared.promises, observed, strict=True
        )
    ]
    return replace(assessment, findings=(*assessment.findings, *people))


def _stated_finding(
    finding: Finding, promise: PrivacyModel, stated: Mapping[str, Any], under: str = "observed"
) -> Finding:
    """Return the finding as it is stated; `finding` has the number of groups in the tables."""
    groups = finding.observed["groups"] if isinstance(finding.observed, Mapping) else None
    try:
        numbers = {name: _number(stated[under][name]) for name in promise.required()}
        written = {name: plain(number) for name, number in numbers.items()}
        whole = stated["groups"] == groups and written == dict(stated[under])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        whole = False
    if not whole or not _keeps(promise, numbers):
        raise PromiseError(f"{MANIFEST}: does not state that the groups keep {promise.name}")
    verdict = Verdict(promise.required(), numbers, stated["groups"], 0)
    return replace(finding, passed=True, observed=observation(verdict))


def _number(written: Any) -> Number:
    """Return a number that a verdict may have; a number that would fill the memory is refused.

    Raises:
        ValueError: where it is none.
    """
    if isinstance(written, str) and _WRITTEN.fullmatch(written):
        return exact(written)
    if type(written) is not int:
        raise ValueError("not a number of a verdict")
    return written


def _keeps(promise: PrivacyModel, stated: Mapping[str, Number]) -> bool:
    """Return True if stated numbers are no worse than what is promised."""
    for name, required in promise.required().items():
        worst = stated[name]
        if worst is None or required is None:
            return False
        if (worst > required) if name in promise.at_most else (worst < required):
            return False
    return True
