"""Policies for people who choose one: a list, one of them, and what a spec keeps of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.wording import readable
from sfumato.flows.inputs.documents import read_yaml
from sfumato.flows.inputs.policies import all_policies, find_policy, missing_statements, to_write
from sfumato.flows.inputs.spec import json_schema, spec_of
from sfumato.flows.rules.policies import subject_of_spec
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.policies.policy import ChosenPolicy, Policy, PolicyFile
from sfumato.tasks.policies.rule import NO_ADVICE

_READ = {
    "whole": "read as a whole",
    "in-part": "read in part",
    "not-read": "not read",
}
_REMOVED = ("policy", "roles")


def policy_rows() -> list[dict[str, Any]]:
    """Return Sfumato's own policies in a few words each, for JSON."""
    return [_row(file) for file in all_policies()]


def _row(file: PolicyFile) -> dict[str, Any]:
    policy = file.policy
    return {
        "name": policy.policy,
        "title": policy.title,
        "date": policy.date.isoformat(),
        "sha256": file.sha256,
        "rules": [rule.rule for rule in policy.rules],
        "states": len(policy.states),
        "source": _READ[policy.source.read],
        "refused": policy.refused,
    }


def policy_document(name: str) -> dict[str, Any]:
    """Return everything that a policy's file has, for JSON.

    Args:
        name: a policy's name, or the path of a file.

    Raises:
        SpecError: where there is no such policy, or its file is wrong.
    """
    file = find_policy(name)
    written = file.policy.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {**written, "sha256": file.sha256, "note": NO_ADVICE}


def policy_text(name: str) -> Iterator[str]:
    """Yield a policy as lines for people: source, rules with who decides, questions.

    Raises:
        SpecError: where there is no such policy, or its file is wrong.
    """
    file = find_policy(name)
    policy, source = file.policy, file.policy.source
    yield f"{policy.policy} of {policy.date}: {policy.title}. {NO_ADVICE}"
    yield f"SHA-256 of the file: {file.sha256}"
    yield f"source    {source.title}"
    yield f"          {source.issued_by}; {source.edition}; {_READ[source.read]}"
    if source.instead is not None:
        yield f"          {' '.join(source.instead.split())}"
    if policy.refused is not None:
        yield f"refused   {' '.join(policy.refused.split())}"
        return
    for paragraph in policy.reading.split("\n\n"):
        yield f"reading   {' '.join(paragraph.split())}"
    for rule in policy.rules:
        yield f"machine   {rule.sentence()} ({rule.rule})"
    yield from _kind_lines(policy)
    for statement in policy.states:
        condition = f" (only with kind {', '.join(statement.kinds)})" if statement.kinds else ""
        yield f"person    {statement.name}: {statement.asks}{condition}"


def _kind_lines(policy: Policy) -> Iterator[str]:
    kinds: Mapping[str, Any] = getattr(policy.rule("columns"), "kinds", {})
    for name, kind in kinds.items():
        yield f"  kind    {name}: {kind.meaning} ({kind.demand()})"


def explanation(spec: Path, name: str | None) -> dict[str, Any]:
    """Return what a spec keeps and breaks of a policy, and what a person has to state, for JSON.

    The spec need not keep the policy: everything that it breaks is listed.

    Args:
        spec: the file of the spec.
        name: a policy in place of the spec's own; None for the spec's own.

    Raises:
        SpecError: where the spec is wrong otherwise, names no policy, or the policy is refused.
    """
    parts, wish = _read_parts(spec, name)
    subject = subject_of_spec(parts)
    rules = [
        {"rule": rule.rule, "demands": rule.sentence(), "faults": list(rule.faults(subject))}
        for rule in wish.policy.rules
    ]
    missing = missing_statements(wish)
    return {
        "spec": str(spec),
        "policy": wish.policy.policy,
        "date": wish.policy.date.isoformat(),
        "sha256": wish.file.sha256,
        "rules": rules,
        "states": [
            {
                "name": statement.name,
                "asks": statement.asks,
                "answered": statement.name in wish.states,
            }
            for statement in wish.policy.statements(wish.columns)
        ],
        "write": to_write(wish, missing) if missing else None,
        "note": NO_ADVICE,
    }


def _read_parts(spec: Path, name: str | None) -> tuple[SpecParts, ChosenPolicy]:
    """Read a spec without its policy, and the policy beside it."""
    document = read_yaml(spec)
    if not isinstance(document, dict):
        raise SpecError(f"{spec}: is not a spec. Write keys and values, such as `name: costs`")
    base = spec.absolute().parent
    written = document.get("policy")
    keys = {"name": written} if isinstance(written, str) else dict(written or {})
    if name is not None:
        keys = {**keys, "name": name} if keys.get("name") == name else {"name": name}
    if "name" not in keys:
        raise SpecError(
            f"{spec}: policy: the spec names no policy. Write `policy: NAME`, or compare it with "
            "one: sfumato policies explain SPEC --policy NAME"
        )
    plain = {key: value for key, value in document.items() if key not in _REMOVED}
    try:
        parts = spec_of(plain, base)
        wish = _read_policy(keys, base)
    except SpecError as error:
        raise SpecError(f"{spec}: {error}") from None
    except ValidationError as error:
        raise SpecError(f"{spec}: {readable(error, plain, json_schema())}") from None
    return parts.model_copy(update={"policy": wish}), wish


def _read_policy(keys: Mapping[str, Any], base: Path) -> ChosenPolicy:
    file = find_policy(str(keys["name"]), base)
    if file.policy.refused is not None:
        raise SpecError(f"policy: {file.policy.policy}: {file.policy.refused} {NO_ADVICE}")
    return ChosenPolicy.model_validate({**keys, "file": file})


def explained_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield an explanation as lines for people."""
    edition = f"{document['policy']} of {document['date']}"
    yield f"{edition}, compared with {document['spec']}. {NO_ADVICE}"
    for rule in document["rules"]:
        mark = "broken" if rule["faults"] else "kept"
        yield f"{mark:<9} machine: {rule['demands']}"
        yield from (f"          - {fault}" for fault in rule["faults"])
    for statement in document["states"]:
        mark = "stated" if statement["answered"] else "missing"
        yield f"{mark:<9} person: {statement['name']}: {statement['asks']}"
    if document["write"]:
        yield f"write     {document['write']}"
