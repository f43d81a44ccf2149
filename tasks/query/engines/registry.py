"""The openers of engines, by the way in which a form shows a person.

Each engine is imported when it is opened: a release needs one of them.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.query.engines.engine import Engine, Files, Opening
from sfumato.tasks.query.sql.conditions.marginal_counts import Estimator

Opened = AbstractContextManager[Engine]


def _rows(tables: Files, declared: Declared, estimator: Estimator) -> Opened:
    from sfumato.tasks.query.engines.in_parts.engine import open_rows

    return open_rows(tables, declared, estimator)


def _columns(tables: Files, declared: Declared, estimator: Estimator) -> Opened:
    from sfumato.tasks.query.engines.columns import open_columns

    return open_columns(tables, declared, estimator)


def _subdomains(tables: Files, declared: Declared, estimator: Estimator) -> Opened:
    from sfumato.tasks.query.engines.subdomains import open_subdomains

    return open_subdomains(tables, declared, estimator)


def _labels(tables: Files, declared: Declared, estimator: Estimator) -> Opened:
    from sfumato.tasks.query.engines.labels.labels import open_labels

    return open_labels(tables, declared, estimator)


ENGINES: Mapping[str, Opening] = {
    "rows": _rows,
    "columns": _columns,
    "subdomains": _subdomains,
    "labels": _labels,
}
