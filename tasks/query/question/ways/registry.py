"""The questions that releases admit, by the name of the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.tasks.query.question.ways.columns import columns
from sfumato.tasks.query.question.ways.labels import labels
from sfumato.tasks.query.question.ways.rows import rows
from sfumato.tasks.query.question.ways.subdomains import subdomains
from sfumato.tasks.query.question.ways.way import Way

WAYS: Mapping[str, Way] = {
    "rows": rows,
    "columns": columns,
    "subdomains": subdomains,
    "labels": labels,
}
