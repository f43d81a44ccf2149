"""Answers on the command line: tables, JSON, CSV, and why there is none."""

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import TYPE_CHECKING, Any

from sfumato.flows.cli.show import (
    direct_answers,
    document,
    echo,
    echo_json,
    failure,
    one_line,
    say,
    visible,
)
from sfumato.tasks.query.question.rest import REST

if TYPE_CHECKING:
    from sfumato.expectations.shared.errors import SfumatoError
    from sfumato.tasks.query.inquiries.answer import Answer

_SIX_DIGITS = 100_000
_DECIMALS = 20
_DENOMINATOR = 10**12  # of the fractions that guesses are taken for
_WIDE = 100  # characters of a heading


@dataclass(frozen=True)
class QueryPlace:
    """A query of a file: its number there, the line on which it begins (both from 1), its text."""

    query: int
    line: int
    sql: str

    def __str__(self) -> str:
        return f"query {self.query}, line {self.line}: "

    @property
    def heading(self) -> str:
        """The place and the query, on one line that fits a terminal."""
        text = one_line(f"{self}{self.sql}")
        return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"

    @property
    def keys(self) -> dict[str, Any]:
        """The keys that documents of this query begin with."""
        return {"query": self.query, "line": self.line}


def answer_as(result: "Answer", format_: str, place: QueryPlace | None = None) -> None:
    """Print an answer as a table, as JSON, or as CSV with its bounds in columns of their own.

    Columns are named as the reader typed them. An answer to a query of a file begins with its
    `place`: a line above a table, two keys of JSON, a column of CSV. Notes are a part of JSON;
    otherwise they go to stderr.
    """
    from sfumato.tasks.query.inquiries.answer import document as as_document
    from sfumato.tasks.query.inquiries.answer import with_headers

    result = with_headers(result)
    if format_ == "json":
        document({**_keys(place), **as_document(result)}, "json")
    elif format_ == "csv":
        _as_csv(as_document(result), place)
    else:
        if place is not None:
            echo(place.heading)
        answer(result)
    if format_ != "json":
        for note in result.notes:
            say(one_line(f"note: {place or ''}{note}"))


def refusal_as(error: "SfumatoError", format_: str, place: QueryPlace | None = None) -> None:
    """Print why a query has no answer, in the place of the answer: as JSON, or as CSV.

    The reason of a query in a file goes to stderr where it is not JSON; the command itself prints
    the reason of a query that was asked alone.
    """
    reason = one_line(str(error))
    if format_ == "json":
        echo_json({**_keys(place), "error": reason, "exit": error.exit_code})
    elif format_ == "csv":
        _write_csv({"error": [reason]}, place)
    if place is not None and format_ != "json":
        failure(f"{place}{reason}")


def _keys(place: QueryPlace | None) -> dict[str, Any]:
    return {} if place is None else place.keys


def _as_csv(answer: Mapping[str, Any], place: QueryPlace | None) -> None:
    """Print an answer as CSV, with a header even without rows.

    Sides of bounds are columns called `x_lower` and so on.
    """
    from sfumato.tasks.query.inquiries.answer import flat_columns

    _write_csv(flat_columns(_flat(answer)), place)


def _write_csv(columns: Mapping[str, Sequence[Any]], place: QueryPlace | None) -> None:
    """Print columns as CSV; those of a query in a file have its number in front.

    An empty line comes before every query of a file but the first.
    """
    text_of = visible if sys.stdout.isatty() else str  # a file gets the values as they are
    number = [] if place is None else [place.query]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    with direct_answers():
        if place is not None and place.query > 1:
            sys.stdout.write("\n")
        writer.writerow([*(["query"] if number else []), *map(text_of, columns)])
        for row in zip(*columns.values(), strict=True):
            values = ["" if value is None else text_of(str(value)) for value in row]
            writer.writerow([*number, *values])


def _flat(answer: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the columns of an answer; each side of bounds is a column of its own."""
    for name in answer["columns"]:
        column = [row[name] for row in answer["rows"]]
        rest = [value == {"rest": True} for value in column]
        if any(rest):
            yield (
                name,
                [None if hidden else value for value, hidden in zip(column, rest, strict=True)],
            )
            yield f"{name}_rest", rest
        elif column and all(isinstance(value, Mapping) for value in column):
            yield from _sides(name, column)
        else:
            yield name, column
    if "certain" in answer:
        yield "certain", answer["certain"]
    if "rest" in answer and not any({"rest": True} in row.values() for row in answer["rows"]):
        yield "rest", answer["rest"]


def _sides(name: str, bounds: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    from sfumato.tasks.query.inquiries.answer import DOUBTS

    for side in ("lower", "upper", "estimate"):
        yield f"{name}_{side}", [interval[side] for interval in bounds]
    if any("interval_95" in interval for interval in bounds):
        ends = [interval.get("interval_95") or (None, None) for interval in bounds]
        for place, side in enumerate(("lower", "upper")):
            yield f"{name}_likely_{side}", [end[place] for end in ends]
    for doubt in DOUBTS:
        if any(doubt in interval for interval in bounds):
            yield f"{name}_{doubt}", [doubt in interval for interval in bounds]


def answer(result: "Answer") -> None:
    """Print an answer as a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in result.columns:
        table.add_column(Text(one_line(column)))
    columns = [column_cells([row[name] for row in result.rows]) for name in result.columns]
    for cells in zip(*columns, strict=True):
        table.add_row(*(Text(visible(text)) for text in cells))
    with direct_answers():
        Console().print(table)
    for remark in remarks(result):
        echo(one_line(remark))
    left_out = ", ".join(f"{n} ({why})" for why, n in result.not_represented.items() if n)
    echo(f"{assurance(result)}{f'. Rows left out: {left_out}' if left_out else ''}")


def remarks(result: "Answer") -> Iterator[str]:
    """Yield remarks on an answer, except what its bounds are worth."""
    bounds = [v for row in result.rows for v in row.values() if hasattr(v, "estimate")]
    if any(
        interval.estimate is not None and interval.lower != interval.upper for interval in bounds
    ):
        yield "≈ is an estimate, without guarantee"
    if any(_is_rounded(interval) for interval in bounds):
        yield "a single number is the exact answer, rounded"
    maybe = len(result.certain) - sum(result.certain)
    if maybe:
        yield f"rows that may not be in the answer: {maybe} of {len(result.rows)}"
    if any(result.rest):
        yield (
            f"{REST}: published rows with a label, such as *, that may hide a value that "
            "no label names"
        )
    if result.by_estimate:
        yield "ordered by estimates"
    if not all(interval.attained for interval in bounds):
        yield "some bounds are computed from other bounds, and may be wider than necessary"
    yield from _likely_remarks(
        [b.likely for b in bounds if b.likely is not None and b.lower != b.upper]
    )
    if result.coded:
        yield f"about coded values: {_codings(result.coded)}"


def _is_rounded(bounds: Any) -> bool:
    """Decide whether an exact answer is shown as a number with decimals."""
    exact = bounds.lower == bounds.upper and _is_number(bounds.lower)
    return exact and Fraction(bounds.lower).denominator != 1


def _likely_remarks(likely_intervals: Sequence[Any]) -> Iterator[str]:
    if any(likely.interval for likely in likely_intervals):
        yield (
            "likely: for 95 % of queries like this one, the interval contains the truth, "
            "without guarantee"
        )
    for reason in dict.fromkeys(
        likely.reason for likely in likely_intervals if likely.interval is None
    ):
        yield f"no likely interval: {reason}"


def _codings(coded: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{name} ({', '.join(keys)})" for name, keys in sorted(coded.items()))


def assurance(result: "Answer") -> str:
    """Return in words what the bounds of an answer are worth."""
    if result.guaranteed:
        return "guaranteed bounds for the rows in the release"
    if not result.verified:
        return "bounds for the rows in the release, without guarantee: the files are not verified"
    return "estimates for the rows in the release, without guarantee"


def column_cells(values: Sequence[Any]) -> list[str]:
    """Return a column as texts for people: its bounds, and its estimates, have equal decimals.

    Bounds are rounded outwards, so that they still contain the truth; an exact answer is one
    number.

    >>> from sfumato.tasks.query.bounds.bounds import Bounds
    >>> column_cells([Bounds(Fraction(5, 2), 1200), Bounds(3, 3), "a"])
    ['2.50 … 1,200.00', '3.00', 'a']
    """
    bounds = [value for value in values if _has_ends(value)]
    ends = _decimals([end for interval in bounds for end in (interval.lower, interval.upper)])
    guesses = _decimals([_rough(guess) for interval in bounds for guess in _guesses(interval)])
    return [_bounds_cell(v, ends, guesses) if _has_ends(v) else _value_cell(v) for v in values]


def cell(value: Any) -> str:
    """Return a value or bounds as a text for people, as a column of one row."""
    (text,) = column_cells([value])
    return text


def _has_ends(value: Any) -> bool:
    return hasattr(value, "lower") and not isinstance(value, str)


def _guesses(bounds: Any) -> Iterator[Any]:
    """Yield what bounds show in parentheses: the estimate, and the ends of the likely interval."""
    if bounds.lower != bounds.upper:
        yield bounds.estimate
        if bounds.likely is not None and bounds.likely.interval is not None:
            yield from bounds.likely.interval


def _value_cell(value: Any) -> str:
    text = "null" if value is None else str(value)
    return f'"{text}"' if text == str(REST) and value is not REST else text


def _bounds_cell(bounds: Any, ends: int, guesses: int) -> str:
    """Return bounds as a text: decimals of the ends, and of the guesses between them."""
    if bounds.unbounded:
        return "anything or null"
    if bounds.lower is None:
        return "none selected"
    empty = " or null" if bounds.may_be_empty else ""
    if bounds.lower == bounds.upper:
        return f"{number(bounds.lower, round, ends)}{empty}"
    interval = f"{number(bounds.lower, floor, ends)} … {number(bounds.upper, ceil, ends)}"
    if bounds.estimate is None:
        return f"{interval}{empty}"
    guess = f"{number(bounds.estimate, round, guesses)}{_likely(bounds, guesses)}"
    return f"{interval} (≈ {guess}){empty}"


def _likely(bounds: Any, decimals: int) -> str:
    if bounds.likely is None or bounds.likely.interval is None:
        return ""
    low, high = bounds.likely.interval
    return f", likely {number(low, floor, decimals)} … {number(high, ceil, decimals)}"


def _decimals(values: Sequence[Any]) -> int:
    """Return the decimals of a column: none for whole numbers, else six digits of the largest.

    There are at least two, and further ones only if some number has another digit than 0 there.
    """
    numbers = [Fraction(value) for value in values if _is_number(value)]
    if all(value.denominator == 1 for value in numbers):
        return 0
    largest, digits = max(map(abs, numbers)), 2
    while digits < _DECIMALS and largest * 10**digits < _SIX_DIGITS:
        digits += 1
    while digits > 2 and all((value * 10 ** (digits - 1)).denominator == 1 for value in numbers):
        digits -= 1
    return digits


def _rough(value: Any) -> Any:
    """Return the short fraction beside a guess: the last digits of its float say nothing."""
    if not _is_number(value):
        return value
    return Fraction(value).limit_denominator(_DENOMINATOR) or value


def _is_number(value: Any) -> bool:
    finite = not isinstance(value, float) or isfinite(value)
    return hasattr(value, "__float__") and not isinstance(value, bool) and finite


def number(value: Any, rounded: Callable[[Fraction], int], decimals: int) -> str:
    """Return a number for people, with so many decimals; `rounded` decides the direction.

    Other values, such as dates, are texts as they are.

    >>> number(Fraction(1, 3), floor, 4), number(Fraction(20_001, 10), ceil, 2)
    ('0.3333', '2,000.10')
    """
    if not _is_number(value):
        return str(value)
    scaled = rounded(Fraction(value) * 10**decimals)
    whole, part = divmod(abs(scaled), 10**decimals)
    point = f".{part:0{decimals}d}" if decimals else ""
    return f"{'-' if scaled < 0 else ''}{whole:,}{point}"
