"""The questions that releases admit, by the name of the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.expectations.entries import Entries
from sfumato.tasks.query.question.ways.way import Way

WAYS: Mapping[str, Way] = Entries(
    "sfumato.tasks.query.question.ways",
    {
        "rows": "rows:rows",
        "columns": "columns:columns",
        "subdomains": "subdomains:subdomains",
        "labels": "labels:labels",
    },
)
