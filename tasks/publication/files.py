"""Every file of a release, made only from its tables and their assessment."""

import csv
from pathlib import Path

from sfumato.tasks.attacks.from_files import Guesses, attacks_from_files, guess_from_files
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LINEAGE, LineageTotals, totals_of
from sfumato.tasks.publication.manifest import files, manifest
from sfumato.tasks.query.ask import files_below
from sfumato.tasks.query.first_answers import FirstAnswer, first_answers
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.sql.ready_sql import duckdb_script
from sfumato.tasks.report.page import PageContent, PublishedFile, page
from sfumato.tasks.report.stated import little_left
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.terms.assessment import Assessment
from sfumato.tasks.terms.opened import MANIFEST, PAGE
from sfumato.tasks.terms.tables import has_formulas, write_table, write_tables
from sfumato.tasks.terms.terms import Declared
from sfumato.tasks.terms.utility import utility


def write_release(directory: Path, assessment: Assessment) -> None:
    """Write a whole release into `directory`, its tables first."""
    write_tables(assessment.tables, assessment.declared, directory / "data")
    complete_release(directory, assessment)


def complete_release(directory: Path, assessment: Assessment) -> None:
    """Write help tables, SQL, validation, page and manifest beside the data of a release.

    Args:
        directory: contains the data files in `data`, and nothing else.
        assessment: the assessment of these very files.
    """
    declared = assessment.declared
    write_hierarchies(directory / "hierarchies", declared)
    _write_sql(directory / "sql", assessment.tables, declared)
    _write(directory / "validation.json", canonical_json(assessment.validation()))
    _write(directory / PAGE, page_beside(directory, assessment).encode())
    listed = manifest(directory, declared, assessment.verdict_documents())
    _write(directory / MANIFEST, canonical_json(listed))


def page_beside(directory: Path, assessment: Assessment) -> str:
    """Return the page that belongs beside a directory's files, which it lists with sizes."""
    return page(_content(directory, assessment))


def write_hierarchies(directory: Path, declared: Declared) -> None:
    """Write every hierarchy that is no rule, as a file that this and other tools read."""
    for name, rows in declared.hierarchies.items():
        if isinstance(rows, tuple):
            directory.mkdir(exist_ok=True)
            with (directory / f"{safe_name(name)}.csv").open("w", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)


def answers_beside(
    directory: Path, declared: Declared, tables: Tables | None = None
) -> tuple[FirstAnswer, ...]:
    """Answer three questions from published tables, in memory or in the directory's files."""
    if not tells("answers", declared.software):
        return ()
    read = files_below(directory, declared, declared.names_with_roles("sensitive"))
    return first_answers(declared, {**read, **(tables or {})})


def write_help_tables(directory: Path, tables: Tables, declared: Declared) -> None:
    """Write the tables that queries need beside the data into a new directory."""
    directory.mkdir()
    for name, table in build_help_tables(tables, declared).items():
        write_table(table, directory / f"{name}.parquet")


def _write_sql(directory: Path, tables: Tables, declared: Declared) -> None:
    """Write the help tables, and ready SQL."""
    write_help_tables(directory, tables, declared)
    _write(directory / "duckdb.sql", duckdb_script(declared).encode())


def _content(directory: Path, assessment: Assessment) -> PageContent:
    """Collect the content of the page: promises, verdicts, and the files beside it."""
    declared, groups = assessment.declared, assessment.groups.of_all()
    tables = assessment.tables
    return PageContent(
        declared=declared,
        verdicts=assessment.verdicts,
        groups=groups,
        utility=utility(tables, declared, groups.sizes),
        files=tuple(
            PublishedFile(path.as_posix(), (directory / path).stat().st_size)
            for path in files(directory)
            if path != Path(PAGE)
        ),
        formulas="csv" in declared.formats and has_formulas(tables),
        lineage=_lineage(assessment),
        over_people=assessment.over_people,
        tables=tables if tells("codebook", declared.software) else None,
        guesses=_guesses(assessment),
        answers=answers_beside(directory, declared, tables),
        warnings=little_left(groups, declared) if tells("little left", declared.software) else (),
        tool=declared.software.get("sfumato") if tells("tool", declared.software) else None,
    )


def _guesses(assessment: Assessment) -> Guesses:
    """Return the possible guesses from the files, as many of them as the page's layout shows."""
    declared, stated = assessment.declared, assessment.declared.software
    if not tells("guesses", stated):
        return {}
    learns = tells("learning", stated) and all(finding.passed for finding in assessment.findings)
    attacks = attacks_from_files(beside=tells("references", stated), learns=learns)
    return guess_from_files(declared, assessment.tables, assessment.groups, attacks)


def _lineage(assessment: Assessment) -> LineageTotals | None:
    continues = assessment.declared.predecessor is not None
    return totals_of(assessment.tables[LINEAGE]) if continues else None


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
