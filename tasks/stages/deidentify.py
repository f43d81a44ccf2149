"""De-identify: what says who a row is about goes; a keyed hash of it stays in private.

What is published is coded here: everything after sees coded values alone. Rows are told from those
of other lines by their values as they were read, which other lines may code otherwise.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.tasks.arrays.at_rest import is_encrypted, read_stage_table, write_stage_table
from sfumato.tasks.candidates.remember import Remember, write_names
from sfumato.tasks.declaration.people.identifiers import Identifiers
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.table import Microdata, load, save
from sfumato.tasks.private.coding import code_published
from sfumato.tasks.private.frozen import FrozenCodings
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.line import Identity, fingerprint, unit_hashes
from sfumato.tasks.private.people.keys import names_of, names_of_values, people_key
from sfumato.tasks.private.people.lines import rows_as_written, units_met
from sfumato.tasks.private.people.spelled import spelled_units
from sfumato.tasks.private.source_rows import Rows, RowsInFile, hashed_rows, normal_rows
from sfumato.tasks.stages.stage import new_stage, read_note, write_note

UNITS, SPELLED_UNITS = "units.npy", "units-normal.npy"
ROWS_NORMAL, ROWS_AS_WRITTEN = "rows-normal.parquet", "hashed.parquet"
"""The files of a stage with whom it is of: units and rows as keyed hashes."""
_ROWS_IN_PARTS = "rows-in-parts.parquet"  # as written, of what earlier software read
_CODINGS = "codings"
_LARGE = 1 << 28  # bytes


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
    """Keep the columns to be published, and the identity of what they are of.

    Args:
        ingested: the stage of the source.
        terms: what will be declared.
        identifiers: those that say whose the rows are.
        line: the line's private directory.
        run: the run's directory.
        remember: whether the line is to know who stands in which group.
        others: whether people who come are said not to be those who left.

    Raises:
        InputError: where a value cannot be coded, or a column holds free text.
        PromiseError: where the line has lost what its versions were coded by.
    """
    secret, unit = line_key(line), identifiers.unit
    microdata = load(ingested)
    coded = code_published(microdata, terms.columns, terms.digest(), unit, line)
    shown = coded.microdata
    stage = new_stage(run, "deidentified")
    shown = replace(shown, person=persons_counted(microdata, terms, identifiers))
    save(shown, stage)
    write_note(stage, "counts", read_note(ingested, "counts"))
    names, met, people = None, dict[str, int](), people_key(line.parent)
    if unit is not None:
        np.save(stage / UNITS, unit_hashes(microdata[unit], secret))
        of_values = names_of_values(microdata[unit].values, people)
        np.save(stage / SPELLED_UNITS, spelled_units(microdata[unit], of_values, people))
        names = of_values[microdata[unit].codes]
        met = units_met(line.parent, line.name, microdata[unit], names)
        if remember == "map" and not terms.over_people:
            write_names(stage, names)
    as_read = microdata.keep(microdata[name] for name in terms.columns)
    write_stage_table(normal_rows(as_read, people, names), stage / ROWS_NORMAL)
    if rows_as_written(line.parent, line.name):
        write_stage_table(hashed_rows(as_read, people), stage / ROWS_AS_WRITTEN)
    rows = fingerprint(shown, secret, names_told(microdata, terms, identifiers, line))
    keeps_rows = unit is None or remember == "map"
    told = {"rows": rows, "spec": terms.digest(), "met": met}
    write_note(stage, "identity", {**told, "keeps_rows": keeps_rows, "others": others})
    write_codings(stage, coded.used)
    return stage


def persons_counted(source: Microdata, terms: Terms, identifiers: Identifiers) -> np.ndarray | None:
    """Whose each row is (int32, from 0), None where promises are kept over rows alone."""
    if identifiers.counted is None or not terms.over_people:
        return None
    return source[identifiers.counted].codes


def names_told(
    source: Microdata, terms: Terms, identifiers: Identifiers, line: Path
) -> np.ndarray | None:
    """The names of people, or of households (S16), None where these make no other version."""
    if not terms.tells_whose or identifiers.counted is None:
        return None
    return names_of(source[identifiers.counted], people_key(line.parent))


def write_codings(stage: Path, used: FrozenCodings) -> None:
    """Leave in a stage what its columns were coded by, for the line to keep."""
    write_note(stage, _CODINGS, used.model_dump(mode="json"))


def keep_identity(deidentified: Path, place: Path) -> None:
    """Move what tells of whom a stage is to another place, without its table."""
    files = (UNITS, SPELLED_UNITS, ROWS_NORMAL, ROWS_AS_WRITTEN, _ROWS_IN_PARTS)
    for name in ("identity.json", f"{_CODINGS}.json", *files):
        if (deidentified / name).exists():
            (deidentified / name).rename(place / name)


def identity(deidentified: Path) -> Identity:
    """What a de-identified stage is of."""
    units, spelled = deidentified / UNITS, deidentified / SPELLED_UNITS
    return Identity(
        **read_note(deidentified, "identity"),
        units=_read_array(units) if units.exists() else None,
        spelled=_read_array(spelled) if spelled.exists() else None,
        normal=_hashed(deidentified / ROWS_NORMAL),
        hashed=_hashed(deidentified / ROWS_AS_WRITTEN) or _hashed(deidentified / _ROWS_IN_PARTS),
        codings=FrozenCodings.model_validate(read_note(deidentified, _CODINGS)),
    )


def _hashed(place: Path) -> Rows | None:
    """Hashed rows, in their file unless it is encrypted; None where there are none."""
    if not place.exists():
        return None
    return read_stage_table(place) if is_encrypted(place) else RowsInFile(place)


def _read_array(path: Path) -> np.ndarray:
    """An array of a stage; a large one stays in its file."""
    large = path.stat().st_size > _LARGE
    found: np.ndarray = np.load(path, mmap_mode="r" if large else None)
    return found
