"""Help tables of facts of people; bounds of related rows need only the numbers of groups."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sfumato.tasks.query.help_tables.rows import help_name, help_tables
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.query.question.ways import facts_of
from sfumato.tasks.terms.terms import Terms


def _facts_with_help(declared: Terms) -> list[str]:
    """Return the facts that have a help table: those without missing values."""
    return [name for name in facts_of(declared) if not declared.columns[name].nulls]


def _names(declared: Terms, columns: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in _facts_with_help(declared) if name in columns]


def _build(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    people = declared.form.table_of_rows
    helped = _facts_with_help(declared)
    return help_tables({people: tables[people]}, helped) if helped else {}


APART = HelpTables(_names, _build)
