"""Anonymize: group the rows, and write the tables that will be shown of the groups."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.candidates.anonymized import AnonymizedTable, anonymize_alone
from sfumato.tasks.candidates.continued import (
    LineContinuation,
    SlotsBefore,
    anonymize_continued,
    continue_slots,
)
from sfumato.tasks.candidates.followed import find_followed
from sfumato.tasks.candidates.remember import (
    names_in,
    write_map_followed,
    write_slots,
    write_version_before,
    write_whose,
)
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.forms.codes import with_published_codes, with_published_leaves
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.optional import diagnostics, fakes
from sfumato.tasks.lines.exposed import declared_exposure
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata, Randomness, load
from sfumato.tasks.partitions.partition import Partitioner
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.followed import FollowedLine
from sfumato.tasks.private.people.identity import canonical_row_order
from sfumato.tasks.publication.divergence import divergence
from sfumato.tasks.query.help_tables.registry import with_chosen_help
from sfumato.tasks.schema.files import read_bytes
from sfumato.tasks.schema.formats import software
from sfumato.tasks.stages.stage import CHOICE, RELATED, new_stage, read_note, write_note
from sfumato.tasks.terms.tables import TABLES, form_of, write_tables
from sfumato.tasks.terms.terms import Declared, RelatedCounts, RowCounts, Terms

RELEASE = "release"  # the folder of a candidate with what would be published, and nothing else
SUPPRESSED = "left_out.npy"
ABSENCES = "absences.npy"  # why, where a line went on; a release does not look at it


def write_candidate(
    deidentified: Path,
    terms: Terms,
    run: Path,
    randomness: Randomness,
    continuing: LineContinuation | None = None,
    line: Line | None = None,
    *,
    intervals: bool = False,
) -> Path:
    """Write the tables to be judged, and the declaration that goes with them.

    Args:
        deidentified: the stage of the table.
        terms: what will be declared.
        run: the run's directory.
        randomness: what is drawn from.
        continuing: the line, and how it goes on, where versions are composed.
        line: the line, where what versions tell together may be accepted, or groups are another's.
        intervals: whether likely intervals are calibrated on the rows that are represented.

    Raises:
        InputError: if the line whose groups are shown is not known here.
        PromiseError: if the partition cannot keep the promises, or groups cannot go on.
    """
    table, names = load(deidentified), names_in(deidentified)
    followed = None if line is None else find_followed(line, terms)
    if continuing is None or names is None:
        microdata = with_hierarchies(table, terms.hierarchies)
        made = anonymize_alone(microdata, names, terms, randomness, followed)
    else:
        made = anonymize_continued(table, names, terms, randomness, continuing, followed)
    declared = _make_declared(terms, table, made, read_note(deidentified, "counts"))
    if line is not None:
        exposed = declared_exposure(line, made.slots, terms)
        updates = {
            "words": with_published_codes(line.published_words, declared.columns, made.tables),
            "bars": line.bars,
            "window": line.window,
            "rows_apart": line.rows_apart,
        }
        declared = declared.model_copy(update={**updates, "exposure": exposed})
    if terms.has_related_rows:
        declared = _with_related_counts(declared, made, read_note(deidentified, RELATED))
    declared = with_chosen_help(declared, made.tables)
    if intervals:
        from sfumato.tasks.candidates.calibrate import with_calibrated_intervals

        original = _represented_rows(table, made, declared)
        declared = with_calibrated_intervals(declared, made.tables, original, line, randomness)
    stage = _write(table, made, declared, run, followed)
    if (deidentified / f"{CHOICE}.json").exists():
        facts = {**read_note(stage, "facts"), CHOICE: read_note(deidentified, CHOICE)}
        write_note(stage, "facts", facts)
    return stage


def write_candidate_of_part(
    table: Microdata,
    terms: Terms,
    run: Path,
    randomness: Randomness,
    partitioner: Partitioner | None = None,
) -> Path:
    """Write the candidate of one part of a table, in which no person is remembered.

    Args:
        table: the rows of the part.
        terms: what the part declares by itself.
        run: the part's directory within the run's.
        randomness: what is drawn from.
        partitioner: what has chosen for all parts, where something has.

    Raises:
        PromiseError: if the partition cannot keep the promises.
    """
    microdata = with_hierarchies(table, terms.hierarchies)
    made = anonymize_alone(microdata, None, terms, randomness, partitioner=partitioner)
    return _write(table, made, _make_declared(terms, table, made, _counts_of_part(table)), run)


def write_continued_candidate(
    table: Microdata,
    names: np.ndarray,
    terms: Terms,
    run: Path,
    randomness: Randomness,
    wish: ContinuedVersions,
    before: SlotsBefore,
    *,
    may_leave_out: bool,
) -> Path:
    """Write the candidate of a part of a composed line, which continues the part's slots.

    Args:
        table: the rows of the part.
        names: of each row's person (S16).
        terms: what the part declares by itself.
        run: the part's directory within the run's.
        randomness: what is drawn from.
        wish: how versions go on.
        before: the slots of the part, and who stays out of it.
        may_leave_out: whether the partition may leave out rows, as in a first version: of people
            who came since, that would reveal their values.

    Raises:
        PromiseError: if groups cannot go on.
    """
    _, made = continue_slots(table, names, terms, randomness, wish, before)
    if made.suppressed and not may_leave_out:
        raise PromiseError("versions: composed: new people who cannot all be grouped wait together")
    return _write(table, made, _make_declared(terms, table, made, _counts_of_part(table)), run)


def make_candidate_of_part(
    table: Microdata, terms: Terms, randomness: Randomness, partitioner: Partitioner
) -> tuple[Declared, Tables]:
    """Return the declaration and the tables of one part of a table, without writing files."""
    microdata = with_hierarchies(table, terms.hierarchies)
    made = anonymize_alone(microdata, None, terms, randomness, partitioner=partitioner)
    return _make_declared(terms, table, made, _counts_of_part(table)), made.tables


def _with_related_counts(
    declared: Declared, made: AnonymizedTable, counts: Mapping[str, int]
) -> Declared:
    """Return a declaration with the counts of related rows; suppressed people take theirs along."""
    represented = made.microdata.take(np.flatnonzero(made.shown)).related
    published = 0 if represented is None else represented.table.rows
    left_out = counts["published"] - published
    related = RelatedCounts(
        **{
            **counts,
            "published": published,
            "dropped_with_people": counts["dropped_with_people"] + left_out,
        }
    )
    return declared.model_copy(update={"related_rows": related})


def _counts_of_part(table: Microdata) -> dict[str, int]:
    dropped = ("dropped_by_filter", "dropped_for_nulls", "dropped_as_repeats")
    return {"read": table.rows, **dict.fromkeys(dropped, 0)}


def _represented_rows(table: Microdata, made: AnonymizedTable, declared: Declared) -> Microdata:
    """Return the rows that a candidate represents, before anonymization."""
    if declared.is_composed and made.slots is not None:
        return made.slots.shown_rows
    return table.take(np.flatnonzero(made.shown))


def _write(
    table: Microdata,
    made: AnonymizedTable,
    declared: Declared,
    run: Path,
    followed: FollowedLine | None = None,
) -> Path:
    stage = new_stage(run, "candidate")
    # Other formats are made of what is read back.
    write_tables(made.tables, declared, stage / RELEASE / "data", (TABLES,))
    write_note(stage, "declared", declared.model_dump(mode="json", by_alias=True))
    write_note(stage, "counts", dict(made.counts))
    write_note(
        stage, "facts", {**made.partition.facts, **made.counts, **_loss_facts(made, declared)}
    )
    if not made.shown.all():
        order = canonical_row_order(table)
        np.save(stage / SUPPRESSED, ~made.shown[order])
        if made.absences is not None:
            np.save(stage / ABSENCES, made.absences[order])
    if made.whose is not None:
        write_whose(stage, made.whose)
    if made.slots is not None:
        write_slots(stage, made.slots)
        write_version_before(stage, made.made_after)
        write_map_followed(stage, None if followed is None else followed.sha256)
    return stage


def keep_private_diagnostics(candidate: Path, private: Path) -> None:
    """Copy the private facts of a partition to the private reports of a version."""
    write_atomically(private / "partition.json", read_bytes(candidate / "facts.json"))


def declaration(candidate: Path) -> Declared:
    """Return what a candidate would declare."""
    return Declared.model_validate(read_note(candidate, "declared"))


def _loss_facts(made: AnonymizedTable, declared: Declared) -> dict[str, Any]:
    """Return measures of what the tables have lost of the grouped rows."""
    form, of_rows = form_of(declared), divergence(made.rows, made.tables, declared)
    of_form = diagnostics(
        form, made.microdata, made.partition, made.tables, declared.columns, declared.form
    )
    return {**(of_rows.document() if of_rows else {}), **of_form}


def _make_declared(
    terms: Terms, table: Microdata, made: AnonymizedTable, counts: dict[str, int]
) -> Declared:
    columns = {
        name: column.model_copy(update={"scale": made.microdata[name].values.type.scale})
        if column.type == "decimal"
        else column
        for name, column in terms.columns.items()
    }
    form = form_of(terms)
    made_up = fakes(form, made.tables)
    published = int(made.shown.sum())
    rows = RowCounts(
        read=counts["read"],
        dropped_by_filter=counts["dropped_by_filter"],
        dropped_for_nulls=counts["dropped_for_nulls"],
        dropped_as_repeats=counts["dropped_as_repeats"],
        suppressed=made.suppressed + counts.get("suppressed", 0),
        published=published,
        fakes=made_up,
        vacant=0 if made_up else made.vacant,
        not_represented_versions=table.rows - published - made.suppressed,
    )
    described = with_published_leaves(columns, made.tables)
    return Declared(
        **{**{name: getattr(terms, name) for name in Terms.model_fields}, "columns": described},
        rows=rows,
        software=software(),
        predecessor=made.predecessor,
    )
