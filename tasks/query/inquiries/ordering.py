"""ORDER BY and LIMIT on rows whose numbers have bounds, and answers one after another.

Numbers with bounds are ordered by their estimate, or by the middle of the bounds, and the answer
says so. LIMIT keeps rows only if every possible order, with or without the uncertain rows, keeps
the same ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import number
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.question.formulas import Formula
from sfumato.tasks.query.question.inquiry import Inquiry, OrderKey, RowWindow
from sfumato.tasks.query.question.question import Key, KeyOrder
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.sql.parse import quote_name


@dataclass(frozen=True)
class AnsweredRow:
    """A row of an answer.

    Attributes:
        key: the values of the group columns.
        bounds: of every formula and window.
        certain: whether it is surely in the answer.
    """

    key: Key
    bounds: Mapping[Formula | RowWindow, Bounds]
    certain: bool

    @property
    def rest(self) -> bool:
        """True if the row stands for all values of some column that no published label names."""
        return REST in self.key


@dataclass(frozen=True)
class OrderedRows:
    """Rows in the requested order; `by_estimate` is true if that order is not known exactly."""

    rows: tuple[AnsweredRow, ...]
    by_estimate: bool


def order_rows(inquiry: Inquiry, rows: Sequence[AnsweredRow]) -> OrderedRows:
    """Return the rows in order, up to the limit.

    Raises:
        QueryError: where it is not certain which rows are wanted.
    """
    ordered = sorted(rows, key=lambda row: sort_key(row.key))
    for order_key in reversed(inquiry.order):
        ordered = _sort_rows(ordered, order_key)
    by_estimate = any(_is_open(row, order_key) for order_key in inquiry.order for row in rows)
    first, last = inquiry.offset, len(ordered)
    if inquiry.limit is not None:
        last = min(last, first + inquiry.limit)
    if first or last < len(ordered) or (inquiry.limit is not None and any(r.rest for r in rows)):
        _require_certain(inquiry, ordered, first, last)
    return OrderedRows(tuple(ordered[first:last]), by_estimate)


def sort_key(key: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return a sort key: ascending values, then NaN, then the rest, then nulls."""
    ranks: dict[Any, tuple[int, Any]] = {None: (3, 0), REST: (2, 0)}
    return [ranks[v] if v is None or v is REST else (1, 0) if v != v else (0, v) for v in key]


def _sort_rows(rows: list[AnsweredRow], order_key: OrderKey) -> list[AnsweredRow]:
    """Sort the rows by one key; equal rows stay in order, and nulls come where the key says."""
    places = ordered_places(
        [_value(row, order_key) for row in rows], order_key.descending, order_key.nulls_first
    )
    return [rows[place] for place in places]


def ordered_places(values: Sequence[Any], descending: bool, nulls_first: bool) -> list[int]:
    """Return the places of values in their order; bounds are ordered by their estimates.

    The rest, whose values are unknown, comes behind all others in either order, and beside nulls.
    """
    guesses = [guess_of(value) for value in values]
    nulls = [place for place, value in enumerate(guesses) if value is None]
    rest = [place for place, value in enumerate(guesses) if value is REST]
    others = [n for n, value in enumerate(guesses) if value is not None and value is not REST]
    others.sort(
        key=lambda place: (guesses[place] != guesses[place], guesses[place]), reverse=descending
    )
    return [*nulls, *others, *rest] if nulls_first else [*others, *rest, *nulls]


def _value(row: AnsweredRow, order_key: OrderKey) -> Any:
    return row.key[order_key.by] if isinstance(order_key.by, int) else row.bounds[order_key.by]


def guess_of(bounds: Any) -> Any:
    """Return the best guess of a value: for bounds, the estimate or their middle."""
    if not isinstance(bounds, Bounds):
        return bounds
    if bounds.lower is None or bounds.lower == bounds.upper:
        return bounds.lower
    if bounds.estimate is not None:
        return bounds.estimate
    if isinstance(bounds.lower, str) or not hasattr(bounds.lower, "__truediv__"):
        return bounds.lower
    return (number(bounds.lower) + number(bounds.upper)) / 2


def _is_open(row: AnsweredRow, order_key: OrderKey) -> bool:
    if isinstance(order_key.by, int):
        return False
    return is_open(row.bounds[order_key.by])


def is_open(value: Any) -> bool:
    """Decide whether a value has bounds that leave it open."""
    if not isinstance(value, Bounds):
        return False
    return value.lower != value.upper or value.may_be_empty or value.unbounded


def _require_certain(inquiry: Inquiry, ordered: list[AnsweredRow], first: int, last: int) -> None:
    """Check that the rows within LIMIT are the same for all values within the bounds.

    Raises:
        QueryError: where they are not.
    """
    exact = ", ".join(quote_name(key.name) for key in inquiry.keys if key.name.isprintable())
    hint = f"Order by {exact}, or ask" if exact and not any(row.rest for row in ordered) else "Ask"
    if not all(row.certain for row in ordered[:last]):
        raise QueryError(
            "LIMIT: it is not certain which rows are in the answer, so it is not "
            "certain which rows remain. Ask without LIMIT"
        )
    if inquiry.limit is not None and any(row.rest for row in ordered[:last]):
        raise QueryError(
            "LIMIT: hidden values (*) may add rows to the answer, and these could come "
            "first. Ask without LIMIT"
        )
    groups = [ordered[:first], ordered[first:last], ordered[last:]]
    for before, after in pairwise(groups):
        if not _surely_before(inquiry.order, before, after):
            raise QueryError(
                f"LIMIT: the bounds do not decide which rows come first. {hint} without LIMIT"
            )


def _surely_before(
    order: Sequence[OrderKey], before: Sequence[AnsweredRow], after: Sequence[AnsweredRow]
) -> bool:
    """Decide whether all of some rows surely come before all of others."""
    rows = (*before, *after)
    if not before or not after:
        return True
    rest = any(row.rest for row in rows)
    if not rest and not any(_is_open(row, order_key) for order_key in order for row in rows):
        return True
    if not order or (rest and not _is_most_first(order[0], before)):
        return False
    order_key = order[0]
    if isinstance(order_key.by, int) or any(_may_be_null(row.bounds[order_key.by]) for row in rows):
        return False
    first, last = (after, before) if order_key.descending else (before, after)
    ends: list[Any] = [row.bounds[order_key.by].upper for row in first]
    starts: list[Any] = [row.bounds[order_key.by].lower for row in last]
    return bool(max(ends) < min(starts))


def _is_most_first(order_key: OrderKey, before: Sequence[AnsweredRow]) -> bool:
    """Decide whether groups of many rows come first, so that the rest's parts come behind.

    The rest may be several values, each with a row in the answer; none has more rows than the rest.
    """
    counts = getattr(order_key.by, "counts_all_rows", False)
    return bool(order_key.descending and counts and not any(row.rest for row in before))


def _may_be_null(bounds: Bounds) -> bool:
    return bounds.lower is None or bounds.may_be_empty


def join_answers(answers: Sequence[Answer], order: Sequence[KeyOrder]) -> Answer:
    """Return the rows of all answers of one release, under the column names of the first.

    Args:
        answers: all with the same number of columns.
        order: the keys that order the rows; empty to keep them as they come.

    Raises:
        QueryError: where a column is of different kinds in them.
    """
    columns = answers[0].columns
    rows = [
        dict(zip(columns, row.values(), strict=True)) for answer in answers for row in answer.rows
    ]
    certain = [sure for answer in answers for sure in answer.certain]
    rest = [other for answer in answers for other in answer.rest]
    for name in columns:
        _require_one_kind(name, [row[name] for row in rows])
    places = list(range(len(rows)))
    for order_key in reversed(order):
        ranks = ordered_places(
            [rows[place][order_key.name] for place in places],
            order_key.descending,
            order_key.nulls_first,
        )
        places = [places[place] for place in ranks]
    return replace(
        answers[0],
        rows=tuple(rows[place] for place in places),
        certain=tuple(certain[place] for place in places),
        rest=tuple(rest[place] for place in places),
        by_estimate=any(is_open(row[order_key.name]) for order_key in order for row in rows),
    )


def _require_one_kind(name: str, column: Sequence[Any]) -> None:
    """Check that all values of a column can be listed in one column."""
    kinds = {_kind(value) for value in column if value is not None and value is not REST}
    if len(kinds) > 1:
        raise QueryError(
            f"column {quote_name(name)} has {' and '.join(sorted(kinds))} in different "
            "queries. Select the same type in each"
        )


def _kind(value: Any) -> str:
    if isinstance(value, Bounds):
        return "bounds"
    if isinstance(value, bool):
        return "truth values"
    if isinstance(value, date):
        return "moments"
    return "texts" if isinstance(value, str) else "numbers"
