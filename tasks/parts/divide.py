"""Divide: the source read once, held to its declaration, de-identified, and cut into parts."""

import gc
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.verdicts import Finding, require
from sfumato.tasks.declaration.cuts import PartsOfTable
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.declared_source import as_table, rules_as_declared
from sfumato.tasks.microdata.declared_source import require as require_declared
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.places.files import source_files
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.sensitive_texts import SensitiveTexts
from sfumato.tasks.microdata.source import represented_rows
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.parts.continued.cut import CUTS, cut_so_far
from sfumato.tasks.parts.cuts import Cutter, document_of_cuts, write_cuts
from sfumato.tasks.parts.divided import pack_parts, write_parts
from sfumato.tasks.parts.identity import RowsSeen, UnitsSeen
from sfumato.tasks.parts.sources.room import require_room
from sfumato.tasks.parts.sources.source import read_chunks
from sfumato.tasks.parts.strata import StrataOnDisk, StratumOnDisk
from sfumato.tasks.private.coding import Coder
from sfumato.tasks.private.frozen import FrozenCodings
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.keys import names_of_values, people_key
from sfumato.tasks.private.people.lines import rows_as_written
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy
from sfumato.tasks.stages.deidentify import (
    ROWS_AS_WRITTEN,
    ROWS_NORMAL,
    SPELLED_UNITS,
    UNITS,
    write_codings,
)
from sfumato.tasks.stages.ingest import place_of_objects
from sfumato.tasks.stages.sensitive_texts import require_texts
from sfumato.tasks.stages.stage import new_stage, write_note

JudgeSource = Callable[[pa.Table, Sequence[Rule]], tuple[Finding, ...]]
"""Judges some rows of a source by what its spec declares of it."""


@dataclass(frozen=True)
class DeclaredRows:
    """The source as a spec declares it.

    Attributes:
        source: its place.
        columns: all of its columns.
        nulls: the null policy of columns that name none.
        base: the directory that paths are relative to.
        unit: the identifier that says whom a row is about, None where rows are people.
    """

    source: Source
    columns: Mapping[str, ColumnSpec]
    nulls: NullPolicy
    base: Path
    unit: str | None


def write_divided(
    rows: DeclaredRows,
    terms: Terms,
    line: Line,
    run: Path,
    judge: JudgeSource,
    *,
    keep_rows: bool = False,
) -> Path:
    """Cut a source into parts, in a stage of `run` that takes the place of the de-identified one.

    Args:
        rows: the source.
        terms: what will be declared; they ask for parts.
        line: the line.
        run: the run's directory.
        judge: judges so many rows at a time.
        keep_rows: whether the rows of parts stay when they are grouped, which needs more room.

    Raises:
        InputError: where there is too little room on disk, the source is not as declared, or a
            stratum cannot be cut.
        PromiseError: where no row is left, or what is declared of the source is broken.
    """
    parts = terms.parts or PartsOfTable()
    shutil.rmtree(run / "deidentified", ignore_errors=True)  # of an attempt that failed
    with place_of_objects(run) as fetched:
        files = source_files(rows.source, rows.base, with_secrets(os.environ), fetched)
        require_room(
            files.paths,
            run,
            line.public,
            terms.formats,
            keep_rows=keep_rows,
            named=terms.composed,
        )
        stage = new_stage(run, "deidentified")
        passing = _Passing(rows, terms, line, stage)
        for chunk, called in read_chunks(files, rows.source, rows.columns):
            passing.add(chunk, called, judge)
            del chunk
            gc.collect()  # what refers to itself would hold chunk after chunk
    if not passing.rows:
        raise input_error(rows.source.uri, "has no rows")
    strata = passing.finish()
    if not strata:
        raise PromiseError("no row is left to be published")
    before = cut_so_far(line.private, parts, composed=terms.composed)
    cutter = Cutter(parts, rows.columns, rows.base, before.cuts, before.fixed)
    pieces = [piece for stratum in strata for piece in cutter.pieces(stratum)]
    if before.cuts:
        write_cuts(line.private, parts, before.cuts)
    before.require_kept([piece.where for piece in pieces], terms)
    write_note(stage, CUTS, document_of_cuts(before.cuts))
    alone = terms.composed or any(promise.judged_jointly for promise in terms.promises)
    write_parts(stage, pack_parts(pieces, 0 if alone else parts.rows))
    return stage


class _Passing:
    """The rows of a source as they pass by, some at a time."""

    def __init__(self, rows: DeclaredRows, terms: Terms, line: Line, stage: Path) -> None:
        secret, people = line_key(line.private), people_key(line.work)
        self._people = people
        written = stage / ROWS_AS_WRITTEN if rows_as_written(line.work, line.name) else None
        self._rows, self._terms, self._line, self._stage = rows, terms, line, stage
        self._seen = RowsSeen(secret, people, stage / ROWS_NORMAL, written)
        self._units = UnitsSeen(stage, line.private, secret, people) if rows.unit else None
        self._coder = Coder(terms.columns, terms.digest(), rows.unit, line.private)
        self._used = FrozenCodings()
        self._strata = StrataOnDisk(private_directory(stage / "strata"), terms.strata)
        self._counts = Counter[str]()
        self._texts = SensitiveTexts(rows.columns)

    def add(self, chunk: Microdata, called: str, judge: JudgeSource) -> None:
        """Judge some rows, and keep those that the release speaks of, and of them what it shows.

        Raises:
            InputError: where they are not as declared.
            PromiseError: where they were not judged.
        """
        rows, table = self._rows, as_table(chunk)
        found = judge(table, rules_as_declared(rows.columns, chunk))
        require_declared(rows.columns, table, called)
        require(found)
        del table
        source = rows.source.model_copy(update={"uri": called})
        ingested = represented_rows(chunk, source, rows.columns, rows.nulls, rows.base)
        counted = {name: n for name, n in vars(ingested).items() if name != "microdata"}
        self._counts.update(counted)
        kept = ingested.microdata
        if not kept.rows:
            return
        of_values, names = self._names(kept)
        coded = self._coder.code(kept)
        shown, self._used = coded.microdata, coded.used
        self._texts.add(shown)
        as_read = kept.keep(kept[name] for name in self._terms.columns)
        goes_on = self._terms.composed
        self._seen.add(shown, as_read, names, tells_whose=goes_on)
        if self._units is not None and rows.unit is not None and of_values is not None:
            self._units.add(kept[rows.unit], of_values)
        self._strata.add(shown, names if goes_on else None)

    def _names(self, kept: Microdata) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The names of distinct units, and of each row's (S16 each); None where rows are people."""
        if self._rows.unit is None:
            return None, None
        unit = kept[self._rows.unit]
        found = names_of_values(unit.values, self._people)
        return found, found[unit.codes]

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return self._counts["read"]

    def finish(self) -> list[StratumOnDisk]:
        """Leave counts and identity in the stage; every stratum that was met.

        Raises:
            InputError: where a unit occurs twice, or sensitive texts break what promises say.
        """
        met = dict[str, int]()
        if self._units is not None:
            self._units.write(self._stage / UNITS, self._stage / SPELLED_UNITS)
            met = self._units.met
        write_note(self._stage, "counts", dict(self._counts))
        keeps_rows = self._rows.unit is None or self._terms.composed
        rows, spec = self._seen.fingerprint(), self._terms.digest()
        told = {"keeps_rows": keeps_rows, "others": self._line.others}
        identity = {"rows": rows, "spec": spec, "met": met, **told}
        write_note(self._stage, "identity", identity)
        write_codings(self._stage, self._used)
        require_texts(self._texts, self._stage, self._line)
        return self._strata.found
