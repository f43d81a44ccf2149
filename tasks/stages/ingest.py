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
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.rows import repeated_identifiers
from sfumato.tasks.microdata.source import as_table, read, represented_rows, rules_as_declared
from sfumato.tasks.microdata.table import load, save
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy
from sfumato.tasks.stages.stage import new_stage, write_note, write_private_list

FETCHED = "fetched"
"""The folder of a run in which objects of a store lie while they are read."""
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
    stage = new_stage(run, "source")
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
