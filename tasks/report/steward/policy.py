"""The policy of a version on private pages: rules that a machine decided, and people's answers.

A dossier also prints the policy's own headings, which are those of the report that its body asks
for. Below each are facts of the dossier, and the statements that belong there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.shared.numbers import exact
from sfumato.tasks.policies.rule import NO_ADVICE
from sfumato.tasks.report.numbers import rough_percent, thousands
from sfumato.tasks.report.steward.tables import promise_row
from sfumato.tasks.terms.kept_policy import measure_policy
from sfumato.tasks.terms.opened import Release

_MOST_ANSWERS = 12
"""Guesses of attackers that a heading lists; all of them are in the dossier's own section."""
Document = Mapping[str, Any]


def policy_document(release: Release, stated: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the policy of a release for a private report: what was decided, and what was stated.

    Args:
        release: the release, which may declare a policy.
        stated: the policy's questions with the answers of people; None if they were not kept.
    """
    policy = release.declared.policy
    if policy is None:
        return None
    outcomes = measure_policy(release.declared, list(_stated_verdicts(release)), None)
    return {
        "name": policy.name,
        "date": policy.date,
        "sha256": policy.sha256,
        "advice": NO_ADVICE,
        "decided": [
            {"demands": outcome.rule.sentence(), "found": outcome.words, "kept": outcome.passed}
            for outcome in outcomes
        ],
        "stated": stated,
    }


def _stated_verdicts(release: Release) -> Iterator[tuple[PrivacyModel, Verdict]]:
    """Yield each promise with what the manifest has of it; the release was checked before."""
    observations = release.manifest["sfumato"]["observed"]
    for promise, entry in zip(release.declared.promises, observations, strict=True):
        observed = {name: exact(value) for name, value in entry["observed"].items()}
        yield promise, Verdict(promise.required(), observed, entry["groups"], 0)


def report_sections(document: Document) -> list[dict[str, Any]]:
    """Return the sections of a policy's own report; none if the dossier's policy has no headings.

    Args:
        document: the dossier.
    """
    policy = document.get("policy") or {}
    stated = policy.get("stated") or {}
    answers = {entry["name"]: entry for entry in stated.get("states", ())}
    return [
        {
            "heading": heading["heading"],
            "facts": [fact for part in heading["shows"] for fact in _FACTS[part](document)],
            "statements": [answers[name] for name in heading["states"] if name in answers],
        }
        for heading in stated.get("report", ())
    ]


def _variables(document: Document) -> Iterator[str]:
    kinds = (document["policy"].get("stated") or {}).get("columns", {})
    for column in document["data"]["columns"]:
        name, coded = column["name"], column["coded"]
        coding = f", coded by {', '.join(coded)}" if coded else ""
        kind = f", kind {kinds[name]}" if name in kinds else ""
        yield f"{name}: {column['role']}, {column['type']}{coding}{kind}."
    for name in document["data"]["withheld"]:
        kind = f", kind {kinds[name]}" if name in kinds else ""
        yield f"{name}: withheld{kind}."


def _methods(document: Document) -> Iterator[str]:
    identifiability = document["identifiability"]
    yield (
        f"People are grouped by partition {identifiability['partition']}, and shown in form "
        f"{identifiability['form']}."
    )
    for promise in identifiability["promises"]:
        words, required, observed, groups = promise_row(promise)
        yield f"{words}: required {required}, observed {observed}, in {groups} groups."


def _risk(document: Document) -> Iterator[str]:
    for decided in document["policy"]["decided"]:
        outcome = "Kept" if decided["kept"] else "NOT KEPT"
        yield f"{_capital(decided['demands'])}. {outcome}: {decided['found']}."


def _attacks(document: Document) -> Iterator[str]:
    attacks = document["attacks"]
    if attacks is None:
        yield "No attack was tried on this version (sfumato attack)."
        return
    for name, scores in attacks.get("scores", {}).items():
        for score in scores[:_MOST_ANSWERS]:
            result = "skipped" if "skipped" in score else rough_percent(score["share"])
            yield f"{name}: {score['measure']}: {result}."
    for bar in attacks.get("bars", ()):
        yield f"Limit on {bar['attack']}: {bar['outcome']}."


def _utility(document: Document) -> Iterator[str]:
    yield from document["accuracy"] or ("The accuracy of answers was not measured.",)


def _rows(document: Document) -> Iterator[str]:
    for words, count in document["data"]["rows"].items():
        yield f"Rows {words}: {thousands(count)}."


def _decisions(document: Document) -> Iterator[str]:
    for decision in document["decisions"]:
        reason = f": {decision['reason']}" if decision["reason"] else "."
        yield f"{decision['about']} {decision['decided']}{reason}"


def _approvals(document: Document) -> Iterator[str]:
    if not document["approvals"]:
        yield "The spec asks for no approval."
    for approval in document["approvals"]:
        yield f"Approved by {approval['by']}, {approval['time']}: {approval['reason']}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_FACTS: Mapping[str, Callable[[Document], Iterator[str]]] = {
    "variables": _variables,
    "methods": _methods,
    "risk": _risk,
    "attacks": _attacks,
    "utility": _utility,
    "rows": _rows,
    "decisions": _decisions,
    "approvals": _approvals,
}
"""The facts of a dossier that a heading may show, by their names in a policy's file."""


def shown_facts() -> Sequence[str]:
    """Return the names of all facts that a heading may show."""
    return tuple(_FACTS)
