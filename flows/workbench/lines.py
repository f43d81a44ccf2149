"""The step of lines: the versions of a line, next month's table, and withdrawals."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SfumatoError, SpecError
from sfumato.flows.life.releases import list_lines
from sfumato.flows.workbench.desk import TABLE_ENDINGS
from sfumato.flows.workbench.start import delete_dropped, dropped_files, put_into_folder
from sfumato.flows.workbench.visit import Sent, Visit
from sfumato.tasks.lines.listing import STATES, ListedLine

_COUNTS = {
    "people_continued": "people who stay",
    "people_new": "people who are new",
    "people_waiting": "people who wait for a later version",
    "groups_continued": "groups that go on",
    "groups_new": "groups that are new",
    "groups_retired": "groups that are retired",
}


RULES: Mapping[str, str] = {
    "disjoint": "no person is in two versions, otherwise a release is refused",
    "composed": "groups go on, so that all versions read together keep the promises",
    "accepted-risk": "people may be in several versions, and readers of all may learn more",
}
"""The rules for further versions of a line, in words."""


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: the line with its versions, and the latest rehearsal."""
    line, unreleased = _line(visit)
    job, withdrawal = visit.latest("rehearsal"), visit.latest("withdraw")
    rehearsed = job is not None and job.state == "done"
    source = (visit.one_table.document.get("source") or {}).get("uri", "")
    return {
        "line": line,
        "versions": [] if line is None else [_version(version) for version in line.versions],
        "unreleased": unreleased,
        "states": STATES,
        "rules": RULES,
        "rule": _rule(visit),
        "tables": visit.bench.desk.files(TABLE_ENDINGS),
        "source": source,
        "dropped": dropped_files(visit.bench),
        "job": job,
        "rehearsal": _rehearsal(job.document) if job is not None and rehearsed else None,
        "withdrawal": withdrawal,
    }


def _rule(visit: Visit) -> str:
    """Return the rule for further versions that a spec has."""
    written = visit.spec.document.get("versions", "disjoint")
    rule = written.get("rule", "disjoint") if isinstance(written, Mapping) else written
    return str(rule)


def change_rule(visit: Visit) -> None:
    """Write the rule for further versions.

    Raises:
        SpecError: where there is no such rule.
    """
    rule = visit.sent.get("rule")
    if rule not in RULES:
        raise SpecError(f"there is no such rule. Choose from {', '.join(RULES)}")
    if rule != _rule(visit):
        visit.set({("versions",): rule}, "the rule for further versions")


def _line(visit: Visit) -> tuple[ListedLine | None, str]:
    """Return the line of the spec, and why there is none, in words."""
    try:
        lines = list_lines((visit.spec.path,))
    except SfumatoError as error:
        return None, str(error)
    line = lines[0] if lines else None
    if line is None or not line.versions:
        return None, "nothing was released yet"
    return line, ""


def _version(version: Any) -> dict[str, Any]:
    entry = version.entry
    tombstone = None if entry is None else entry.tombstone
    return {
        "number": version.number,
        "state": version.state,
        "day": "" if entry is None else entry.day,
        "reason": "" if tombstone is None else tombstone.reason,
        "can_go": version.state in ("current", "superseded", "pending"),
    }


def _rehearsal(document: Any) -> dict[str, Any]:
    """Return what a rehearsed version would be, in words."""
    rows = document.get("rows") or {}
    counts = [(name.replace("_", " "), number) for name, number in rows.items() if number]
    groups = [(words, document[name]) for name, words in _COUNTS.items() if name in document]
    return {"stands": document.get("stands"), "counts": counts, "groups": groups}


def rehearse(visit: Visit) -> str:
    """Start to rehearse the next version with another table; nothing is published."""
    file = _relative(visit, visit.sent.get("file"))
    arguments = ["release", "--dry", f"--set=source.uri={file}", "--", str(visit.spec.path)]
    return visit.start(arguments, f"The rehearsal with {visit.sent.get('file')}", "rehearsal")


def rehearse_dropped(visit: Visit) -> str:
    """Put a dropped table into the folder, and start to rehearse the next version with it."""
    file = put_into_folder(visit.bench, visit.sent)
    return rehearse(replace(visit, sent=Sent((*visit.sent.pairs, ("file", file)))))


def remove_dropped(visit: Visit) -> None:
    """Delete a dropped table, which is in the private work directory only."""
    delete_dropped(visit.bench, visit.sent)


def use_table(visit: Visit) -> str:
    """Write another table as the source of the spec, and go on to its preview."""
    visit.set({("source", "uri"): _relative(visit, visit.sent.get("file"))}, "the table")
    return visit.bench.address("preview", visit.spec.name)


def _relative(visit: Visit, name: str) -> str:
    """Return the path of a table of the folder, relative to the spec."""
    path = visit.bench.desk.path(name)
    return Path(os.path.relpath(path, visit.spec.path.resolve().parent)).as_posix()


def withdraw(visit: Visit) -> str:
    """Withdraw a version for good.

    Raises:
        SpecError: where there is no such version, or no reason.
    """
    number, reason = visit.sent.get("version"), visit.sent.get("reason").strip()
    line, _ = _line(visit)
    numbers = [] if line is None else [version.number for version in line.versions]
    if line is None or line.place is None or number not in numbers:
        raise SpecError(f"{number}: is not a version of this line. Reload the page")
    if not reason:
        raise SpecError("a withdrawal needs a reason, which will be public. Write it")
    if visit.sent.get("certain") != "yes":
        raise SpecError("a withdrawal cannot be undone. Confirm it with the box beside it")
    directory = str(Path(line.place) / number)
    arguments = ["withdraw", "--yes", "--json", f"--reason={reason}", "--", directory]
    return visit.start(arguments, f"The withdrawal of version {number}")


ACTIONS = {
    "rule": change_rule,
    "rehearse": rehearse,
    "rehearse-dropped": rehearse_dropped,
    "remove-dropped": remove_dropped,
    "use": use_table,
    "withdraw": withdraw,
}
"""What the forms of the page do."""
