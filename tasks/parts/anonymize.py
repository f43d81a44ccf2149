"""Anonymize parts: each is grouped and shown as a table of its own, by whoever works on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.declaration.assessment import numbers
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.partitions.partition import Partitioner
from sfumato.tasks.parts.counts import choose_for_all
from sfumato.tasks.parts.divided import PartOnDisk, read_parts
from sfumato.tasks.parts.strata import read_columns
from sfumato.tasks.publication.in_parts.rest import Totals, places, with_rest
from sfumato.tasks.publication.in_parts.whole import terms_of_part
from sfumato.tasks.stages.anonymize import write_candidate_of_part
from sfumato.tasks.stages.stage import new_stage, read_note, write_note
from sfumato.tasks.workers.attempts import attempt, keep_attempt, open_attempts
from sfumato.tasks.workers.workers import Workers


@dataclass(frozen=True)
class PartToAnonymize:
    """What a worker is told: files, and what is declared.

    Attributes:
        part: its files.
        terms: what the part declares by itself.
        attempts: where it is tried.
        randomness: what is drawn from.
        partitioner: what was chosen for all parts, where something was.
    """

    part: PartOnDisk
    terms: Terms
    attempts: Path
    randomness: Randomness
    partitioner: Partitioner | None


def anonymize_part(job: PartToAnonymize) -> str:
    """Write the candidate of a part; the name of the attempt.

    Raises:
        PromiseError: where the partition cannot keep the promises.
    """
    with attempt(job.attempts, job.part.name) as place:
        rows = job.part.rows(job.terms)
        write_candidate_of_part(rows, job.terms, place, job.randomness, job.partitioner)
        return place.name


def write_candidates(
    divided: Path, terms: Terms, run: Path, randomness: Randomness, workers: Workers
) -> Path:
    """Write the candidate of every part, in a stage of `run`; rows go as they are grouped.

    Args:
        divided: the stage of the parts.
        terms: what will be declared of the whole.
        run: the run's directory.
        randomness: what is drawn from.
        workers: who makes them.

    Raises:
        PromiseError: where a partition cannot keep the promises in some part.
    """
    parts = read_parts(divided)
    stage = new_stage(run, "candidate")
    of_parts, chosen = list(_promises_of_parts(parts, terms)), choose_for_all(parts, terms)
    with open_attempts(stage) as attempts:
        jobs = [
            PartToAnonymize(part.nameless(), own, attempts, randomness, chosen)
            for part, own in zip(parts, _terms_of_parts(parts, of_parts, terms), strict=True)
        ]
        for part, made in zip(parts, workers.each(anonymize_part, jobs), strict=True):
            keep_attempt(attempts, made, stage / part.name)
            part.delete()
    facts = {part.name: read_note(stage / part.name / "candidate", "facts") for part in parts}
    write_note(stage, "facts", facts)
    write_note(stage, "counts", {})
    return stage


def _terms_of_parts(
    parts: Sequence[PartOnDisk], promises: Sequence[tuple[PrivacyModel, ...]], terms: Terms
) -> Iterator[Terms]:
    for part, of_part in zip(parts, promises, strict=True):
        own = terms_of_part(terms, part.name, len(parts))
        yield own.model_copy(update={"promises": of_part})


def _promises_of_parts(
    parts: Sequence[PartOnDisk], terms: Terms
) -> Iterator[tuple[PrivacyModel, ...]]:
    """What each part is to keep by itself, so that the whole keeps what it promises.

    Raises:
        PromiseError: where a part is too unlike the whole for a promise that compares with it.
    """
    compared = [promise for promise in terms.promises if promise.compares_with_all]
    names = dict.fromkeys(str(promise.sensitive) for promise in compared)
    of_parts = {name: [_totals(part, name) for part in parts] for name in names}
    for number in range(len(parts)):
        seen = {
            name: with_rest(_as_group(of[number]), _sum(of), terms.columns)
            for name, of in of_parts.items()
        }
        yield tuple(
            _of_part(p, seen[str(p.sensitive)], f"part {number + 1} of {len(parts)}")
            if p.compares_with_all
            else p
            for p in terms.promises
        )


def _of_part(promise: PrivacyModel, seen: Groups, called: str) -> PrivacyModel:
    found = promise.for_part(seen)
    if found is None:
        raise PromiseError(
            f"{promise.name} cannot be kept in parts: required {numbers(promise.required())}, and "
            f"{called} as one group is as far from all rows, or farther: cut by a column that "
            "tells less of the sensitive one"
        )
    return found


def _sum(of_parts: Sequence[Totals]) -> Totals:
    whole = Totals(of_parts[0].name)
    for one in of_parts:
        whole.add_values(one.values, one.counts)
    return whole


def _totals(part: PartOnDisk, name: str) -> Totals:
    """How often each value of a column occurs in the rows of a part."""
    totals = Totals(name)
    for table in read_columns(part.strata, [name]):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        found = pc.value_counts(column)
        totals.add_values(found.field("values"), found.field("counts").to_numpy())
    return totals


def _as_group(totals: Totals) -> Groups:
    """All rows of a part as one group."""
    values = totals.values
    number = len(totals.counts)
    counts = Counts(
        np.zeros(number, dtype=np.int64),
        places(values, values),
        totals.counts,
        number,
        None,
        values,
    )
    return Groups(np.array([totals.counts.sum()]), {totals.name: counts})
