"""The step of the release: the spec as text, what changed in it, and the run with its outcome."""

import difflib
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from sfumato.expectations.shared.errors import SfumatoError, SpecError
from sfumato.flows.inputs.documents import parse_yaml, yaml_fault
from sfumato.flows.review import Reviewed, list_candidates
from sfumato.flows.workbench.jobs import Job
from sfumato.flows.workbench.results import released_version
from sfumato.flows.workbench.visit import Visit

_AROUND = 2  # unchanged lines around a change


class ChangedLine(NamedTuple):
    """A line of the comparison of two texts: `+` new, `-` old, or a blank for both."""

    mark: str
    text: str


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: the text, its changes, the command, and the latest run."""
    spec, job, publication = visit.spec, visit.latest("release"), visit.latest("publish")
    latest = publication if released_version(publication) is not None else job
    version = released_version(latest)
    return {
        "changes": list(changed_lines(visit.bench.desk.first_text(spec), spec.text)),
        "command": f"sfumato release {shlex.quote(str(spec.path))}",
        "job": job,
        "version": version,
        "page": None if version is None else _page(visit, latest),
        "approval": spec.document.get("approval", "none") not in ("none", None),
        "waiting": _waiting(visit),
        "reviews": visit.latest("review"),
        "publication": publication,
    }


def changed_lines(before: str, after: str) -> Iterator[ChangedLine]:
    r"""Yield the lines that differ between two texts, and a few around them.

    >>> [line.mark + line.text for line in changed_lines("a\nb\n", "a\nc\n")]
    [' a', '-b', '+c']
    """
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_AROUND)
    for line in lines:
        if line.startswith(("---", "+++")) and not line[3:].strip():
            continue
        if line.startswith("@@"):
            continue
        yield ChangedLine(line[:1], line[1:])


def _page(visit: Visit, job: Job | None) -> str | None:
    """Return the address of the published page, or None while a candidate waits."""
    if job is None or not job.document["published"]:
        return None
    return f"{visit.bench.place}/private/{job.id}/index.html"


def _waiting(visit: Visit) -> list[Reviewed]:
    """Return the candidate of the line that waits for approval, if there is one."""
    try:
        return list_candidates((visit.spec.path,))
    except SfumatoError:
        return []


def run(visit: Visit) -> str:
    """Release the next version, as the command line does.

    Raises:
        SpecError: where roles are not confirmed, or a run would refuse the spec.
    """
    visit.require_present()
    if not visit.spec.is_confirmed:
        raise SpecError("the roles are only proposed. Confirm them in the step Columns")
    if fault := visit.spec.fault():
        raise SpecError(fault)
    return visit.start(
        ["release", "--json", "--", str(visit.spec.path)], f"Release of {visit.spec.name}"
    )


def write_text(visit: Visit) -> None:
    """Write the spec as the steward typed it.

    Raises:
        SpecError: where it is not YAML with each key once.
    """
    text = visit.sent.get("text")
    try:
        document = parse_yaml(text)
    except (ValueError, yaml.YAMLError) as error:
        raise SpecError(f"the text is not written: {yaml_fault(error)}") from None
    if not isinstance(document, dict):
        raise SpecError("the text is not written: it is not a spec. Write keys such as `name:`")
    visit.write({visit.spec.path: text if text.endswith("\n") else f"{text}\n"}, "the text")


def add_decision(visit: Visit) -> str:
    """Add the decision that a reviewer made elsewhere, as it was printed there.

    Raises:
        SpecError: where there is none.
    """
    decision = visit.sent.get("decision").strip()
    if not decision:
        raise SpecError("there is no decision. Paste the line that `sfumato review` printed")
    arguments = ["review", "add", "--json", "--", str(visit.spec.path), decision]
    return visit.start(arguments, f"The decision about {visit.spec.name}")


def publish(visit: Visit) -> str:
    """Publish the candidate that its reviewers approved."""
    digest, path = visit.sent.get("candidate"), str(visit.spec.path)
    arguments = ["publish", f"--digest={digest}", "--json", "--", path]
    return visit.start(arguments, f"Publication of {visit.spec.name}")


ACTIONS = {"release": run, "text": write_text, "decision": add_decision, "publish": publish}
"""What the forms of the page do."""
