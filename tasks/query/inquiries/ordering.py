"""ORDER BY and LIMIT on rows whose numbers have bounds, and answers one after another.

What has bounds is ordered by its estimate, or by the middle of the bounds, and that is said. LIMIT
keeps rows only where no other order of them, and no row that may not be there, would keep others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import number
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.question.formulas import Formula
from sfumato.tasks.query.question.inquiry import Inquiry, OrderKey
from sfumato.tasks.query.question.question import Key, KeyOrder
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.sql.parse import quote_name


@dataclass(frozen=True)
class AnsweredRow:
    """A row of an answer.

    Attributes:
        key: the values of the group columns.
        bounds: of every formula.
        certain: whether it is surely in the answer.
    """

    key: Key
    bounds: Mapping[Formula, Bounds]
    certain: bool

    @property
    def rest(self) -> bool:
        """True where it is of all values that no published label names, of some column."""
        return REST in self.key


@dataclass(frozen=True)
class OrderedRows:
    """Rows in the order that was asked for; `by_estimate` where that is not known exactly."""

    rows: tuple[AnsweredRow, ...]
    by_estimate: bool


def order_rows(inquiry: Inquiry, rows: Sequence[AnsweredRow]) -> OrderedRows:
    """The rows in order, as many as are wanted.

    Raises:
        QueryError: where it is not certain which rows are wanted.
    """
    ordered = sorted(rows, key=lambda row: _place(row.key))
    for by in reversed(inquiry.order):
        ordered = _sorted(ordered, by)
    by_estimate = any(_is_open(row, by) for by in inquiry.order for row in rows)
    first, last = inquiry.offset, len(ordered)
    if inquiry.limit is not None:
        last = min(last, first + inquiry.limit)
    if first or last < len(ordered) or (inquiry.limit is not None and any(r.rest for r in rows)):
        _require_certain(inquiry, ordered, first, last)
    return OrderedRows(tuple(ordered[first:last]), by_estimate)


def _place(key: Key) -> list[tuple[int, Any]]:
    """Ascending, then what is no number, then the rest, then nulls."""
    ranks: dict[Any, tuple[int, Any]] = {None: (3, 0), REST: (2, 0)}
    return [ranks[v] if v is None or v is REST else (1, 0) if v != v else (0, v) for v in key]


def _sorted(rows: list[AnsweredRow], by: OrderKey) -> list[AnsweredRow]:
    """The rows by one key, in their order where it is the same; nulls where they are wanted."""
    found = in_order([_value(row, by) for row in rows], by.descending, by.nulls_first)
    return [rows[place] for place in found]


def in_order(values: Sequence[Any], descending: bool, nulls_first: bool) -> list[int]:
    """The places of values in their order, or of what is expected of bounds.

    The rest, of which no value is known, is behind all others in either order, and beside nulls.
    """
    known = [guess_of(value) for value in values]
    nulls = [place for place, value in enumerate(known) if value is None]
    rest = [place for place, value in enumerate(known) if value is REST]
    others = [n for n, value in enumerate(known) if value is not None and value is not REST]
    others.sort(key=lambda place: (known[place] != known[place], known[place]), reverse=descending)
    return [*nulls, *others, *rest] if nulls_first else [*others, *rest, *nulls]


def _value(row: AnsweredRow, by: OrderKey) -> Any:
    return row.key[by.by] if isinstance(by.by, int) else row.bounds[by.by]


def guess_of(bounds: Any) -> Any:
    """What is expected of a value: where it has bounds, the estimate, or their middle."""
    if not isinstance(bounds, Bounds):
        return bounds
    if bounds.lower is None or bounds.lower == bounds.upper:
        return bounds.lower
    if bounds.estimate is not None:
        return bounds.estimate
    if isinstance(bounds.lower, str) or not hasattr(bounds.lower, "__truediv__"):
        return bounds.lower
    return (number(bounds.lower) + number(bounds.upper)) / 2


def _is_open(row: AnsweredRow, by: OrderKey) -> bool:
    if isinstance(by.by, int):
        return False
    return is_open(row.bounds[by.by])


def is_open(value: Any) -> bool:
    """Whether a value has bounds that do not tell it."""
    if not isinstance(value, Bounds):
        return False
    return value.lower != value.upper or value.may_be_empty or value.unbounded


def _require_certain(inquiry: Inquiry, ordered: list[AnsweredRow], first: int, last: int) -> None:
    """Make sure that the rows that are wanted are the same whatever is within the bounds.

    Raises:
        QueryError: where they are not.
    """
    exact = ", ".join(quote_name(key.name) for key in inquiry.keys if key.name.isprintable())
    hint = f"Order by {exact}, or ask" if exact and not any(row.rest for row in ordered) else "Ask"
    if not all(row.certain for row in ordered[:last]):
        raise QueryError(
            "LIMIT: it is not certain that every row is in the answer, so that it is not certain "
            "which ones are left: ask without LIMIT"
        )
    if inquiry.limit is not None and any(row.rest for row in ordered[:last]):
        raise QueryError(
            "LIMIT: hidden values (*) may be further rows of the answer, and could come first. Ask "
            "without LIMIT"
        )
    groups = [ordered[:first], ordered[first:last], ordered[last:]]
    for before, after in pairwise(groups):
        if not _surely_before(inquiry.order, before, after):
            raise QueryError(
                f"LIMIT: the bounds leave open which rows come first. {hint} without LIMIT"
            )


def _surely_before(
    order: Sequence[OrderKey], before: Sequence[AnsweredRow], after: Sequence[AnsweredRow]
) -> bool:
    """Decide whether all of some rows come before all of others, in any case."""
    rows = (*before, *after)
    if not before or not after:
        return True
    rest = any(row.rest for row in rows)
    if not rest and not any(_is_open(row, by) for by in order for row in rows):
        return True
    if not order or (rest and not _is_most_first(order[0], before)):
        return False
    by = order[0]
    if isinstance(by.by, int) or any(_may_be_null(row.bounds[by.by]) for row in rows):
        return False
    first, last = (after, before) if by.descending else (before, after)
    ends: list[Any] = [row.bounds[by.by].upper for row in first]
    starts: list[Any] = [row.bounds[by.by].lower for row in last]
    return bool(max(ends) < min(starts))


def _is_most_first(by: OrderKey, before: Sequence[AnsweredRow]) -> bool:
    """Decide whether rows of many come first, so that a part of the rest comes behind all of it.

    The rest may be of several values, each with a row in the answer; none has more rows than all.
    """
    counts = getattr(by.by, "counts_all_rows", False)
    return bool(by.descending and counts and not any(row.rest for row in before))


def _may_be_null(bounds: Bounds) -> bool:
    return bounds.lower is None or bounds.may_be_empty


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
