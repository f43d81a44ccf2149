"""Drafts of a release: a copy of the line, the draft's content, and risk before and after.

The making of drafts belongs here; anything that could reach the line or the public place does not.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.measures.risk import Risk, risk
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.attacks.bars import JudgedBar, judge_bars
from sfumato.tasks.attacks.declared import Bar
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.choose.left_out import RemovedRows, absent_shares, rows_left_out
from sfumato.tasks.continued.survivors import Absence
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.table import Microdata, load
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.private.people.identity import without_suppressed
from sfumato.tasks.private.people.keys import PEOPLE
from sfumato.tasks.private.state import STATE
from sfumato.tasks.private.workdir import private_directory, state_lock
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.report.steward.draft import DraftContent
from sfumato.tasks.report.steward.tables import related_row_counts
from sfumato.tasks.stages.anonymize import ABSENCES, RELEASE, SUPPRESSED
from sfumato.tasks.stages.stage import read_note
from sfumato.tasks.terms.assessment import Assessment
from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.terms.utility import utility

_DECIMALS = 1000  # of a share that can be promised
_NOT_STATE = shutil.ignore_patterns("runs", "reports", "handed-over", "review", ".*")


def risk_before_and_after(table: Microdata, assessment: Assessment) -> list[dict[str, Any]]:
    """Return the shares of rows in small groups, by the quasi-identifiers that an attacker knows.

    If quasi-identifiers are published unchanged, the risk does not change: a person can still be
    recognized in the table, and only the link to the sensitive value is hidden.

    Args:
        table: the rows that were to be published.
        assessment: of the candidate.
    """
    declared = assessment.declared
    before = risk(groups_of(table, declared.names_with_roles("quasi-identifier"), []))
    after = risk(assessment.groups.of_all()) if declared.is_recoded else before
    return compare_risks(before, after)


def compare_risks(before: Risk | None, after: Risk | None) -> list[dict[str, Any]]:
    """Return measures of risk side by side; an empty list if there are no rows."""
    if before is None or after is None:
        return []
    now = _shares(after)
    return [
        {"measure": measure, "before": share, "after": now[measure]}
        for measure, share in _shares(before).items()
    ]


def _shares(measures: Risk) -> dict[str, float]:
    """Return the measures by their names, as shares of the rows."""
    small = {
        f"in groups of fewer than {size}": n / measures.rows for size, n in measures.smaller.items()
    }
    return {
        "alone with its quasi-identifiers": measures.alone / measures.rows,
        **small,
        "prosecutor risk, highest": float(measures.highest),
        "prosecutor risk, average": float(measures.average),
    }


def draft_content(
    stage: Path,
    candidate: Path,
    assessment: Assessment,
    removed: RemovedRows,
    measured: MeasuredBounds,
    bars: Mapping[str, Bar],
    *,
    refuses: bool = False,
) -> DraftContent:
    """Return the content of a draft's report.

    Args:
        stage: the stage of the de-identified rows.
        candidate: the stage of the candidate.
        assessment: of the candidate's files.
        removed: the rows that were removed before.
        measured: the accuracy of its answers.
        bars: the limits of the spec for attacks.
        refuses: whether a release that misses its goal is refused.
    """
    table, follows = load(stage), line_of(assessment.declared.partition) is not None
    absences = _absences(candidate, follows=follows)
    gone = rows_left_out(removed, table, absences, follows=follows)
    people = table if absences is None else without_suppressed(table, absences > 0)
    counts = assessment.declared.rows.model_dump(mode="json")
    declared = assessment.declared
    targets = targets_of(declared, assessment.tables, people, assessment.whose)
    missed = missed_goal(measured.useful.missed, refuses=refuses)
    return DraftContent(
        rows={name: number for name, number in counts.items() if number},
        promises=assessment.verdict_documents(),
        risk=risk_before_and_after(table, assessment),
        attacks={
            name: [score.document() for score in scores]
            for name, scores in attack_release(targets).items()
        },
        lost=_information_loss(candidate, assessment),
        accuracy=measured.public,
        why=gone.counts(),
        who=absent_shares(table, absences),
        left_out=gone.csv(),
        warnings=[*measured.useful.warnings, *missed, *missed_bars(judge_bars(bars, targets))],
        related=_related_counts(open_release(candidate / RELEASE), people),
    )


def at_best_lines(
    promises: Sequence[PrivacyModel], stakes: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return what all people as one group keep of each promise, in words.

    Args:
        promises: the promises.
        stakes: their figures, as `measure_feasibility` returns them.
    """
    lines = []
    for promise, figures in zip(promises, stakes, strict=True):
        column = f" of {promise.sensitive}" if promise.sensitive else ""
        best = [
            f"{parameter} {_in_digits(figures[f'at best {parameter}'])}"
            for parameter in promise.required()
            if figures.get(f"at best {parameter}") is not None
        ]
        if best:
            lines.append(f"{promise.name}{column}: {', '.join(best)}, with all people as one group")
    return lines


def _in_digits(figure: int | str) -> str:
    """Return a figure of a promise for people; a share is rounded up to thousandths.

    >>> _in_digits(1500), _in_digits("1/3")
    ('1,500', '0.334')
    """
    number = Fraction(figure)
    if number.denominator == 1:
        return f"{int(number):,}"
    return f"{ceil(number * _DECIMALS) / _DECIMALS:g}"


def _related_counts(release: Release, people: Microdata) -> dict[str, dict[str, int]]:
    """Return the numbers of rows of a second table, and of people without any, by its name."""
    if people.related is None:
        return {}
    without = people.rows - len(np.unique(people.related.owner))
    return {
        name: {**counts, "people without any": without}
        for name, counts in related_row_counts(release).items()
    }


def missed_goal(goal: str, *, refuses: bool) -> list[str]:
    """Return the warning about a goal that is missed."""
    follows = "a release would be refused" if refuses else "a release would be below-goal"
    return [f"{goal}: {follows} (evaluate.require)"] if goal else []


def missed_bars(judged: Sequence[JudgedBar]) -> list[str]:
    """Return the warnings about bars that are not kept."""
    follows = {True: "a release would be refused", False: "a release would warn"}
    return [f"beyond {bar.words}: {follows[bar.refuses]}" for bar in judged if not bar.is_kept]


def _information_loss(candidate: Path, assessment: Assessment) -> dict[str, Any]:
    """Return the measures of lost information: of labels, and those that only the owner may see."""
    facts = read_note(candidate, "facts")
    owner_measures = {
        name: value for name, value in facts.items() if isinstance(value, int | float)
    }
    sizes = assessment.groups.of_all().live
    losses = utility(assessment.tables, assessment.declared, sizes)
    if losses is None:
        return owner_measures
    nonzero = {name: value for name, value in vars(losses).items() if value}
    return {
        **{n: v if isinstance(v, int) else float(v) for n, v in nonzero.items()},
        **owner_measures,
    }


def _absences(candidate: Path, *, follows: bool) -> np.ndarray | None:
    """Return the reason why each row is absent (int8, in canonical order); None if no row is."""
    suppressed, why = candidate / SUPPRESSED, candidate / ABSENCES
    if why.exists():
        return np.asarray(np.load(why))
    if not suppressed.exists():
        return None
    only = Absence.WAITING if follows else Absence.SUPPRESSED
    return np.where(np.load(suppressed), only, Absence.NONE).astype(np.int8)


@contextmanager
def line_apart(line: Line, place: Path) -> Iterator[Line]:
    """Copy the private state of a line into a private directory, and remove the copy at the end.

    If a line has no keys yet, they are drawn in the copy. The other lines that have a version are
    copied as well, so that people who are in both are refused here as by a release.

    Args:
        line: the line to copy.
        place: the directory for the copy.
    """
    work = private_directory(place / "work")
    copied = private_directory(work / line.name)
    with state_lock(line.private):
        others = sorted(path.parent.name for path in line.work.glob(f"*/{STATE}"))
        for name in dict.fromkeys((PEOPLE, line.name, *filter(None, [line.groups]), *others)):
            if (line.work / name).is_dir():
                shutil.copytree(
                    line.work / name, work / name, ignore=_NOT_STATE, dirs_exist_ok=True
                )
    try:
        yield replace(line, private=copied)
    finally:
        shutil.rmtree(work)
        _leave_no_directory(line.private)


def _leave_no_directory(private: Path) -> None:
    """Remove the private directory of a line that was never released, if it is still there."""
    if private.is_dir() and {path.name for path in private.iterdir()} <= {".publishing"}:
        with suppress(OSError):
            (private / ".publishing").unlink(missing_ok=True)
            private.rmdir()
