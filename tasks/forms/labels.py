"""The notation of recoded cells: how a label is written, and which values it admits when read.

A single value is written as it is; `[17, 23]` admits all values from 17 to 23, `{a, b}` these two,
`… or null` also null; a label of the column's hierarchy admits the leaves below it, and `*` any
value. A text that could be taken for another notation is quoted in a set of its own: `{"{a, b}"}`.
So is any text with a comma, a quote or a brace, unless single values are to be `plain`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import pyarrow as pa

from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.schema.columns import ORDERED, ColumnType
from sfumato.tasks.schema.hierarchy import ROOT

STAR = ROOT
_OR_NULL = " or null"
_KEPT = 2**18  # labels that are read only once, though several rules and measures read them
_SPECIAL = re.compile(r"""[{},"]|^[\[ *]|[ \]]$| or null$""")
_UNQUOTED = re.compile(r'[^{},"]+(?:, [^{},"]+)*')
_ITEM = re.compile(r'("(?:[^"\\]|\\.)*"|[^{},"]+)(?:, |$)')


@dataclass(frozen=True)
class ListedValues:
    """Listed values (of the column's type), and null if `null` is True."""

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
    """Return the label of the values from `low` to `high`, as texts.

    >>> interval("17", "23"), interval("17", "17"), interval("17", "23", null=True)
    ('[17, 23]', '17', '[17, 23] or null')
    """
    label = low if low == high else f"[{low}, {high}]"
    return label + _OR_NULL * null


def value_set(texts: Sequence[str], null: bool = False, *, plain: bool = False) -> str:
    """Return the label of some values, as texts; a single one can be `plain`.

    >>> value_set(["a", "b"]), value_set(["a"]), value_set(["a, b"]), value_set(["a"], null=True)
    ('{a, b}', 'a', '{"a, b"}', 'a or null')
    """
    if plain and len(texts) == 1:
        return _plain(texts[0]) + _OR_NULL * null
    quoted = [_quote(text) for text in texts]
    is_single = len(texts) == 1 and quoted[0] == texts[0]
    return (quoted[0] if is_single else f"{{{', '.join(quoted)}}}") + _OR_NULL * null


def _plain(text: str) -> str:
    """Return the label of one value, as a text: itself, unless it reads as a label.

    >>> _plain("a, b"), _plain("*"), _plain("{a}"), _plain("[1, 2]"), _plain("a or null")
    ('a, b', '{"*"}', '{"{a}"}', '{"[1, 2]"}', '{"a or null"}')
    """
    reads = not text or text == STAR or text[0] in "{[" or text.endswith(_OR_NULL)
    return f"{{{json.dumps(text, ensure_ascii=False)}}}" if reads else text


def _quote(text: str) -> str:
    special = not text or _SPECIAL.search(text)
    return json.dumps(text, ensure_ascii=False) if special else text


def value_of(text: str, type_: ColumnType) -> Any:
    """Return the value of a type that a published text writes.

    Raises:
        ValueError: where it writes none.
    """
    try:
        return _PARSERS[type_](text)
    except (InvalidOperation, KeyError):
        raise ValueError("no such value") from None


def integer(text: str) -> int:
    """Return the integer of 64 bits that a text writes.

    Raises:
        ValueError: where it writes none.
    """
    if int(text) not in INTEGERS:
        raise ValueError("not of 64 bits")
    return int(text)


def label_value(text: str, type_: ColumnType, scale: int | None) -> Any:
    """Return the value that a label writes in the one way in which values of its column are texts.

    >>> label_value("1.50", "decimal", 2)
    Decimal('1.50')

    Args:
        text: the label.
        type_: the type of the column's values.
        scale: the number of decimals of a decimal column.

    Raises:
        ValueError: where it writes none, or has other decimals or digits than such values have.
    """
    value = published_value(text, type_)
    if type_ == "decimal" and (str(value), -value.as_tuple().exponent) != (text, scale or 0):
        raise ValueError("not with the decimals of the column")
    if type_ == "float" and pa.scalar(value).cast(pa.string()).as_py() != text:
        raise ValueError("not the shortest digits of the number")
    return value


def published_value(text: str, type_: ColumnType) -> Any:
    """Return the value of a type that a published text writes, in the one way it is published.

    Other ways to write a number or a day, as `1_000`, ` 7` or `20240131`, are no labels: databases
    and other readers do not read them.

    Raises:
        ValueError: where it writes none.
    """
    if type_ in _WRITTEN and not re.fullmatch(_WRITTEN[type_], text):
        raise ValueError("not as values are written")
    return value_of(text, type_)


_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WRITTEN: Mapping[ColumnType, str] = {
    "integer": r"0|-?[1-9][0-9]*",
    "decimal": r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(E-[1-9][0-9]*)?",
    "float": r"-?(inf|(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-][1-9][0-9]*)?)",
    "date": _DAY,
    "timestamp": rf"{_DAY} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]{{6}}",
}
INTEGERS = range(-INT64_MAX - 1, INT64_MAX + 1)
_PARSERS: Mapping[ColumnType, Callable[[str], Any]] = {
    "integer": integer,
    "decimal": Decimal,
    "float": float,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "string": str,
    "boolean": lambda text: {"true": True, "false": False}[text],
}


@lru_cache(maxsize=_KEPT)
def read_notation(text: str, type_: ColumnType, scale: int | None = None) -> Admitted:
    """Return the values that a label in this notation admits, for a column without a hierarchy.

    `scale` is the number of decimals of a decimal column.

    Raises:
        ValueError: where the text is no such label of the type.
    """
    null = text.endswith(_OR_NULL)
    label = text.removesuffix(_OR_NULL)
    if type_ not in ORDERED:
        items = _items(label)
        if text not in {value_set(items, null), value_set(items, null, plain=True)}:
            raise ValueError("not as sets are written")
        of_type = items if type_ == "string" else [value_of(item, type_) for item in items]
        return ListedValues(tuple(of_type), null)
    if not label.startswith("["):
        return ListedValues((label_value(label, type_, scale),), null)
    if not label.endswith("]"):
        raise ValueError("not an interval")
    low, high = label[1:-1].split(", ")
    limits = Between(label_value(low, type_, scale), label_value(high, type_, scale), null)
    if not limits.low < limits.high:
        raise ValueError("not in order")
    return limits


def _items(label: str) -> list[str]:
    """Return the texts that a label of a set has, ascending, each once."""
    items = _texts_of_set(label)
    if not items or items != sorted(set(items)):
        raise ValueError("not a set of values in ascending order")
    return items


def _texts_of_set(label: str) -> list[str]:
    if not label.startswith("{"):
        return [label]
    inner = label[1:-1]
    if label.endswith("}") and _UNQUOTED.fullmatch(inner):
        return inner.split(", ")
    matches = list(_ITEM.finditer(inner))
    if sum(len(item[0]) for item in matches) < len(inner) or not label.endswith("}"):
        raise ValueError("not a set of values")
    return [json.loads(item[1]) if item[1].startswith('"') else item[1] for item in matches]
