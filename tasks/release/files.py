"""Every file of a release, made from its tables and its declaration alone."""

import shutil
from pathlib import Path

from tasks.forms.form import Tables
from tasks.forms.registry import FORMS
from tasks.query.help_table import help_name, help_table
from tasks.query.ready_sql import duckdb_script
from tasks.release.canonical import canonical_json
from tasks.release.declared import Declared
from tasks.release.manifest import files, manifest
from tasks.release.opened import MANIFEST
from tasks.release.promised import Judgement, judgements, observed, promised, validation
from tasks.release.tables import write_table, write_tables
from tasks.report.page import PageContent, PublishedFile, page


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
    (directory / "sql").mkdir()
    for name in declared.named("sensitive"):
        path = directory / "sql" / f"{help_name(name)}.parquet"
        write_table(help_table(tables["microdata"], name), path)
    _write(directory / "sql" / "duckdb.sql", duckdb_script(declared).encode())
    promises = promised(declared, tables)
    verdicts = judgements(promises)
    _write(directory / "validation.json", canonical_json(validation(declared, tables, promises)))
    _write(directory / "index.html", page(_content(directory, tables, declared, verdicts)).encode())
    _write(directory / MANIFEST, canonical_json(manifest(directory, declared, observed(verdicts))))


def _content(
    directory: Path, tables: Tables, declared: Declared, verdicts: tuple[Judgement, ...]
) -> PageContent:
    """What the page shows: what was promised and measured, and the files beside it."""
    form = FORMS[declared.form.method]
    return PageContent(
        declared=declared,
        verdicts=verdicts,
        groups=form.groups(tables, declared.named("quasi-identifier"), declared.named("sensitive")),
        files=tuple(
            PublishedFile(path.as_posix(), (directory / path).stat().st_size)
            for path in files(directory)
        ),
    )


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
