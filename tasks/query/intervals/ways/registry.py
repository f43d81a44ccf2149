"""What is likely of answers, by the way in which a form shows a person.

Each module is imported when a release of its way is asked: they need what bounds do without.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.intervals.ways.way import LikelyAnswers

_Conditions = ValueConditions | None


def _rows(engine: Any, conditions: _Conditions = None) -> LikelyAnswers:
    from sfumato.tasks.query.intervals.ways.rows import RowsIntervals

    return RowsIntervals(engine, conditions)


def _columns(engine: Any, conditions: _Conditions = None) -> LikelyAnswers:
    from sfumato.tasks.query.intervals.ways.columns import ColumnsIntervals

    return ColumnsIntervals(engine, conditions)


def _subdomains(engine: Any, conditions: _Conditions = None) -> LikelyAnswers:
    from sfumato.tasks.query.intervals.ways.subdomains import SubdomainsIntervals

    return SubdomainsIntervals(engine, conditions)


def _labels(engine: Any, conditions: _Conditions = None) -> LikelyAnswers:
    from sfumato.tasks.query.intervals.ways.labels import LabelsIntervals

    return LabelsIntervals(engine, conditions)


LIKELY: Mapping[str, Callable[..., LikelyAnswers]] = {
    "rows": _rows,
    "columns": _columns,
    "subdomains": _subdomains,
    "labels": _labels,
}
"""Each takes the engine of its way, which has the published tables open.

A second argument judges conditions in the place of the engine.
"""
