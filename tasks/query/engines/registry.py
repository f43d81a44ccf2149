"""The openers of engines, by the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.query.engines.engine import Opening

ENGINES: Mapping[str, Opening] = Entries(
    "sfumato.tasks.query.engines",
    {
        "rows": "in_parts:open_rows",
        "columns": "direct_counts:open_direct_counts",
        "subdomains": "direct_subdomains:open_direct_subdomains",
        "labels": "labels:open_labels",
        "apart": "related:open_related",
    },
)
