"""The laws of answers, by the way in which a form shows a person."""

from collections.abc import Callable, Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.query.intervals.way import LikelyAnswers

LIKELY: Mapping[str, Callable[..., LikelyAnswers]] = Entries(
    "sfumato.tasks.query.intervals",
    {
        "rows": "rows:RowsIntervals",
        "columns": "columns:ColumnsIntervals",
        "subdomains": "subdomains:SubdomainsIntervals",
        "labels": "labels:LabelsIntervals",
    },
)
"""Each class takes the engine of its way, which has the published tables open.

A second argument evaluates conditions in place of the engine.
"""
