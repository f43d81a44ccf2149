"""The help tables of releases, by the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.expectations.entries import Entries
from sfumato.tasks.query.help_tables.way import HelpTables

HELP_TABLES: Mapping[str, HelpTables] = Entries(
    "sfumato.tasks.query.help_tables",
    {
        "rows": "rows:ROWS",
        "columns": "columns:COLUMNS",
        "subdomains": "subdomains:SUBDOMAINS",
        "labels": "labels:LABELS",
    },
)
