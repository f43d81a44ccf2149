"""Codings in words: what was done to columns first, and what it still reveals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sfumato.tasks.report.numbers import digits, thousands
from sfumato.tasks.schema.codings import DateShift, RareFold, Rounding, TailShare
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared

_TIES = {
    "even": "the even multiple",
    "up": "the larger multiple",
    "down": "the smaller multiple",
}


@dataclass(frozen=True)
class CodingLine:
    """A coding of columns.

    Attributes:
        columns: the columns with the same coding, by name.
        title: the name of the coding.
        rule: the description of the coding.
        tells: the information that it does not hide.
    """

    columns: tuple[str, ...]
    title: str
    rule: str
    tells: str


def coding_lines(declared: Declared) -> list[CodingLine]:
    """Return every coding in the order of acting, with its columns by name."""
    coded: dict[tuple[str, str, str], list[str]] = {}
    for key, words in _WORDS.items():
        for name, column in sorted(declared.columns.items()):
            if (wish := column.codings.get(key)) is not None:
                coded.setdefault(words(wish, column, declared), []).append(name)
    return [CodingLine(tuple(names), *texts) for texts, names in coded.items()]


def unmoved_dates(declared: Declared) -> list[str]:
    """Return the columns of dates that were not moved, if other dates were."""
    dates = {n: c for n, c in declared.columns.items() if c.type in ("date", "timestamp")}
    if all(column.shift is None for column in dates.values()):
        return []
    return sorted(name for name, column in dates.items() if column.shift is None)


def _shift(wish: DateShift, column: DeclaredColumn, _: Declared) -> tuple[str, str, str]:
    days = thousands(wish.days)
    times = "Times of day are as they were. " if column.type == "timestamp" else ""
    return (
        "Dates moved",
        f"Moved by a number of days from {days} earlier to {days} later, each as likely as "
        "another, 0 among them. A secret key chooses it for each person: it is the same for all "
        "moved dates of the person, and in all versions.",
        f"The time between two moved dates of a person. {times}"
        "A reader who recognises a person and knows one of these dates knows all of them. Other "
        "releases move dates by other days: a reader of several has fewer days left to guess.",
    )


def _top(wish: str | TailShare, column: DeclaredColumn, declared: Declared) -> tuple[str, str, str]:
    so = f"or more{_or_rounded(column)}"
    return _end("Top-coded", "larger", "largest", so, wish, declared)


def _bottom(
    wish: str | TailShare, column: DeclaredColumn, declared: Declared
) -> tuple[str, str, str]:
    so = f"or less{_or_rounded(column)}"
    return _end("Bottom-coded", "smaller", "smallest", so, wish, declared)


def _or_rounded(column: DeclaredColumn) -> str:
    return "" if column.round is None else ", or was rounded to it"


def _end(
    title: str, beyond: str, outermost: str, so: str, wish: str | TailShare, declared: Declared
) -> tuple[str, str, str]:
    if isinstance(wish, str):
        return (
            title,
            f"Every {beyond} value is shown as {wish}.",
            f"A person with {wish} has that {so}.",
        )
    return (
        title,
        f"The {outermost} values are shown as one threshold, which was computed once: of the first "
        f"version's {_unit_noun(declared)}, a share of {digits(wish.share)} stood at it, or "
        "somewhat more. It is the same in all versions, and not stated here: it was a person's "
        "value.",
        f"A person at the threshold has that {so}. If values of the column are "
        f"published, the {outermost} of them reveals the threshold.",
    )


def _round(wish: Rounding, *_: object) -> tuple[str, str, str]:
    half = digits((Decimal(wish.to) / 2).normalize())
    return (
        "Rounded",
        f"Every number is shown as the nearest multiple of {wish.to}; one halfway between two as "
        f"{_TIES[wish.ties]}.",
        f"The number itself, up to {half} less or more.",
    )


def _unite(*_: object) -> tuple[str, str, str]:
    return (
        "Spellings united",
        "Texts are shown in lower case, with single spaces and in one Unicode form, so that "
        "spellings of one value are one.",
        "The text itself, but for how it was spelled.",
    )


def _prefix(wish: int, *_: object) -> tuple[str, str, str]:
    phrase = "character is" if wish == 1 else f"{wish} characters are"
    return (
        "Cut short",
        f"Only the first {phrase} kept.",
        "The characters that are kept are the true ones.",
    )


def _fold(wish: RareFold, _: DeclaredColumn, declared: Declared) -> tuple[str, str, str]:
    return (
        "Rare values folded",
        f"Values that fewer than {thousands(wish.below)} {_unit_noun(declared)} of the first "
        f"version had are shown as “{wish.into}”, and so is every value that did not occur then. "
        "Which values stay was decided once, for all versions.",
        f"A person with “{wish.into}” has a rare value, and everyone known to have a rare value "
        "is shown so. All of them together may still be few: only a promise states how few.",
    )


def _unit_noun(declared: Declared) -> str:
    return "people" if declared.unit == "identifier" else "rows"


_WORDS: Mapping[str, Callable[[Any, DeclaredColumn, Declared], tuple[str, str, str]]] = {
    "shift": _shift,
    "bottom": _bottom,
    "top": _top,
    "round": _round,
    "unite": _unite,
    "prefix": _prefix,
    "fold": _fold,
}
"""The title, rule and remaining information, by the key of a coding, in the order of acting."""
