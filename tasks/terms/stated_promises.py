"""What a publisher states of promises that need what no file has: a reference, or whose rows are.

A statement is held against itself and against what the tables do show; whether it is true, no file
of a release can tell.
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
    """An assessment with what a manifest states of promises whose references are not known.

    What it states of people who have several rows is taken as it is stated, too.

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
    findings = [one for one in assessment.findings if one.table != GROUPS]
    judged = [one for one in assessment.findings if one.table == GROUPS]
    for number, (promise, finding) in enumerate(zip(promises, judged, strict=True)):
        as_said = _stated(finding, promise, observed[number]) if promise in stated else finding
        findings.append(as_said)
    return replace(assessment, findings=tuple(findings)), stated


def _with_people(assessment: Assessment, manifest: Mapping[str, Any]) -> Assessment:
    """The assessment with what the manifest states of its promises over people, if it has to."""
    if not assessment.declared.over_people:
        return assessment
    observed = manifest["sfumato"].get("observed")
    judged = [one for one in assessment.findings if one.table == GROUPS]
    people = [
        _stated(replace(finding, table=PEOPLE), promise, said, assessment.declared.counted)
        for finding, promise, said in zip(
            judged, assessment.declared.promises, observed, strict=True
        )
    ]
    return replace(assessment, findings=(*assessment.findings, *people))


def _stated(
    finding: Finding, promise: PrivacyModel, said: Mapping[str, Any], under: str = "observed"
) -> Finding:
    """The finding as it is stated; `finding` has the number of groups that the tables show."""
    groups = finding.observed["groups"] if isinstance(finding.observed, Mapping) else None
    try:
        found = {name: _number(said[under][name]) for name in promise.required()}
        written = {name: plain(number) for name, number in found.items()}
        whole = said["groups"] == groups and written == dict(said[under])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        whole = False
    if not whole or not _keeps(promise, found):
        raise PromiseError(f"{MANIFEST}: does not state that {promise.name} holds of the groups")
    verdict = Verdict(promise.required(), found, said["groups"], 0)
    return replace(finding, passed=True, observed=observation(verdict))


def _number(written: Any) -> Number:
    """A number that a verdict may have; one that would fill the memory is none.

    Raises:
        ValueError: where it is none.
    """
    if isinstance(written, str) and _WRITTEN.fullmatch(written):
        return exact(written)
    if type(written) is not int:
        raise ValueError("no number of a verdict")
    return written


def _keeps(promise: PrivacyModel, found: Mapping[str, Number]) -> bool:
    """True where stated numbers are no worse than what is promised."""
    for name, required in promise.required().items():
        worst = found[name]
        if worst is None or required is None:
            return False
        if (worst > required) if name in promise.at_most else (worst < required):
            return False
    return True
