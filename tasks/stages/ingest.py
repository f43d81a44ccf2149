"""Ingest: read the source as declared, in dictionary codes, then keep the represented rows."""

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.arrays.at_rest import is_encrypted
from sfumato.tasks.microdata.hierarchies import absent_leaves
from sfumato.tasks.microdata.readers.declared import RelatedSource, Source
from sfumato.tasks.microdata.readers.input_error import NO_ROWS
from sfumato.tasks.microdata.rows import repeated_identifiers
from sfumato.tasks.microdata.source import as_table, read, represented_rows, rules_as_declared
from sfumato.tasks.microdata.table import load, save
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy
from sfumato.tasks.stages.stage import (
    RELATED,
    new_stage,
    read_note,
    write_note,
    write_private_list,
)
from sfumato.tasks.terms.terms import RelatedCounts

FETCHED = "fetched"
"""The folder of a run in which objects of a store lie while they are read."""
SOURCE = "source"
"""The stage of a run with its whole source."""
ABSENT = "absent-leaves.csv"
"""The file of a line with values that its hierarchies lack."""
Columns = Mapping[str, ColumnSpec]


def write_source(
    source: Source, columns: Columns, base: Path, run: Path, judged: Collection[str] = ()
) -> Path:
    """Read the whole source, whose paths are relative to `base`, into a stage of `run`.

    `judged` are the columns that rules of the owner's own judge: these are read even if dropped.
    """
    with place_of_objects(run) as fetched:
        whole = read(source, columns, base, with_secrets(os.environ), fetched, judged)
    stage = new_stage(run, SOURCE)
    save(whole, stage)
    return stage


@contextmanager
def place_of_objects(run: Path) -> Iterator[Path]:
    """Yield a path in a run for objects fetched from a store, and delete it afterwards."""
    try:
        yield run / FETCHED
    finally:
        shutil.rmtree(run / FETCHED, ignore_errors=True)


def _list_privately(absent: Mapping[str, Sequence[str]], place: Path) -> str:
    rows = [(name, value) for name, values in absent.items() for value in values]
    write_private_list(place, ("column", "value"), rows)
    return f" (a private list of the values without a leaf is in {place})"


def source_table(whole: Path, columns: Columns) -> tuple[pa.Table, tuple[Rule, ...]]:
    """Return the table of a source stage, dictionary-encoded, and the declared rules."""
    microdata = load(whole)
    return as_table(microdata), rules_as_declared(columns, microdata)


def rows_of_one_person(ingested: Path, columns: Columns) -> str | None:
    """Return the fault of identifiers that repeat although each row counts as a person.

    Returns None if no identifier repeats.
    """
    repeated = repeated_identifiers(load(ingested), columns)
    if not repeated:
        return None
    return (
        f"columns.{repeated[0]}: several rows have the same value, and `unit: row` "
        "counts each row as a person. If it identifies people, make it the unit "
        "(`unit: true`, and `repeat: all` or `repeat: keep-one`). Otherwise write why "
        "these rows are about different people (unprotected: REASON)"
    )


def accepted_rows(ingested: Path, columns: Columns) -> list[str]:
    """Return warnings about repeated identifiers that the spec accepts, with its reasons."""
    reasons = {n: c.unprotected for n, c in columns.items() if c.role == "identifier"}
    if not any(reasons.values()):
        return []
    apart = {n: c.model_copy(update={"unprotected": None}) for n, c in columns.items()}
    return [
        f"columns.{name}: several rows have the same value, and each counts as a person: {why}"
        for name in repeated_identifiers(load(ingested), apart)
        if (why := reasons[name])
    ]


def write_related_source(
    related: RelatedSource, columns: Columns, base: Path, run: Path, judged: Collection[str] = ()
) -> Path:
    """Read the whole source of related rows, its key among `columns`, into a stage of `run`.

    Raises:
        InputError: if there are no rows, or they are not as declared.
    """
    try:
        with place_of_objects(run) as fetched:
            whole = read(related.source, columns, base, with_secrets(os.environ), fetched, judged)
    except InputError as error:
        if not str(error).endswith(NO_ROWS):
            raise
        raise InputError(
            f"{error}, so nothing belongs to the people. Check source.uri and source.query of this "
            "table, or publish only the people (source and columns in place of tables)"
        ) from None
    stage = new_stage(run, "related-source")
    save(whole, stage)
    return stage


def write_with_related(
    ingested: Path,
    whole: Path,
    related: RelatedSource,
    columns: Columns,
    nulls: NullPolicy,
    base: Path,
    run: Path,
    facts: Columns | None = None,
) -> Path:
    """Write people with the related rows that are represented, into a stage of `run`.

    Args:
        ingested: the stage of the people who are represented.
        whole: the stage of all related rows.
        related: how they are read.
        columns: of the related rows, their key among them.
        nulls: the null policy of columns that name none.
        base: the directory that paths are relative to.
        run: the run's directory.
        facts: the columns of people that are computed from the rows.

    Raises:
        SpecError: if the SQL of a fact does not fit.
        InputError: if rows break a null policy, name nobody, or no row is left; if a fact cannot be
            computed.
    """
    from sfumato.tasks.microdata.related import match_related

    rows = represented_rows(load(whole), related.source, columns, nulls, base)
    everybody = load(run / SOURCE)[related.key]
    matched = match_related(
        load(ingested), everybody, rows.microdata, related, columns, facts or {}, nulls
    )
    stage = new_stage(run, "with-related")
    save(matched.microdata, stage)
    of_people = read_note(ingested, "counts")
    without = of_people["dropped_for_nulls"] + matched.without_fact
    counted = {"suppressed": matched.above_cap, "dropped_for_nulls": without}
    write_note(stage, "counts", of_people | counted)
    published = matched.microdata.related
    counts = RelatedCounts(
        read=rows.read,
        dropped_by_filter=rows.dropped_by_filter,
        dropped_for_nulls=rows.dropped_for_nulls,
        dropped_as_orphans=matched.orphans,
        dropped_with_people=matched.with_people,
        published=0 if published is None else published.table.rows,
    )
    write_note(stage, RELATED, counts.model_dump())
    return stage


def write_ingested(
    whole: Path, source: Source, columns: Columns, nulls: NullPolicy, base: Path, run: Path
) -> Path:
    """Keep the represented rows of a source stage, in a stage of `run`.

    Raises:
        InputError: if a row breaks a null policy, repeats a unit or is in no hierarchy; values
            in no hierarchy are listed in a private file of the line, unless stages are encrypted.
    """
    microdata = load(whole)
    try:
        ingested = represented_rows(microdata, source, columns, nulls, base)
    except InputError as error:
        absent = {} if is_encrypted(run) else absent_leaves(microdata, columns, base)
        listed = _list_privately(absent, run.parents[1] / ABSENT) if absent else ""
        raise InputError(f"{error}{listed}") from None
    stage = new_stage(run, "ingested")
    save(ingested.microdata, stage)
    write_note(stage, "counts", {k: v for k, v in vars(ingested).items() if k != "microdata"})
    return stage
