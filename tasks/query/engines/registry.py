"""The openers of engines, by the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.tasks.query.engines.columns import open_columns
from sfumato.tasks.query.engines.direct.engine import open_direct
from sfumato.tasks.query.engines.engine import Opening
from sfumato.tasks.query.engines.labels.labels import open_labels
from sfumato.tasks.query.engines.subdomains import open_subdomains

ENGINES: Mapping[str, Opening] = {
    "rows": open_direct,
    "columns": open_columns,
    "subdomains": open_subdomains,
    "labels": open_labels,
}
