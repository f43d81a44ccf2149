"""Answers whose rows stand one after another, in one order."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.answer import Answer
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.ordering import in_order, is_open
from sfumato.tasks.query.question.question import KeyOrder
from sfumato.tasks.query.rest import REST
from sfumato.tasks.sql.parse import quote_name


def one_after_another(answers: Sequence[Answer], order: Sequence[KeyOrder]) -> Answer:
    """The rows of all answers of one release, under the names of the first.

    Args:
        answers: each with as many columns.
        order: how rows are ordered; as they come, where nothing is said.

    Raises:
        QueryError: where a column is of different kinds in them.
    """
    columns = answers[0].columns
    rows = [dict(zip(columns, row.values(), strict=True)) for one in answers for row in one.rows]
    certain = [sure for one in answers for sure in one.certain]
    rest = [other for one in answers for other in one.rest]
    for name in columns:
        _require_one_kind(name, [row[name] for row in rows])
    places = list(range(len(rows)))
    for by in reversed(order):
        found = in_order([rows[at][by.name] for at in places], by.descending, by.nulls_first)
        places = [places[at] for at in found]
    return replace(
        answers[0],
        rows=tuple(rows[at] for at in places),
        certain=tuple(certain[at] for at in places),
        rest=tuple(rest[at] for at in places),
        by_estimate=any(is_open(row[by.name]) for by in order for row in rows),
    )


def _require_one_kind(name: str, column: Sequence[Any]) -> None:
    """Make sure that all values of a column can stand below each other."""
    kinds = {_kind(value) for value in column if value is not None and value is not REST}
    if len(kinds) > 1:
        raise QueryError(
            f"column {quote_name(name)} has {' and '.join(sorted(kinds))} in different queries: "
            "show the same in each"
        )


def _kind(value: Any) -> str:
    if isinstance(value, Bounds):
        return "bounds"
    if isinstance(value, bool):
        return "truth values"
    if isinstance(value, date):
        return "moments"
    return "texts" if isinstance(value, str) else "numbers"
