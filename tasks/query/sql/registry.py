"""The SQL of releases, by the name of the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.query.sql.way import SqlWay

SQL_WAYS: Mapping[str, SqlWay] = Entries(
    "sfumato.tasks.query.sql",
    {
        "rows": "rows:rows",
        "columns": "columns:columns",
        "subdomains": "subdomains:subdomains",
        "labels": "labels:labels",
        "apart": "apart:apart",
    },
)
