"""Anonymization of parts: each is grouped and shown as a table of its own, by a worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.candidates.continued import LineContinuation
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.distribution.target_distributions import CountsOfAllRows
from sfumato.tasks.partitions.partition import Partition, Partitioner
from sfumato.tasks.partitions.registry import OVER_ALL, PARTITIONS
from sfumato.tasks.parts.continued import (
    PartContinuation,
    continuations_of,
    continue_part,
    settle_parts,
)
from sfumato.tasks.parts.divided import PartOnDisk, read_parts
from sfumato.tasks.parts.together import (
    ValuesOnDisk,
    choose_for_all,
    over_all_values,
    terms_of_parts,
    values_of_all,
)
from sfumato.tasks.stages.anonymize import write_candidate_of_part
from sfumato.tasks.stages.stage import new_stage, read_note, write_note
from sfumato.tasks.terms.terms import Terms
from sfumato.tasks.workers.workers import Workers, attempt, keep_attempt, open_attempts


@dataclass(frozen=True)
class PartToAnonymize:
    """Files and declarations that a worker needs to anonymize a part.

    Attributes:
        part: the files of the part.
        terms: the terms of the part itself.
        attempts: the directory in which attempts to make a part are written.
        randomness: the source of random keys.
        partitioner: the partitioner chosen for all parts, or None.
        values: the counts of values in all parts, if distributions are over all of them.
        goes_on: the past that it continues, if the line is composed.
    """

    part: PartOnDisk
    terms: Terms
    attempts: Path
    randomness: Randomness
    partitioner: Partitioner | None
    values: ValuesOnDisk | None
    goes_on: PartContinuation | None = None


def anonymize_part(job: PartToAnonymize) -> str:
    """Write the candidate of a part, and return the name of the attempt.

    Raises:
        PromiseError: if the partition cannot keep the promises.
    """
    with attempt(job.attempts, job.part.name) as place:
        if job.goes_on is not None:
            continue_part(job.part, job.terms, place, job.randomness, job.goes_on)
            return place.name
        rows, partitioner = _rows_of(job)
        write_candidate_of_part(rows, job.terms, place, job.randomness, partitioner)
        return place.name


def _rows_of(job: PartToAnonymize) -> tuple[Microdata, Partitioner | None]:
    """Return the rows of a part, and its partitioner; None is for the one that terms declare."""
    rows = job.part.read(job.terms)
    if job.values is None:
        return rows, job.partitioner
    (name,) = job.terms.names_with_roles("sensitive")
    wide, counts = over_all_values(rows, job.part, name, job.values)
    of_targets = OVER_ALL.get(job.terms.partition.method)
    if of_targets is not None:
        return wide, partial(of_targets, of_all=counts)
    partition = job.partitioner or PARTITIONS[job.terms.partition.method]
    return wide, _with_targets_of(job.terms, partition, counts)


def _with_targets_of(
    terms: Terms, partition_of_rows: Partitioner, of_all: CountsOfAllRows
) -> Partitioner:
    """Return a partition that makes no targets itself, with those that p-privacy declares."""
    from sfumato.tasks.partitions.distribution.with_targets import with_declared_targets

    def partition(
        microdata: Microdata,
        strata: Sequence[str],
        promises: Sequence[PrivacyModel],
        parameters: Any,
        randomness: Randomness,
    ) -> Partition:
        grouped = partition_of_rows(microdata, strata, promises, parameters, randomness)
        return with_declared_targets(grouped, microdata, strata, terms.promises, of_all)

    return partition


def write_candidates(
    divided: Path,
    terms: Terms,
    run: Path,
    randomness: Randomness,
    workers: Workers,
    continuing: LineContinuation | None = None,
    *,
    keep_rows: bool = False,
) -> Path:
    """Write the candidate of every part, in a stage of `run`.

    Args:
        divided: the stage of the parts.
        terms: the terms of the whole.
        run: the run's directory.
        randomness: the source of random keys.
        workers: the workers that make them.
        continuing: the line, and how it continues, if versions are composed.
        keep_rows: whether the rows of parts stay after grouping, to measure accuracy by them.

    Raises:
        PromiseError: if a partition cannot keep the promises in some part, or groups cannot go
            on.
    """
    parts = read_parts(divided)
    stage = new_stage(run, "candidate")
    declared, chosen = terms_of_parts(parts, terms), choose_for_all(parts, terms)
    goes_on: Sequence[PartContinuation | None] = [None] * len(parts)
    if continuing is not None:
        goes_on = continuations_of(parts, continuing, stage)
    with open_attempts(stage) as attempts, values_of_all(parts, terms, stage) as values:
        jobs = [
            PartToAnonymize(part.nameless(), own, attempts, randomness, chosen, of_all, before)
            for part, own, of_all, before in zip(parts, declared, values, goes_on, strict=True)
        ]
        for part, made in zip(parts, workers.each(anonymize_part, jobs), strict=True):
            keep_attempt(attempts, made, stage / part.name)
            if not keep_rows:
                part.delete()
    shown_parts = parts if continuing is None else settle_parts(stage, parts, terms)
    facts = {part.name: read_note(stage / part.name / "candidate", "facts") for part in shown_parts}
    write_note(stage, "facts", facts)
    if continuing is None:
        write_note(stage, "counts", {})
    return stage
