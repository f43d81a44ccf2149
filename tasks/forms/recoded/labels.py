"""The notation of recoded cells: how a label is written, and which values it admits when read.

A value alone is written as it is; `[17, 23]` admits all values from 17 to 23, `{a, b}` these two,
`… or null` null as well; a label of the column's hierarchy admits the leaves below it, and `*` any
value. A text that could be taken for another notation is quoted in a set of its own: `{"{a, b}"}`.
"""

import calendar
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.exact import INT64_MAX
from sfumato.tasks.schema.columns import ORDERED, ColumnType
from sfumato.tasks.schema.hierarchy import ROOT
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes
from sfumato.tasks.schema.published import DeclaredColumn, Labels

STAR = ROOT
_OR_NULL = " or null"
_SPECIAL = re.compile(r"""[{},"]|^[\[ *]|[ \]]$| or null$""")
_ITEM = re.compile(r'("(?:[^"\\]|\\.)*"|[^{},"]+)(?:, |$)')


@dataclass(frozen=True)
class ListedValues:
    """These values (of the column's type), and null where `null` says so."""

    values: tuple[Any, ...]
    null: bool = False


@dataclass(frozen=True)
class Between:
    """All values of an ordered type from `low` to `high`; None is no limit."""

    low: Any
    high: Any
    null: bool = False


@dataclass(frozen=True)
class Prefixed:
    """All strings of `length` characters that begin with `kept`."""

    kept: str
    length: int
    null: bool = False


@dataclass(frozen=True)
class Anything:
    """Any value of a type without order."""

    null: bool = False


Admitted = ListedValues | Between | Prefixed | Anything
Reader = Callable[[str | None], Admitted]


def admits(label: Admitted, value: Any) -> bool:
    """Decide whether a value (of the column's type, None for null) may be behind a label."""
    if value is None:
        return label.null
    match label:
        case ListedValues(values=values):
            return value in values
        case Between(low=low, high=high):
            return low is None or low <= value <= high
        case Prefixed(kept=kept, length=length):
            return len(value) == length and value.startswith(kept)
    return True


def interval(low: str, high: str, null: bool = False) -> str:
    """The label of the values from `low` to `high`, as texts.

    >>> interval("17", "23"), interval("17", "17"), interval("17", "23", null=True)
    ('[17, 23]', '17', '[17, 23] or null')
    """
    label = low if low == high else f"[{low}, {high}]"
    return label + _OR_NULL * null


def value_set(texts: Sequence[str], null: bool = False) -> str:
    """The label of some values, as texts.

    >>> value_set(["a", "b"]), value_set(["a"]), value_set(["a, b"]), value_set(["a"], null=True)
    ('{a, b}', 'a', '{"a, b"}', 'a or null')
    """
    quoted = [_quoted(text) for text in texts]
    alone = len(texts) == 1 and quoted[0] == texts[0]
    return (quoted[0] if alone else f"{{{', '.join(quoted)}}}") + _OR_NULL * null


def _quoted(text: str) -> str:
    special = not text or _SPECIAL.search(text)
    return json.dumps(text, ensure_ascii=False) if special else text


def value_of(text: str, type_: ColumnType) -> Any:
    """The value of a type that a published text writes.

    Raises:
        ValueError: where it writes none.
    """
    try:
        return _PARSERS[type_](text)
    except (InvalidOperation, KeyError):
        raise ValueError("no such value") from None


def _integer(text: str) -> int:
    if int(text) not in _INTEGERS:
        raise ValueError("not of 64 bits")
    return int(text)


_INTEGERS = range(-INT64_MAX - 1, INT64_MAX + 1)
_PARSERS: Mapping[ColumnType, Callable[[str], Any]] = {
    "integer": _integer,
    "decimal": Decimal,
    "float": float,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "string": str,
    "boolean": lambda text: {"true": True, "false": False}[text],
}


def reader(name: str, column: DeclaredColumn) -> Reader:
    """The reader of a generalized column's labels: null is a label, too.

    The reader raises PromiseError for a text that is no label of this column.
    """
    match column.hierarchy:
        case Intervals(intervals=widths):
            read = _strict(name, lambda text: _interval(text, widths))
        case Dates():
            read = _strict(name, _period)
        case Prefixes(prefixes=lengths):
            read = _strict(name, lambda text: _prefixed(text, lengths))
        case None:
            read = _strict(name, lambda text: _by_notation(text, column.type))
        case labels:
            read = _strict(name, _by_leaves(labels, column))
    whole = read(STAR) if isinstance(column.hierarchy, tuple) else _anything(column)
    return _with_null(read, whole, name, column)


def reader_of_suppressed(name: str, column: DeclaredColumn) -> Reader:
    """The reader of a column that shows its values as they are, or a star."""
    read = _strict(name, lambda text: ListedValues((value_of(text, column.type),)))
    return _with_null(read, _anything(column), name, column)


def _anything(column: DeclaredColumn) -> Admitted:
    return Between(None, None) if column.type in ORDERED else Anything()


def _with_null(
    read: Callable[[str], Admitted], whole: Admitted, name: str, column: DeclaredColumn
) -> Reader:
    """A reader that reads nulls, too, and a star as the `whole` domain."""

    def admitted(text: str | None) -> Admitted:
        if text == STAR:
            return replace(whole, null=column.nulls)
        found = ListedValues((), null=True) if text is None else read(text)
        if found.null and not column.nulls:
            raise PromiseError(f"column {name!r}: a label admits null, but nulls are not declared")
        return found

    return admitted


def _strict(name: str, read: Callable[[str], Admitted]) -> Callable[[str], Admitted]:
    def strictly(text: str) -> Admitted:
        try:
            return read(text)
        except (ValueError, KeyError, OverflowError, InvalidOperation):
            raise PromiseError(f"column {name!r}: a text that is not one of its labels") from None

    return strictly


def _by_leaves(labels: Labels, column: DeclaredColumn) -> Callable[[str], Admitted]:
    """By label the leaves below it; where nodes of several levels share one, those of all."""
    below: dict[str, dict[str, None]] = {}
    for row in labels:
        for label in row:
            below.setdefault(label, {})[row[0]] = None
    values = {row[0]: _known(row[0], column) for row in labels}
    return {
        label: ListedValues(tuple(values[leaf] for leaf in leaves if values[leaf] is not None))
        for label, leaves in below.items()
    }.__getitem__


def _known(leaf: str, column: DeclaredColumn) -> Any:
    """The value that a leaf is, None where it is none of the column's type."""
    try:
        return pa.scalar(value_of(leaf, column.type), column.arrow_type).as_py()
    except (ValueError, OverflowError):
        return None


def _interval(text: str, widths: Iterable[int]) -> Admitted:
    """`20`, `20-24` or `-5 to -1`."""
    limits = _interval_limits(text)
    if limits is None:
        return ListedValues((_integer(text),))
    low, high = limits
    if low % (high - low + 1) or high - low + 1 not in widths:
        raise ValueError("no interval of this width")
    return Between(max(low, _INTEGERS[0]), min(high, _INTEGERS[-1]))


def _interval_limits(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d+)-(\d+)|(-?\d+) to (-?\d+)", text)
    if match is None:
        return None
    low, high = (int(limit) for limit in match.groups() if limit is not None)
    return low, high


_PERIOD_FORMS = {
    "month": r"(\d{4})-(\d{2})",
    "quarter": r"(\d{4})-Q([1-4])",
    "year": r"(\d{4})",
    "decade": r"(\d{3})0s",
    "century": r"(\d{2})xx",
}


def _period(text: str) -> Admitted:
    """A day, a month, a quarter, a year, a decade or a century."""
    name = _period_name(text)
    if name is None:
        return ListedValues((date.fromisoformat(text),))
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


def _prefixed(text: str, lengths: Iterable[int]) -> Admitted:
    """`130**`: two characters are hidden; a star may also be one that a code itself has."""
    kept = min(_lengths_kept(text, lengths), default=None)
    return ListedValues((text,)) if kept is None else Prefixed(text[:kept], len(text))


def _by_notation(text: str, type_: ColumnType) -> Admitted:
    null = text.endswith(_OR_NULL)
    label = text.removesuffix(_OR_NULL)
    if type_ not in ORDERED:
        return ListedValues(tuple(value_of(item, type_) for item in _items(label)), null)
    if not label.startswith("["):
        return ListedValues((value_of(label, type_),), null)
    low, high = label.removeprefix("[").removesuffix("]").split(", ")
    limits = Between(value_of(low, type_), value_of(high, type_), null)
    if not limits.low < limits.high:
        raise ValueError("not in order")
    return limits


def _items(label: str) -> list[str]:
    if not label.startswith("{"):
        return [label]
    inner = label[1:-1]
    found = list(_ITEM.finditer(inner))
    if sum(len(item[0]) for item in found) < len(inner) or not label.endswith("}"):
        raise ValueError("not a set of values")
    return [json.loads(item[1]) if item[1].startswith('"') else item[1] for item in found]


def levels(column: DeclaredColumn, read: Reader) -> tuple[Callable[[str | None], int], int]:
    """The level of each label of a column's hierarchy, and the root's; the lowest that it can be.

    Without a hierarchy there are two levels: what `read` finds to be a single value, and all else.
    """
    name: Callable[[str], Any]
    match column.hierarchy:
        case Intervals(intervals=widths):
            names: list[Any] = list(widths)
            name = _width
        case Dates(dates=periods):
            names, name = list(periods), _period_name
        case Prefixes(prefixes=lengths):
            names, name = list(lengths), partial(_kept, lengths=lengths)
        case None:
            return partial(_by_number, read), 1
        case labels:
            return _by_place(labels), len(labels[0]) - 1
    height = len(names) + 1

    def level(label: str | None) -> int:
        if label == STAR:
            return height
        kind = None if label is None else name(label)
        return 0 if kind is None else names.index(kind) + 1

    return level, height


def _by_number(read: Reader, label: str | None) -> int:
    admitted = read(label)
    alone = isinstance(admitted, ListedValues) and len(admitted.values) + admitted.null == 1
    return 0 if alone else 1


def _by_place(labels: Labels) -> Callable[[str | None], int]:
    places: dict[str, int] = {}
    for number in range(len(labels[0])):
        for row in labels:
            places.setdefault(row[number], number)
    return lambda label: 0 if label is None else places[label]


def _width(label: str) -> int | None:
    admitted = _interval_limits(label)
    return None if admitted is None else admitted[1] - admitted[0] + 1


def _period_name(label: str) -> str | None:
    return next((name for name, form in _PERIOD_FORMS.items() if re.fullmatch(form, label)), None)


def _kept(label: str, lengths: Iterable[int]) -> int | None:
    """The most characters that a label can have kept; a star may be one of its code's own."""
    return max(_lengths_kept(label, lengths), default=None)


def _lengths_kept(label: str, lengths: Iterable[int]) -> list[int]:
    shortest = len(label.rstrip(STAR))
    return [length for length in lengths if shortest <= length < len(label)]
