"""Validate parts, each by whoever works on it, and then the whole that they make."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.rules.verdicts import Expectation, Finding, require
from sfumato.tasks.candidates.continued import last_composed
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.parts.continued import parts_in, rows_left_out, write_map_of_parts
from sfumato.tasks.parts.divided import PartOnDisk, read_parts
from sfumato.tasks.private.people.store import last_in_parts
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.parts import (
    JudgePromises,
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
from sfumato.tasks.schema.stated import KeptBars, PublishedWords
from sfumato.tasks.stages.anonymize import RELEASE, SUPPRESSED
from sfumato.tasks.stages.stage import read_note
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, write_assessment
from sfumato.tasks.terms.assessment import Judge
from sfumato.tasks.terms.opened import MANIFEST
from sfumato.tasks.terms.parts import PARTS, PublishedPart
from sfumato.tasks.terms.terms import Terms
from sfumato.tasks.workers.workers import Workers, attempt, keep_attempt, open_attempts

JudgeIn = Callable[[Path], Judge]
"""What evaluates rules and promises, given a private directory for its own records."""


@dataclass(frozen=True)
class PartToJudge:
    """What a worker is told.

    Attributes:
        candidate: the stage of the part's candidate.
        attempts: where it is tried.
        withheld: names that no column may have.
        judge_in: what evaluates its rules and promises, given where it may write.
        promises: of the whole.
    """

    candidate: Path
    attempts: Path
    withheld: tuple[str, ...]
    judge_in: JudgeIn
    promises: tuple[PrivacyModel, ...]


def judge_part(job: PartToJudge) -> tuple[str, SeenPart]:
    """Judge a candidate as it is read back, and make its release; the name of the attempt.

    What is seen of it comes without the values that it counted, which lie beside the release.

    Raises:
        PromiseError: where anything is broken.
    """
    with attempt(job.attempts, job.candidate.parent.name) as place:
        shutil.copytree(job.candidate, place, copy_function=shutil.copyfile, dirs_exist_ok=True)
        assessment = assess_candidate(place, job.withheld, job.judge_in(place))
        seal_candidate(place, assessment)
        seen = see_part(assessment, job.promises)
        for number, totals in enumerate(seen.totals.values()):
            _write_totals(place, totals, number)
        return place.name, replace(seen, totals={})


def seal_candidates(
    candidate: Path,
    divided: Path,
    terms: Terms,
    withheld: Sequence[str],
    judge_in: JudgeIn,
    judge_promises: JudgePromises,
    workers: Workers,
    words: PublishedWords | None = None,
    bars: KeptBars | None = None,
    line: Path | None = None,
) -> SeenParts:
    """Judge every part, and make the release of all of them.

    Args:
        candidate: the stage of all parts.
        divided: the stage that they were made of.
        terms: what is declared of the whole.
        withheld: names that no column may have.
        judge_in: what evaluates the rules and promises of a part, given a directory to write in.
        judge_promises: what evaluates promises that compare groups with all rows.
        workers: who judges parts.
        words: what the whole says of its line and of its columns.
        bars: on attacks, which it states to be kept.
        line: its private directory, where versions are composed.

    Raises:
        PromiseError: where anything is broken.
    """
    whole, release = read_parts(divided), candidate / RELEASE
    parts = [part for part in parts_in(candidate, whole) if part is not None]
    (release / PARTS).mkdir(parents=True)
    seen = _judged(candidate, parts, terms, tuple(withheld), judge_in, workers)
    compare_parts(seen, release, judge_promises)
    require(findings_of(seen.all_verdicts()))
    lost = read_note(divided, "counts")
    published = list(_published(seen, release, parts))
    away = sum(part.rows for part in whole) - sum(part.rows for part in parts)
    declared = seen.declared(published, lost, software(), away)
    told: dict[str, Any] = {"words": words or PublishedWords(), "bars": bars}
    if line is not None and terms.composed:
        state = read_state(line)
        told["predecessor"] = last_composed(state)
        known = last_in_parts(line, state)
        write_map_of_parts(candidate, divided, published, known, state)
    declared = declared.model_copy(update=told)
    complete_whole(release, declared, seen)
    if (left_out := rows_left_out(candidate, whole, SUPPRESSED)) is not None:
        np.save(candidate / SUPPRESSED, left_out)
    write_assessment(candidate, rule_of(terms.versions), seal(release))
    return seen


def _judged(
    candidate: Path,
    parts: Sequence[PartOnDisk],
    terms: Terms,
    withheld: tuple[str, ...],
    judge_in: JudgeIn,
    workers: Workers,
) -> SeenParts:
    """What is seen of all parts, each of which takes its place in the release."""
    seen, columns = SeenParts(terms), compared_columns(terms.promises)
    with open_attempts(candidate) as attempts:
        jobs = [
            PartToJudge(
                candidate / part.name / "candidate", attempts, withheld, judge_in, terms.promises
            )
            for part in parts
        ]
        for part, (made, found) in zip(parts, workers.each(judge_part, jobs), strict=True):
            judged = candidate / part.name / "judged"
            keep_attempt(attempts, made, judged)
            totals = {name: _read_totals(judged, name, n) for n, name in enumerate(columns)}
            seen.add(replace(found, totals=totals))
            (judged / RELEASE).rename(candidate / RELEASE / PARTS / part.name)
            shutil.rmtree(candidate / part.name / "candidate" / RELEASE)
    return seen


def _published(
    seen: SeenParts, release: Path, parts: Sequence[PartOnDisk]
) -> Iterator[PublishedPart]:
    """What is declared of each part, whose numbers begin where those of parts before it end."""
    at = PlaceOfPart()
    for part, rows, sizes, targets in zip(parts, seen.rows, seen.sizes, seen.targets, strict=True):
        digest = read_canonical(release / PARTS / part.name / MANIFEST)["sfumato"]["digest"]
        yield part.published(rows.published, len(sizes), at, digest)
        at = at.after(len(sizes), targets)


def _write_totals(place: Path, totals: Totals, number: int) -> None:
    table = pa.table({"value": totals.values, "count": totals.counts})
    pq.write_table(table, place / f"totals-{number}.parquet")


def _read_totals(place: Path, name: str, number: int) -> Totals:
    table = pq.ParquetFile(place / f"totals-{number}.parquet").read()
    return Totals(name, table["value"].combine_chunks(), table["count"].to_numpy())


def join_findings(found: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """Findings of the same expectations: all must pass, and what was counted is added up."""
    known: dict[str, Finding] = {}
    for one in (one for findings in found for one in findings):
        key = Expectation(one.type, one.parameters).key
        before = known.get(key)
        known[key] = one if before is None else _sum(before, one)
    return tuple(known.values())


def _sum(one: Finding, other: Finding) -> Finding:
    both = (one.observed, other.observed)
    numbers = [n for n in both if isinstance(n, int)]
    observed = sum(numbers) if len(numbers) == len(both) else one.observed
    return replace(one, passed=one.passed and other.passed, observed=observed)
