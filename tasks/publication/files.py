"""Every file of a release, made from its tables and its declaration alone."""

import csv
import shutil
from pathlib import Path

from sfumato.tasks.declaration.assessment import (
    Judgement,
    judgements,
    observed,
    promised,
    validation,
)
from sfumato.tasks.declaration.canonical import canonical_json
from sfumato.tasks.declaration.opened import MANIFEST
from sfumato.tasks.declaration.tables import write_table, write_tables
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.declaration.utility import utility
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.publication.manifest import files, manifest
from sfumato.tasks.query.help_tables.build import helping
from sfumato.tasks.query.sql.ready_sql import duckdb_script
from sfumato.tasks.report.page import PageContent, PublishedFile, page
from sfumato.tasks.schema.names import safe_name


def write_release(
    directory: Path, tables: Tables, declared: Declared, judged: Path | None = None
) -> None:
    """Write a release into `directory`: data, help tables, SQL, validation, page and manifest.

    Args:
        directory: made where it is missing; holds nothing else.
        tables: the published tables, in canonical order.
        declared: what the release declares.
        judged: where the very files stand that were judged, to be published as they are; without
            it the data files are written from `tables`.
    """
    if judged is None:
        write_tables(tables, declared, directory / "data")
    else:
        shutil.copytree(judged, directory / "data", copy_function=shutil.copyfile)
    _write_hierarchies(directory / "hierarchies", declared)
    _write_sql(directory / "sql", tables, declared)
    promises = promised(declared, tables)
    verdicts = judgements(promises)
    _write(directory / "validation.json", canonical_json(validation(declared, tables, promises)))
    _write(directory / "index.html", page(_content(directory, tables, declared, verdicts)).encode())
    _write(directory / MANIFEST, canonical_json(manifest(directory, declared, observed(verdicts))))


def _write_hierarchies(directory: Path, declared: Declared) -> None:
    """Every hierarchy that is no rule, as a file that this and other tools read."""
    for name, rows in declared.hierarchies.items():
        if isinstance(rows, tuple):
            directory.mkdir(exist_ok=True)
            with (directory / f"{safe_name(name)}.csv").open("w", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)


def _write_sql(directory: Path, tables: Tables, declared: Declared) -> None:
    """The help tables, and ready SQL."""
    directory.mkdir()
    for name, table in helping(tables, declared).items():
        write_table(table, directory / f"{name}.parquet")
    _write(directory / "duckdb.sql", duckdb_script(declared).encode())


def _content(
    directory: Path, tables: Tables, declared: Declared, verdicts: tuple[Judgement, ...]
) -> PageContent:
    """What the page shows: what was promised and measured, and the files beside it."""
    form = FORMS[declared.form.method]
    return PageContent(
        declared=declared,
        verdicts=verdicts,
        groups=form.groups(
            tables,
            declared.columns,
            declared.named("quasi-identifier"),
            declared.named("sensitive"),
        ),
        utility=utility(tables, declared),
        files=tuple(
            PublishedFile(path.as_posix(), (directory / path).stat().st_size)
            for path in files(directory)
        ),
    )


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
