"""The help tables of releases, by the way in which a form shows a person."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.terms.terms import Declared, Terms

HELP_TABLES: Mapping[str, HelpTables] = Entries(
    "sfumato.tasks.query.help_tables",
    {
        "rows": "rows:ROWS",
        "columns": "columns:COLUMNS",
        "subdomains": "subdomains:SUBDOMAINS",
        "labels": "labels:LABELS",
        "apart": "apart:APART",
    },
)


def build_help_tables(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """Build every help table of a release by its name, from the published tables only.

    Raises:
        InputError: where values are missing, or a sum is too long.
    """
    return HELP_TABLES[declared.form.shows].build(tables, declared)


def with_chosen_help(declared: Declared, tables: Mapping[str, pa.Table]) -> Declared:
    """Return a new release's declaration, with what it states of how its help tables are built.

    Raises:
        PromiseError: where counts are missing.
    """
    choose = HELP_TABLES[declared.form.shows].choose
    return declared if choose is None else declared.model_copy(update=choose(tables, declared))


def help_names(declared: Terms, sensitive: Sequence[str] | None = None) -> list[str]:
    """Return the names of the help tables for questions on some sensitive columns, or on all."""
    columns = declared.names_with_roles("sensitive") if sensitive is None else sensitive
    return list(HELP_TABLES[declared.form.shows].names(declared, columns))
