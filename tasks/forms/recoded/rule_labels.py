"""Labels that the rules of hierarchies make: intervals of numbers, periods of dates, prefixes."""

import calendar
import re
from collections.abc import Iterable
from datetime import date, timedelta

from sfumato.tasks.forms.recoded.labels import (
    INTEGERS,
    STAR,
    Admitted,
    Between,
    ListedValues,
    Prefixed,
    integer,
)


def read_interval(text: str, widths: Iterable[int]) -> Admitted:
    """The integers of `20`, `20-24` or `-5 to -1`.

    Raises:
        ValueError: where the text is no interval of one of these widths, or no integer.
    """
    limits = _interval_limits(text)
    if limits is None:
        return ListedValues((integer(text),))
    low, high = limits
    if low % (high - low + 1) or high - low + 1 not in widths:
        raise ValueError("no interval of this width")
    return Between(max(low, INTEGERS[0]), min(high, INTEGERS[-1]))


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


def read_period(text: str) -> Admitted:
    """The dates of a day, a month, a quarter, a year, a decade or a century.

    Raises:
        ValueError: where the text is none of these.
    """
    name = period_name(text)
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


def read_prefixed(text: str, lengths: Iterable[int]) -> Admitted:
    """The codes of `130**`: two characters are hidden, or stars that the code itself has."""
    kept = min(_lengths_kept(text, lengths), default=None)
    return ListedValues((text,)) if kept is None else Prefixed(text[:kept], len(text))


def width_of(label: str) -> int | None:
    """The number of integers in an interval, None for a label that is no interval."""
    limits = _interval_limits(label)
    return None if limits is None else limits[1] - limits[0] + 1


def period_name(label: str) -> str | None:
    """The kind of period that a label writes, None for a day."""
    return next((name for name, form in _PERIOD_FORMS.items() if re.fullmatch(form, label)), None)


def length_kept(label: str, lengths: Iterable[int]) -> int | None:
    """The most characters that a label can have kept, None for all; stars may be the code's own."""
    return max(_lengths_kept(label, lengths), default=None)


def _lengths_kept(label: str, lengths: Iterable[int]) -> list[int]:
    shortest = len(label.rstrip(STAR))
    return [length for length in lengths if shortest <= length < len(label)]
