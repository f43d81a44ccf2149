"""Readers of recoded columns: from each label to the values that it admits, and its level."""

import calendar
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import InvalidOperation
from functools import partial
from typing import Any

import pyarrow as pa

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.labels import (
    INTEGERS,
    STAR,
    Admitted,
    Anything,
    Between,
    ListedValues,
    Prefixed,
    label_value,
    published_value,
    read_notation,
)
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes
from sfumato.tasks.schema.published import DeclaredColumn, Labels

_PERIOD_FORMS = {
    "month": r"([0-9]{4})-([0-9]{2})",
    "quarter": r"([0-9]{4})-Q([1-4])",
    "year": r"([0-9]{4})",
    "decade": r"([0-9]{3})0s",
    "century": r"([0-9]{2})xx",
}
_WHOLE = "(?:0|[1-9][0-9]*)"
Reader = Callable[[str | None], Admitted]


def read_interval(text: str, widths: Iterable[int]) -> Admitted:
    """Return the integers of `20`, `20-24` or `-5 to -1`.

    Raises:
        ValueError: where the text is no interval of one of these widths, or no integer.
    """
    limits = _interval_limits(text)
    if limits is None:
        return ListedValues((published_value(text, "integer"),))
    low, high = limits
    if low % (high - low + 1) or high - low + 1 not in widths:
        raise ValueError("no interval of this width")
    return Between(max(low, INTEGERS[0]), min(high, INTEGERS[-1]))


def _interval_limits(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(rf"({_WHOLE})-({_WHOLE})|(-{_WHOLE}) to (-?{_WHOLE})", text)
    if match is None:
        return None
    low, high = (int(limit) for limit in match.groups() if limit is not None)
    return low, high


def read_period(text: str, periods: Collection[str] = tuple(_PERIOD_FORMS)) -> Admitted:
    """Return the dates of a day, a month, a quarter, a year, a decade or a century.

    Args:
        text: the label.
        periods: the kinds of periods that the hierarchy has.

    Raises:
        ValueError: where the text is no day, and no period of these kinds.
    """
    name = period_name(text)
    if name is None:
        return ListedValues((published_value(text, "date"),))
    if name not in periods:
        raise ValueError("no period of this hierarchy")
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    if name in ("month", "quarter"):
        months = 1 if name == "month" else 3
        year, last = numbers[0], numbers[1] * months
        return Between(date(year, last - months + 1, 1), _end_of_month(year, last))
    years = {"year": 1, "decade": 1, "century": 100}[name]
    first = numbers[0] * years
    last = first + {"year": 0, "decade": 9, "century": 99}[name]
    return Between(date(max(first, 1), 1, 1), date(last, 12, 31))


def _end_of_month(year: int, month: int) -> date:
    return date(year, month, 1) + timedelta(days=calendar.monthrange(year, month)[1] - 1)


def read_prefixed(text: str, lengths: Iterable[int]) -> Admitted:
    """Return the codes of `130**`: two hidden characters, or stars that the code itself has."""
    length = min(_lengths_kept(text, lengths), default=None)
    return ListedValues((text,)) if length is None else Prefixed(text[:length], len(text))


def width_of(label: str) -> int | None:
    """Return the number of integers in an interval, None for a label that is no interval."""
    limits = _interval_limits(label)
    return None if limits is None else limits[1] - limits[0] + 1


def period_name(label: str) -> str | None:
    """Return the kind of period that a label writes, None for a day."""
    return next((name for name, form in _PERIOD_FORMS.items() if re.fullmatch(form, label)), None)


def length_kept(label: str, lengths: Iterable[int]) -> int | None:
    """Return the most characters that a label can have kept, None for all.

    Stars may be characters of the code itself.
    """
    return max(_lengths_kept(label, lengths), default=None)


def _lengths_kept(label: str, lengths: Iterable[int]) -> list[int]:
    shortest = len(label.rstrip(STAR))
    return [length for length in lengths if shortest <= length < len(label)]


def reader(name: str, column: DeclaredColumn) -> Reader:
    """Return the reader of a generalized column's labels: null is a label, too.

    The reader raises PromiseError for a text that is no label of this column.
    """
    match column.hierarchy:
        case Intervals(intervals=widths):
            read = _strict(name, lambda text: read_interval(text, widths))
        case Dates(dates=periods):
            read = _strict(name, lambda text: read_period(text, periods))
        case Prefixes(prefixes=lengths):
            read = _strict(name, lambda text: read_prefixed(text, lengths))
        case None:
            read = _strict(name, lambda text: read_notation(text, column.type, column.scale))
        case labels:
            read = _strict(name, _by_leaves(labels, column))
    listed = isinstance(column.hierarchy, tuple) and column.leaves == "all"
    whole = read(STAR) if listed else _anything(column)
    return _with_null(read, whole, name, column)


def reader_of_suppressed(name: str, column: DeclaredColumn) -> Reader:
    """Return the reader of a column that shows its values as they are, or a star."""

    def value_of_label(text: str) -> Admitted:
        return ListedValues((label_value(text, column.type, column.scale),))

    read = _strict(name, value_of_label)
    return _with_null(read, _anything(column), name, column)


def _anything(column: DeclaredColumn) -> Admitted:
    return Between(None, None) if column.type in ORDERED else Anything()


def _with_null(
    read: Callable[[str], Admitted], whole: Admitted, name: str, column: DeclaredColumn
) -> Reader:
    """Return a reader that also reads nulls, and a star as the `whole` domain."""

    def read_cell(text: str | None) -> Admitted:
        if text == STAR:
            return replace(whole, null=column.nulls)
        admitted = ListedValues((), null=True) if text is None else read(text)
        if admitted.null and not column.nulls:
            raise PromiseError(
                f"column {name!r}: a label admits missing values, but the column declares no nulls"
            )
        return admitted

    return read_cell


def _strict(name: str, read: Callable[[str], Admitted]) -> Callable[[str], Admitted]:
    def strictly(text: str) -> Admitted:
        try:
            return read(text)
        except (ValueError, KeyError, OverflowError, InvalidOperation):
            raise PromiseError(f"column {name!r}: a text is not one of its labels") from None

    return strictly


def _by_leaves(labels: Labels, column: DeclaredColumn) -> Callable[[str], Admitted]:
    """Return a reader of labels as the leaves below them, on all levels that have the label."""
    below: dict[str, dict[str, None]] = {}
    for row in labels:
        for label in row:
            below.setdefault(label, {})[row[0]] = None
    values = {row[0]: _leaf_value(row[0], column) for row in labels}
    return {
        label: ListedValues(tuple(values[leaf] for leaf in leaves if values[leaf] is not None))
        for label, leaves in below.items()
    }.__getitem__


def _leaf_value(leaf: str, column: DeclaredColumn) -> Any:
    """Return the value of a leaf, None if it is no value of the column's type."""
    try:
        value = published_value(leaf, column.type)
        if column.type == "string":
            return value
        return pa.scalar(value, column.arrow_type).as_py()
    except (ValueError, OverflowError):
        return None


def levels(
    column: DeclaredColumn, labels: Sequence[str | None], admitted: Sequence[Admitted]
) -> tuple[list[int], int]:
    """Return the lowest possible level of each label of a column's hierarchy, and the root's level.

    Without a hierarchy there are two levels: single values, and everything else.

    Args:
        column: as declared.
        labels: as published.
        admitted: the values that each of them admits.
    """
    name: Callable[[str], Any]
    match column.hierarchy:
        case Intervals(intervals=widths):
            names: list[Any] = list(widths)
            name = width_of
        case Dates(dates=periods):
            names, name = list(periods), period_name
        case Prefixes(prefixes=lengths):
            names, name = list(lengths), partial(length_kept, lengths=lengths)
        case None:
            return [int(not _is_alone(values)) for values in admitted], 1
        case node_rows:
            places = _places(node_rows)
            return [0 if label is None else places[label] for label in labels], len(
                node_rows[0]
            ) - 1
    height = len(names) + 1

    def level(label: str | None) -> int:
        if label == STAR:
            return height
        kind = None if label is None else name(label)
        return 0 if kind is None else names.index(kind) + 1

    return [level(label) for label in labels], height


def _is_alone(admitted: Admitted) -> bool:
    return isinstance(admitted, ListedValues) and len(admitted.values) + admitted.null == 1


def _places(labels: Labels) -> dict[str, int]:
    places: dict[str, int] = {}
    for number in range(len(labels[0])):
        for row in labels:
            places.setdefault(row[number], number)
    return places
