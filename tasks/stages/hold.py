"""Hold: a validated candidate waits in its line, with everything that its publication needs."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.approval.held import (
    CANDIDATE,
    IDENTITY,
    REPORT,
    HeldCandidate,
    end,
    put,
    seal_digest,
    state_digest,
)
from sfumato.tasks.approval.request import DecisionSubject, request_approval, write_request
from sfumato.tasks.approval.settle import settle
from sfumato.tasks.candidates.remember import forget_whose
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.durable import copy_atomically, sync_tree
from sfumato.tasks.private.people.backup import ATTACKED
from sfumato.tasks.private.workdir import private_directory, state_lock
from sfumato.tasks.publication.staging import digest_in
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds, Usefulness
from sfumato.tasks.report.steward.tables import write_review_page
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.stages.anonymize import RELEASE
from sfumato.tasks.stages.deidentify import identity, keep_identity, keep_texts
from sfumato.tasks.stages.stage import move_documents, read_note
from sfumato.tasks.terms.opened import Release, open_release

RISK = "risk-rows"
STATED_POLICY = "policy.json"
"""The answers to a policy's questions, among private reports."""
_ACCURACY, _USEFUL = "accuracy.json", "usefulness.json"


def report_place(run: Path) -> Path:
    """Return the directory of a run for the reports that owner and reviewers will see."""
    return private_directory(private_directory(run / "held") / REPORT)


def hold_candidate(
    candidate: Path,
    deidentified: Path,
    line: Line,
    days: int,
    measured: MeasuredBounds | None,
    now: datetime,
) -> HeldCandidate:
    """Let a candidate wait for approval.

    If a candidate of the same source and spec waits already, that one stays.

    Args:
        candidate: its stage, which is taken away.
        deidentified: the stage of the table that it is of.
        line: its line.
        days: for which it waits.
        measured: how accurate it is, None if that was not measured.
        now: when it begins to.
    """
    staged = candidate.parent / "held"
    private_directory(staged)
    keep_identity(deidentified, private_directory(staged / IDENTITY))
    move_documents(candidate)
    forget_whose(candidate)
    candidate.rename(staged / CANDIDATE)
    _report(staged, deidentified, line, measured)
    whose = identity(staged / IDENTITY)
    with state_lock(line.private):
        waiting = settle(line, now)
        if waiting is not None and waiting.request.is_of(whose):
            return waiting
        if waiting is not None:
            end(line.private, waiting, "superseded", now)
        request = DecisionSubject(
            line=line.name,
            digest=digest_in(staged / CANDIDATE / RELEASE),
            sealed=seal_digest(staged),
            state=state_digest(line.private),
            reviewers=line.reviewers,
        )
        write_request(staged, request_approval(request, whose, days, now))
        sync_tree(staged)
        return put(staged, line.private)


def read_measured(candidate: HeldCandidate) -> MeasuredBounds | None:
    """Return the public accuracy of a candidate, None if it was not measured."""
    public = read_json(candidate.report / _ACCURACY, None)
    if public is None:
        return None
    place = candidate.report / _USEFUL
    words = read_json(place, None) if place.exists() else {}
    useful = Usefulness(**{**words, "warnings": tuple(words.get("warnings", ()))})
    return MeasuredBounds(public, useful)


def keep_report(candidate: HeldCandidate, reports: Path) -> None:
    """Copy the report that owner and reviewers saw of a candidate to its version's reports."""
    for file in candidate.report.iterdir():
        copy_atomically(file, reports / file.name)


def keep_risk(deidentified: Path, reports: Path) -> None:
    """Copy the risk of a table to private reports, if it was measured."""
    place = deidentified / f"{RISK}.json"
    if place.exists():
        copy_atomically(place, reports / place.name)


def _report(
    staged: Path,
    deidentified: Path,
    line: Line,
    measured: MeasuredBounds | None,
) -> None:
    place, release = private_directory(staged / REPORT), open_release(staged / CANDIDATE / RELEASE)
    public = None if measured is None else measured.public
    (place / _ACCURACY).write_text(json.dumps(public), encoding="utf-8", newline="\n")
    if measured is not None:
        useful = json.dumps(vars(measured.useful))
        (place / _USEFUL).write_text(useful, encoding="utf-8", newline="\n")
    risk = read_note(deidentified, RISK) if (deidentified / f"{RISK}.json").exists() else {}
    keep_risk(deidentified, place)
    keep_texts(deidentified, place)
    before = _current_release(line)
    changes = None if before is None else _difference(before, release)
    bars, policy = _bars(place / ATTACKED), _policy(place, release, line)
    write_review_page(place, release, risk, public, changes, bars, policy)


def _policy(place: Path, release: Release, line: Line) -> Mapping[str, Any] | None:
    """Keep what people stated under the policy among the files that reviewers sign.

    Returns:
        The policy with what was decided and stated, None without one.
    """
    if release.declared.policy is None:
        return None
    from sfumato.tasks.report.steward.policy import policy_document  # few lines have a policy

    stated = json.dumps(line.policy, ensure_ascii=False)
    (place / STATED_POLICY).write_text(stated, encoding="utf-8", newline="\n")
    return policy_document(release, line.policy)


def _bars(place: Path) -> list[dict[str, Any]]:
    """Return the bars on attacks that a candidate was judged by, none if the spec has none."""
    bars: list[dict[str, Any]] = read_json(place, None)["bars"] if place.exists() else []
    return bars


def _current_release(line: Line) -> Release | None:
    """Return the version that is current now, None if there is none."""
    current = read_record(line.public).current
    return None if current is None else open_release(line.public / current)


def _difference(before: Release, release: Release) -> Mapping[str, Any] | None:
    """Return the changes that a candidate brings, None if the versions cannot be compared."""
    from sfumato.tasks.lines.difference import difference  # only lines with reviewers need it

    try:
        return difference(before, release)
    except SfumatoError:
        return None
