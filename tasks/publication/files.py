"""Every file of a release, made only from its tables and their assessment."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.tasks.attacks.from_files import Guesses, attacks_from_files, guess_from_files
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LINEAGE, LineageTotals, totals_of
from sfumato.tasks.publication.manifest import files, manifest
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.ready_sql import duckdb_script
from sfumato.tasks.report.page import PageContent, PublishedFile, page
from sfumato.tasks.report.page_data import page_data
from sfumato.tasks.report.stated import little_left
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.terms.assessment import Assessment
from sfumato.tasks.terms.opened import MANIFEST, PAGE
from sfumato.tasks.terms.tables import has_formulas, write_table, write_tables
from sfumato.tasks.terms.terms import Declared
from sfumato.tasks.terms.utility import utility

if TYPE_CHECKING:
    from sfumato.tasks.query.accuracy.spans import Spans
    from sfumato.tasks.query.first_answers import FirstAnswer


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
    helps = build_help_tables(assessment.tables, declared)
    write_help_tables(directory / "sql", helps)
    _write(directory / "sql" / "duckdb.sql", duckdb_script(declared).encode())
    _write(directory / "validation.json", canonical_json(assessment.validation()))
    _write(directory / PAGE, page_beside(directory, assessment, helps).encode())
    listed = manifest(directory, declared, assessment.verdict_documents())
    _write(directory / MANIFEST, canonical_json(listed))


def page_beside(directory: Path, assessment: Assessment, helps: Tables | None = None) -> str:
    """Return the page that belongs beside a directory's files, which it lists with sizes.

    `helps` are the help tables of its published tables, if they have been made.
    """
    return page(_content(directory, assessment, helps))


def write_hierarchies(directory: Path, declared: Declared) -> None:
    """Write every hierarchy that is no rule, as a file that this and other tools read."""
    for name, rows in declared.hierarchies.items():
        if isinstance(rows, tuple):
            directory.mkdir(exist_ok=True)
            path = directory / f"{safe_name(name)}.csv"
            with path.open("w", encoding="utf-8", newline="\n") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)


def write_help_tables(directory: Path, helps: Tables) -> None:
    """Write the tables that queries need beside the data into a new directory."""
    directory.mkdir()
    for name, table in helps.items():
        write_table(table, directory / f"{name}.parquet")


def _content(directory: Path, assessment: Assessment, helps: Tables | None) -> PageContent:
    """Collect the content of the page: promises, verdicts, and the files beside it."""
    declared, groups = assessment.declared, assessment.groups.of_all()
    tables = assessment.tables
    if helps is None and tells("answers", declared.software):
        helps = build_help_tables(tables, declared)
    data = page_data(tables, declared) if tells("asks", declared.software) else None
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
        rule_findings=assessment.rule_findings,
        tables=tables if tells("codebook", declared.software) else None,
        guesses=_guesses(assessment),
        answers=_answers(assessment, helps),
        spans=_spans(declared, tables, helps) if data else None,
        data=data,
        warnings=little_left(groups, declared) if tells("little left", declared.software) else (),
        tool=declared.software.get("sfumato") if tells("tool", declared.software) else None,
    )


def _answers(assessment: Assessment, helps: Tables | None) -> "tuple[FirstAnswer, ...]":
    """Answer three questions, if the page's layout shows them."""
    declared, tables = assessment.declared, assessment.tables
    if helps is None or not tells("answers", declared.software):
        return ()
    if declared.has_related_rows and not tells("two tables", declared.software):
        return ()
    from sfumato.tasks.query.first_answers import first_answers

    return first_answers(declared, {**tables, **helps})


def _spans(declared: Declared, tables: Tables, helps: Tables | None) -> "Spans | None":
    """Measure the accuracy over ranges of a column, if the page's layout shows it."""
    if helps is None or not tells("spans", declared.software):
        return None
    from sfumato.tasks.query.accuracy.spans import first_spans

    return first_spans(declared, tables, helps)


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
