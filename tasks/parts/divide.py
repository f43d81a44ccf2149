"""Division of a source: read once, compared with its declaration, de-identified, cut into parts."""

import gc
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.verdicts import Finding, require
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.encoded import encode_columns, rename_columns
from sfumato.tasks.microdata.readers.columnar import read_batches
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.input_error import input_error, require_distinct_names
from sfumato.tasks.microdata.source import as_table, represented_rows, rules_as_declared
from sfumato.tasks.microdata.source import require as require_declared
from sfumato.tasks.microdata.source_files import (
    SourceFiles,
    parse_folder,
    source_files,
    with_folders,
)
from sfumato.tasks.microdata.suspect_values import SensitiveTexts
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.parts.continued import CUTS, cut_so_far
from sfumato.tasks.parts.cuts import Cutter, document_of_cuts, write_cuts
from sfumato.tasks.parts.divided import pack_parts, write_parts
from sfumato.tasks.parts.identity import RowsSeen, UnitsSeen
from sfumato.tasks.parts.strata import StrataOnDisk, StratumOnDisk
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.coding import Coder
from sfumato.tasks.private.people.frozen import FrozenCodings
from sfumato.tasks.private.people.keys import names_of_values, people_key
from sfumato.tasks.private.people.lines import rows_as_written
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy
from sfumato.tasks.schema.files import regular
from sfumato.tasks.stages.deidentify import (
    ROWS_AS_WRITTEN,
    ROWS_NORMAL,
    SPELLED_UNITS,
    UNITS,
    require_texts,
    write_codings,
)
from sfumato.tasks.stages.ingest import place_of_objects
from sfumato.tasks.stages.stage import new_stage, write_note
from sfumato.tasks.terms.parts import PartsOfTable
from sfumato.tasks.terms.terms import Terms

AT_ONCE = 1 << 21  # rows
_NAMED = 120  # bytes for each row in a line that continues with the same people: names and slots
JudgeSource = Callable[[pa.Table, Sequence[Rule]], tuple[Finding, ...]]
"""Judges some rows of a source by the rules of its spec."""


def read_chunks(
    files: SourceFiles, source: Source, columns: Mapping[str, ColumnSpec], rows: int = AT_ONCE
) -> Iterator[tuple[Microdata, str]]:
    """Yield all rows of a source, about `rows` at a time, typed and encoded.

    Yields:
        Some rows, and a name for them in errors, which number rows from the first of these.

    Raises:
        InputError: if a file is not as declared.
    """
    passed, folders = 0, files.folders(files.paths[0])
    for table in _tables(files, source, rows):
        called = f"{source.uri} (after the first {passed} rows)" if passed else source.uri
        require_distinct_names(table.column_names, called)
        passed += table.num_rows
        read = dict(zip(table.column_names, table.columns, strict=True))
        del table
        read = rename_columns(read, source, called)
        for name in (source.rename.get(folder, folder) for folder in folders):
            read[name] = parse_folder(read[name], name, columns, called, source)
        yield encode_columns(read, source, columns, called), called


def _tables(files: SourceFiles, source: Source, rows: int) -> Iterator[pa.Table]:
    """Yield batches of files in their order, joined until they have enough rows."""
    waiting: list[pa.Table] = []
    for batch in _batches(files, source, rows):
        if waiting and not batch.schema.equals(waiting[0].schema):
            raise input_error(source.uri, "its files have different columns or types")
        waiting.append(batch)
        if sum(table.num_rows for table in waiting) >= rows:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _batches(files: SourceFiles, source: Source, rows: int) -> Iterator[pa.Table]:
    for number, path in enumerate(files.paths, start=1):
        try:
            for table in read_batches(path, rows):
                yield with_folders(table, files.folders(path))
        except (pa.ArrowException, OSError, ValueError) as error:
            require_machine(error)
            where = f"file {number} of {len(files.paths)} " if len(files.paths) > 1 else ""
            raise input_error(source.uri, f"{where}cannot be read as Parquet") from None


# room, as a multiple of the source's size: for stages, for a release, and for its CSV files
_SCRATCH, _PUBLISHED, _TEXT = 3, 2, 8


def require_room(
    files: Sequence[Path],
    run: Path,
    public: Path,
    formats: Sequence[str],
    *,
    keep_rows: bool = False,
    named: bool = False,
) -> None:
    """Refuse to begin if a disk has too little room for what may be written.

    Args:
        files: the files of the source.
        run: the directory of stages.
        public: the directory of the release; it need not exist yet.
        formats: the formats of tables.
        keep_rows: whether the rows of parts stay until accuracy was measured.
        named: whether the line continues with the same people.

    Raises:
        InputError: naming the directory, what it needs and what it has.
    """
    size = sum(path.stat().st_size for path in files)
    place = next(path for path in (public, *public.parents) if path.exists())
    published = size * (_PUBLISHED + _TEXT * ("csv" in formats))
    rows = sum(pq.read_metadata(regular(path)).num_rows for path in files) if named else 0
    needed = {run: size * (_SCRATCH + keep_rows) + rows * _NAMED}
    if run.stat().st_dev == place.stat().st_dev:
        needed[run] += published
    else:
        needed[place] = published
    for directory, bytes_needed in needed.items():
        free = shutil.disk_usage(directory).free
        if free < bytes_needed:
            raise InputError(
                f"{directory}: parts may need {_gigabytes(bytes_needed)} GB there, and "
                f"{_gigabytes(free)} GB are free. Make room, or set SFUMATO_WORK and "
                "publish.uri to other disks"
            )


def _gigabytes(number: int) -> str:
    return f"{number / 10**9:.1f}"


@dataclass(frozen=True)
class DeclaredRows:
    """The source as a spec declares it.

    Attributes:
        source: its place.
        columns: all of its columns.
        nulls: the null policy of columns that name none.
        base: the directory that paths are relative to.
        unit: the column that identifies the person whom a row is about, None if rows are people.
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
    """Cut a source into parts, in a stage of `run` that replaces the de-identified one.

    Args:
        rows: the source.
        terms: the terms, which ask for parts.
        line: the line.
        run: the run's directory.
        judge: judges some rows by the rules of the spec.
        keep_rows: whether the rows of parts stay after grouping, which needs more room.

    Raises:
        InputError: if there is too little room on disk, the source is not as declared, or a
            stratum cannot be cut.
        PromiseError: if no row is left, or what is declared of the source is broken.
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
            named=terms.is_composed,
        )
        stage = new_stage(run, "deidentified")
        passing = _Passing(rows, terms, line, stage)
        for chunk, called in read_chunks(files, rows.source, rows.columns):
            passing.add(chunk, called, judge)
            del chunk
            gc.collect()  # cyclic references would keep chunk after chunk
    if not passing.rows:
        raise input_error(rows.source.uri, "has no rows")
    strata = passing.finish()
    if not strata:
        raise PromiseError(
            "no row is left to be published. Check the filter (source.where) and the null policies"
        )
    before = cut_so_far(line.private, parts, composed=terms.is_composed)
    cutter = Cutter(parts, rows.columns, rows.base, before.cuts, before.fixed)
    pieces = [piece for stratum in strata for piece in cutter.pieces(stratum)]
    if before.cuts:
        write_cuts(line.private, parts, before.cuts)
    before.require_kept([piece.where for piece in pieces], terms)
    write_note(stage, CUTS, document_of_cuts(before.cuts))
    # every stratum or piece is a part of its own if parts continue, or if promises about presence
    # are judged over all parts together
    alone = terms.is_composed or any(promise.judged_jointly for promise in terms.promises)
    write_parts(stage, pack_parts(pieces, 0 if alone else parts.rows))
    return stage


class _Passing:
    """Rows of a source as they pass by, some at a time."""

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
        """Judge some rows, and store those that the release represents, as it shows them.

        Raises:
            InputError: if they are not as declared.
            PromiseError: if they were not judged.
        """
        rows, table = self._rows, as_table(chunk)
        findings = judge(table, rules_as_declared(rows.columns, chunk))
        require_declared(rows.columns, table, called)
        require(findings)
        del table
        source = rows.source.model_copy(update={"uri": called})
        ingested = represented_rows(chunk, source, rows.columns, rows.nulls, rows.base)
        counted = {name: n for name, n in vars(ingested).items() if name != "microdata"}
        self._counts.update(counted)
        represented = ingested.microdata
        if not represented.rows:
            return
        of_values, names = self._names(represented)
        coded = self._coder.code(represented)
        published, self._used = coded.microdata, coded.used
        self._texts.add(published)
        as_read = represented.keep(represented[name] for name in self._terms.columns)
        goes_on = self._terms.is_composed
        self._seen.add(published, as_read, names, tells_whose=goes_on)
        if self._units is not None and rows.unit is not None and of_values is not None:
            self._units.add(represented[rows.unit], of_values)
        self._strata.add(published, names if goes_on else None)

    def _names(self, represented: Microdata) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the name of each distinct unit, and of each row's unit (S16).

        Both are None if rows are people.
        """
        if self._rows.unit is None:
            return None, None
        unit = represented[self._rows.unit]
        unit_names = names_of_values(unit.values, self._people)
        return unit_names, unit_names[unit.codes]

    @property
    def rows(self) -> int:
        """The number of rows that were read."""
        return self._counts["read"]

    def finish(self) -> list[StratumOnDisk]:
        """Write counts and identity to the stage, and return every stratum.

        Raises:
            InputError: if a unit occurs twice, or sensitive texts break what promises say.
        """
        met = dict[str, int]()
        if self._units is not None:
            self._units.write(self._stage / UNITS, self._stage / SPELLED_UNITS)
            met = self._units.met
        write_note(self._stage, "counts", dict(self._counts))
        keeps_rows = self._rows.unit is None or self._terms.is_composed
        rows, spec = self._seen.fingerprint(), self._terms.digest()
        flags = {"keeps_rows": keeps_rows, "others": self._line.others}
        identity = {"rows": rows, "spec": spec, "met": met, **flags}
        write_note(self._stage, "identity", identity)
        write_codings(self._stage, self._used)
        require_texts(self._texts, self._stage, self._line)
        return self._strata.all_strata
