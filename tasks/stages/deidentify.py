"""De-identify: identifiers are removed, keyed hashes stay private, and open choices are made.

Published values are coded here, and all later stages see only coded values. Rows are compared with
those of other lines by their values as they were read, since other lines may code them otherwise.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.tasks.arrays.at_rest import is_encrypted, read_stage_table, write_stage_table
from sfumato.tasks.candidates.remember import Remember, write_names
from sfumato.tasks.candidates.wished import Choosing, WishedTerms, frozen_choice
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.suspect_values import SensitiveTexts
from sfumato.tasks.microdata.table import Microdata, Randomness, load, save
from sfumato.tasks.private.durable import copy_atomically
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.coding import code_published
from sfumato.tasks.private.people.frozen import FrozenCodings, keep_choice
from sfumato.tasks.private.people.identity import Identity, fingerprint, unit_hashes
from sfumato.tasks.private.people.keys import names_of, names_of_values, people_key
from sfumato.tasks.private.people.lines import rows_as_written, units_met
from sfumato.tasks.private.people.source_rows import Rows, RowsInFile, hashed_rows, normal_rows
from sfumato.tasks.private.people.spelled import spelled_units
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.stages.stage import (
    CHOICE,
    RELATED,
    new_stage,
    read_note,
    write_note,
    write_private_list,
)
from sfumato.tasks.terms.people import Identifiers
from sfumato.tasks.terms.terms import Terms

if TYPE_CHECKING:
    from sfumato.tasks.candidates.choosing import TriedChoice


_ROWS_IN_PARTS = "rows-in-parts.parquet"  # as written, of what earlier software read
_CODINGS = "codings"
_LARGE = 1 << 28  # bytes
LISTED = "sensitive-texts.csv"
"""The file of a line with the sensitive texts that were refused or warned of."""
_NOTE = "sensitive-texts"


UNITS, SPELLED_UNITS = "units.npy", "units-normal.npy"


ROWS_NORMAL, ROWS_AS_WRITTEN = "rows-normal.parquet", "hashed.parquet"
"""The files of a stage with its rows as keyed hashes."""


def write_deidentified(
    ingested: Path,
    terms: Terms,
    identifiers: Identifiers,
    line: Path,
    run: Path,
    remember: Remember = "map",
    *,
    others: bool = False,
) -> Path:
    """Keep the columns to be published, and the identity of their people and rows.

    Args:
        ingested: the stage of the source.
        terms: what will be declared.
        identifiers: those that say whose the rows are.
        line: the line's private directory.
        run: the run's directory.
        remember: whether the line is to know who is in which group.
        others: whether people who come are said not to be those who left.

    Raises:
        InputError: if a value cannot be coded, or a column holds free text.
        PromiseError: if the line has lost what its versions were coded by.
    """
    secret, unit = line_key(line), identifiers.unit
    microdata = load(ingested)
    coded = code_published(microdata, terms.columns, terms.digest(), unit, line)
    published = coded.microdata
    stage = new_stage(run, "deidentified")
    published = replace(published, person=persons_counted(microdata, terms, identifiers))
    save(published, stage)
    write_note(stage, "counts", read_note(ingested, "counts"))
    if microdata.related is not None:
        write_note(stage, RELATED, read_note(ingested, RELATED))
    names, met, people = None, dict[str, int](), people_key(line.parent)
    if unit is not None:
        np.save(stage / UNITS, unit_hashes(microdata[unit], secret))
        of_values = names_of_values(microdata[unit].values, people)
        np.save(stage / SPELLED_UNITS, spelled_units(microdata[unit], of_values, people))
        names = of_values[microdata[unit].codes]
        met = units_met(line.parent, line.name, microdata[unit], names)
        if remember == "map" and not terms.over_people:
            write_names(stage, names)
    as_read = microdata.keep(microdata[name] for name in terms.columns if microdata.has(name))
    write_stage_table(normal_rows(as_read, people, names), stage / ROWS_NORMAL)
    if rows_as_written(line.parent, line.name):
        write_stage_table(hashed_rows(as_read, people), stage / ROWS_AS_WRITTEN)
    rows = fingerprint(
        published, secret, names_for_fingerprint(microdata, terms, identifiers, line)
    )
    keeps_rows = unit is None or remember == "map"
    facts = {"rows": rows, "spec": terms.digest(), "met": met}
    write_note(stage, "identity", {**facts, "keeps_rows": keeps_rows, "others": others})
    write_codings(stage, coded.used)
    return stage


def persons_counted(source: Microdata, terms: Terms, identifiers: Identifiers) -> np.ndarray | None:
    """Return the person of each row (int32, from 0), None if each row is a different person."""
    several = terms.over_people and not terms.has_related_rows
    if identifiers.counted_column is None or not several:
        return None
    return source[identifiers.counted_column].codes


def names_for_fingerprint(
    source: Microdata, terms: Terms, identifiers: Identifiers, line: Path
) -> np.ndarray | None:
    """Return the names of people or households (S16), None if they make no other version."""
    if not terms.tells_whose or identifiers.counted_column is None:
        return None
    return names_of(source[identifiers.counted_column], people_key(line.parent))


def write_codings(stage: Path, used: FrozenCodings) -> None:
    """Write the codings of a stage's columns, for the line to keep."""
    write_note(stage, _CODINGS, used.model_dump(mode="json"))


def keep_identity(deidentified: Path, place: Path) -> None:
    """Move the identity of a stage's people and rows to another place, without its table."""
    files = (UNITS, SPELLED_UNITS, ROWS_NORMAL, ROWS_AS_WRITTEN, _ROWS_IN_PARTS)
    for name in ("identity.json", f"{_CODINGS}.json", *files):
        if (deidentified / name).exists():
            (deidentified / name).rename(place / name)


def identity(deidentified: Path) -> Identity:
    """Return the identity of a de-identified stage: people, rows and codings."""
    units, spelled = deidentified / UNITS, deidentified / SPELLED_UNITS
    return Identity(
        **read_note(deidentified, "identity"),
        units=_read_array(units) if units.exists() else None,
        spelled=_read_array(spelled) if spelled.exists() else None,
        normal=_read_hashed(deidentified / ROWS_NORMAL),
        hashed=_read_hashed(deidentified / ROWS_AS_WRITTEN)
        or _read_hashed(deidentified / _ROWS_IN_PARTS),
        codings=FrozenCodings.model_validate(read_note(deidentified, _CODINGS)),
    )


def _read_hashed(place: Path) -> Rows | None:
    """Return hashed rows, in their file unless it is encrypted; None if there are none."""
    if not place.exists():
        return None
    return read_stage_table(place) if is_encrypted(place) else RowsInFile(place)


def _read_array(path: Path) -> np.ndarray:
    """Return an array of a stage; a large one stays in its file."""
    large = path.stat().st_size > _LARGE
    array: np.ndarray = np.load(path, mmap_mode="r" if large else None)
    return array


def judge_texts(deidentified: Path, columns: Mapping[str, ColumnSpec], line: Line) -> None:
    """Judge the sensitive texts of a de-identified stage; see `require_texts`."""
    texts = SensitiveTexts(columns)
    if texts.columns:
        texts.add(load(deidentified))
    require_texts(texts, deidentified, line)


def require_texts(texts: SensitiveTexts, deidentified: Path, line: Line) -> None:
    """Refuse sensitive texts that break what promises say, unless the line has versions already.

    Such a line goes on as it was, and the words of the refusal are left in the stage as warnings.
    The values are listed in a private file of the line, unless stages are encrypted.

    Raises:
        InputError: with the columns, counts and each way out.
    """
    faults = texts.faults()
    words = [fault.words for fault in faults]
    if faults and not is_encrypted(deidentified.parent):
        rows = [(fault.column, value) for fault in faults for value in fault.values.to_pylist()]
        write_private_list(line.private / LISTED, ("column", "value"), rows)
        words[-1] += f" (a private list of the values is in {line.private / LISTED})"
    if faults and not read_record(line.public).versions:
        raise InputError("; ".join(words))
    write_note(deidentified, _NOTE, words)


def warnings_of_texts(deidentified: Path) -> list[str]:
    """Return the warnings about sensitive texts of a line that has versions already."""
    if not (deidentified / f"{_NOTE}.json").exists():
        return []
    words: list[str] = read_note(deidentified, _NOTE)
    return words


def keep_texts(deidentified: Path, reports: Path) -> None:
    """Copy the warnings about sensitive texts to private reports, if there are any."""
    if warnings_of_texts(deidentified):
        copy_atomically(deidentified / f"{_NOTE}.json", reports / f"{_NOTE}.json")


def choose_terms(
    deidentified: Path,
    terms: Terms,
    choosing: Choosing | None,
    line: Path,
    randomness: Randomness,
    *,
    keep: bool = True,
) -> Terms:
    """Return the terms that a release declares, and note them in the stage's identity.

    Args:
        deidentified: the stage of the table.
        terms: of the spec.
        choosing: what may be chosen, None if nothing is to be.
        line: the line's private directory.
        randomness: what is drawn from.
        keep: whether the line is to keep what is chosen.

    Raises:
        PromiseError: if no candidate keeps the promises.
    """
    if not isinstance(terms, WishedTerms):
        return terms
    if choosing is None:
        raise Fault("no candidates were given for the terms that must be chosen")
    choice = frozen_choice(terms, line)
    if choice is None:
        from sfumato.tasks.candidates.choosing import choose  # with all that may be tried

        microdata = with_hierarchies(load(deidentified), terms.all_hierarchies)
        best, tried = choose(microdata, terms, choosing, randomness)
        choice = best.model_dump(mode="json", by_alias=True)
        write_note(deidentified, CHOICE, [_note_of_trial(trial) for trial in tried])
        choice = keep_choice(line, terms.wish, choice) if keep else choice
    chosen = terms.as_chosen(choice)
    identity = read_note(deidentified, "identity")
    write_note(deidentified, "identity", {**identity, "spec": chosen.digest()})
    return chosen


def _note_of_trial(tried: "TriedChoice") -> dict[str, object]:
    """Return a candidate and its score, for the private report."""
    return {**tried.choice.model_dump(mode="json", by_alias=True), "score": tried.score}
