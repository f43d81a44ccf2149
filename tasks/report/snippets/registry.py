"""The snippets of pages, by the name of the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.tasks.report.snippets.columns import columns
from sfumato.tasks.report.snippets.labels import labels
from sfumato.tasks.report.snippets.rows import rows
from sfumato.tasks.report.snippets.snippet import Snippet
from sfumato.tasks.report.snippets.subdomains import subdomains

SNIPPETS: Mapping[str, Snippet] = {
    "rows": rows,
    "columns": columns,
    "subdomains": subdomains,
    "labels": labels,
}
