"""What is told of a draft, gathered from its stages."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.tasks.attacks.bars import JudgedBar, judge_bars
from sfumato.tasks.attacks.declared import Bar
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.declaration.assessment import Assessment
from sfumato.tasks.declaration.utility import utility
from sfumato.tasks.drafts.left_out import RemovedRows, absent_shares, rows_left_out
from sfumato.tasks.drafts.risk import risk_before_and_after
from sfumato.tasks.microdata.table import load
from sfumato.tasks.partitions.continued.absence import Absence
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.private.line import without_suppressed
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.report.steward.draft import DraftContent
from sfumato.tasks.stages.anonymize import ABSENCES, SUPPRESSED
from sfumato.tasks.stages.stage import read_note


def draft_content(
    kept: Path,
    candidate: Path,
    assessment: Assessment,
    removed: RemovedRows,
    measured: MeasuredBounds,
    bars: Mapping[str, Bar],
    *,
    refuses: bool = False,
) -> DraftContent:
    """What is told of a draft.

    Args:
        kept: the stage of the de-identified rows.
        candidate: that of the candidate.
        assessment: of the candidate's files.
        removed: the rows that were removed before.
        measured: how accurate its answers are.
        bars: on attacks, of the spec.
        refuses: whether a release that misses its goal is refused.
    """
    shown, follows = load(kept), line_of(assessment.declared.partition) is not None
    absences = _absences(candidate, follows=follows)
    gone = rows_left_out(removed, shown, absences, follows=follows)
    people = shown if absences is None else without_suppressed(shown, absences > 0)
    counts = assessment.declared.rows.model_dump(mode="json")
    declared = assessment.declared
    targets = targets_of(declared, assessment.tables, people, assessment.whose)
    missed = missed_goal(measured.useful.missed, refuses=refuses)
    return DraftContent(
        rows={name: number for name, number in counts.items() if number},
        promises=assessment.observed(),
        risk=risk_before_and_after(shown, assessment),
        attacks={
            name: [score.document() for score in scores]
            for name, scores in attack_release(targets).items()
        },
        lost=_lost(candidate, assessment),
        accuracy=measured.public,
        why=gone.counts(),
        who=absent_shares(shown, absences),
        left_out=gone.csv(),
        warnings=[*measured.useful.warnings, *missed, *missed_bars(judge_bars(bars, targets))],
    )


def missed_goal(goal: str, *, refuses: bool) -> list[str]:
    """What is said of a goal that is missed."""
    follows = "a release would be refused" if refuses else "a release would be below-goal"
    return [f"{goal}: {follows} (evaluate.require)"] if goal else []


def missed_bars(judged: Sequence[JudgedBar]) -> list[str]:
    """What is said of bars that are not kept."""
    follows = {True: "a release would be refused", False: "a release would warn"}
    return [f"beyond {one.words}: {follows[one.refuses]}" for one in judged if not one.kept]


def _lost(candidate: Path, assessment: Assessment) -> dict[str, Any]:
    """The measures of what is lost: of labels, and what the owner alone knows."""
    facts = read_note(candidate, "facts")
    known = {name: value for name, value in facts.items() if isinstance(value, int | float)}
    sizes = assessment.groups.of_all().live
    found = utility(assessment.tables, assessment.declared, sizes)
    if found is None:
        return known
    told = {name: value for name, value in vars(found).items() if value}
    return {**{n: v if isinstance(v, int) else float(v) for n, v in told.items()}, **known}


def _absences(candidate: Path, *, follows: bool) -> np.ndarray | None:
    """Why rows are absent (int8, in canonical order), None where none is."""
    suppressed, why = candidate / SUPPRESSED, candidate / ABSENCES
    if why.exists():
        return np.asarray(np.load(why))
    if not suppressed.exists():
        return None
    only = Absence.WAITING if follows else Absence.SUPPRESSED
    return np.where(np.load(suppressed), only, Absence.NONE).astype(np.int8)
