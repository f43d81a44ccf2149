"""The snippets of pages, by the name of the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.expectations.entries import Entries
from sfumato.tasks.report.snippets.snippet import Snippet

SNIPPETS: Mapping[str, Snippet] = Entries(
    "sfumato.tasks.report.snippets",
    {
        "rows": "rows:rows",
        "columns": "columns:columns",
        "subdomains": "subdomains:subdomains",
        "labels": "labels:labels",
    },
)
