"""Validation of parts, each by a worker, and then of the whole that they make."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.rules.verdicts import Expectation, Finding, require
from sfumato.tasks.candidates.continued import last_composed
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.line import Line
from sfumato.tasks.parts.continued import parts_in, rows_left_out, write_map_of_parts
from sfumato.tasks.parts.divided import PartOnDisk, read_parts
from sfumato.tasks.private.people.store import last_in_parts
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.parts import (
    PlaceOfPart,
    SeenPart,
    SeenParts,
    Totals,
    compared_columns,
    findings_of,
    see_part,
)
from sfumato.tasks.publication.parts_files import complete_whole
from sfumato.tasks.publication.parts_read import compare_parts
from sfumato.tasks.publication.staging import seal
from sfumato.tasks.schema.files import read_canonical
from sfumato.tasks.schema.formats import software
from sfumato.tasks.stages.anonymize import RELEASE, SUPPRESSED
from sfumato.tasks.stages.stage import gate_documents, read_note
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, write_assessment
from sfumato.tasks.terms.assessment import Judge
from sfumato.tasks.terms.opened import MANIFEST
from sfumato.tasks.terms.parts import PARTS, PublishedPart
from sfumato.tasks.terms.terms import Terms
from sfumato.tasks.workers.workers import Workers, attempt, keep_attempt, open_attempts

JudgeIn = Callable[[Path], Judge]
"""Makes a judge of rules and promises, given a private directory for its own records."""


@dataclass(frozen=True)
class PartToJudge:
    """Files and promises that a worker needs to judge a part.

    Attributes:
        candidate: the stage of the part's candidate.
        attempts: the directory of attempts.
        withheld: the names that no column may have.
        judge_in: evaluates its rules and promises, given a directory to write in.
        promises: the promises of the whole.
    """

    candidate: Path
    attempts: Path
    withheld: tuple[str, ...]
    judge_in: JudgeIn
    promises: tuple[PrivacyModel, ...]


def judge_part(job: PartToJudge) -> tuple[str, SeenPart]:
    """Judge a part as it is read back, and make its release.

    Returns:
        The name of the attempt's folder, and the view of the part without `totals`, which are in
        files of that folder.

    Raises:
        PromiseError: if anything is broken.
    """
    with attempt(job.attempts, job.candidate.parent.name) as place:
        shutil.copytree(job.candidate, place, copy_function=shutil.copyfile, dirs_exist_ok=True)
        assessment = assess_candidate(place, job.withheld, job.judge_in(place))
        seal_candidate(place, assessment)
        seen = see_part(assessment, job.promises)
        for number, totals in enumerate(seen.totals.values()):
            totals.write(place / f"totals-{number}.parquet")
        return place.name, replace(seen, totals={})


def judge_in(line: str, place: Path) -> Judge:
    """Return the gate of a line, which keeps its own records in a private directory."""
    # Great Expectations takes seconds to import.
    from sfumato.expectations.suites.gate import judge

    return partial(judge, line, documents=gate_documents(place))


def seal_candidates(
    candidate: Path,
    divided: Path,
    terms: Terms,
    withheld: Sequence[str],
    line: Line,
    workers: Workers,
    judging: JudgeIn | None = None,
) -> SeenParts:
    """Judge every part, and make the release of all of them.

    Args:
        candidate: the stage of all parts.
        divided: the stage of the divided table.
        terms: the terms of the whole.
        withheld: the names that no column may have.
        line: its line.
        workers: the workers that judge parts.
        judging: evaluates rules and promises, given a directory to write in; None for the gate of
            the line.

    Raises:
        PromiseError: if anything is broken.
    """
    whole, release = read_parts(divided), candidate / RELEASE
    parts = [part for part in parts_in(candidate, whole) if part is not None]
    (release / PARTS).mkdir(parents=True)
    judging = judging or partial(judge_in, line.name)
    seen = _judge_parts(candidate, parts, terms, tuple(withheld), judging, workers)
    compare_parts(seen, release, partial(judging(candidate), {}, {}))
    require(findings_of(seen.all_verdicts()))
    lost = read_note(divided, "counts")
    published = list(_declared_parts(seen, release, parts))
    away = sum(part.rows for part in whole) - sum(part.rows for part in parts)
    declared = seen.declare(published, lost, software(), away)
    stated: dict[str, Any] = {"words": line.published_words, "bars": line.bars}
    if terms.is_composed:
        state = read_state(line.private)
        stated["predecessor"] = last_composed(state)
        last_map = last_in_parts(line.private, state)
        write_map_of_parts(candidate, divided, published, last_map, state)
    declared = declared.model_copy(update=stated)
    complete_whole(release, declared, seen)
    if (left_out := rows_left_out(candidate, whole, SUPPRESSED)) is not None:
        np.save(candidate / SUPPRESSED, left_out)
    write_assessment(candidate, rule_of(terms.versions), seal(release))
    return seen


def _judge_parts(
    candidate: Path,
    parts: Sequence[PartOnDisk],
    terms: Terms,
    withheld: tuple[str, ...],
    judge_in: JudgeIn,
    workers: Workers,
) -> SeenParts:
    """Judge all parts, and move each to its place in the release; return what was observed."""
    seen, columns = SeenParts(terms), compared_columns(terms.promises)
    with open_attempts(candidate) as attempts:
        jobs = [
            PartToJudge(
                candidate / part.name / "candidate", attempts, withheld, judge_in, terms.promises
            )
            for part in parts
        ]
        for part, (made, seen_part) in zip(parts, workers.each(judge_part, jobs), strict=True):
            judged = candidate / part.name / "judged"
            keep_attempt(attempts, made, judged)
            totals = {
                name: Totals.read(judged / f"totals-{number}.parquet", name)
                for number, name in enumerate(columns)
            }
            seen.add(replace(seen_part, totals=totals))
            (judged / RELEASE).rename(candidate / RELEASE / PARTS / part.name)
            shutil.rmtree(candidate / part.name / "candidate" / RELEASE)
    return seen


def _declared_parts(
    seen: SeenParts, release: Path, parts: Sequence[PartOnDisk]
) -> Iterator[PublishedPart]:
    """Yield the declaration of each part; groups and targets are numbered on from part to part."""
    place = PlaceOfPart()
    for part, rows, sizes, targets in zip(parts, seen.rows, seen.sizes, seen.targets, strict=True):
        digest = read_canonical(release / PARTS / part.name / MANIFEST)["sfumato"]["digest"]
        yield part.declaration(rows.published, len(sizes), place, digest)
        place = place.next_place(len(sizes), targets)


def join_findings(findings_of_parts: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """Return findings of the same expectations joined: all must pass, and counts are added up."""
    joined: dict[str, Finding] = {}
    for finding in (finding for findings in findings_of_parts for finding in findings):
        key = Expectation(finding.type, finding.parameters).key
        before = joined.get(key)
        joined[key] = finding if before is None else _sum(before, finding)
    return tuple(joined.values())


def _sum(first: Finding, second: Finding) -> Finding:
    both = (first.observed, second.observed)
    numbers = [n for n in both if isinstance(n, int)]
    observed = sum(numbers) if len(numbers) == len(both) else first.observed
    return replace(first, passed=first.passed and second.passed, observed=observed)
