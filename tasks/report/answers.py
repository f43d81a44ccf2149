"""Answers as a page shows them: a question in words, and each bound as a number and as a bar.

Numbers are rounded outward, to four digits of the largest, so what is shown contains the truth as
well. All bars of one aggregate have the same scale.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.report.numbers import bounds_in_words, decimals_of, width_in_words
from sfumato.tasks.report.snippets import query_command

if TYPE_CHECKING:
    from sfumato.tasks.query.first_answers import FirstAnswer, FirstQuestion

_WIDTH = 1000  # of the picture of bounds, in its own units
_LEAST = 6  # that a bar can still be seen


@dataclass(frozen=True)
class AnswerLine:
    """A line of an answer: the values that it is about, its bounds in words, and its bar."""

    labels: tuple[str, ...]
    bounds: str
    accuracy: str
    start: int
    length: int


@dataclass(frozen=True)
class ShownAnswer:
    """An answer on a page: its question, also as a command, and its lines."""

    question: "FirstQuestion"
    command: str
    lines: tuple[AnswerLine, ...]


def shown_answers(answers: "Sequence[FirstAnswer]") -> list[ShownAnswer]:
    """Return what a page shows of answers."""
    scales = {
        subject: _scale(_all_bounds(answers, subject))
        for subject in {_subject(answer.question) for answer in answers}
    }
    return [_view(answer, *scales[_subject(answer.question)]) for answer in answers]


def _subject(question: "FirstQuestion") -> tuple[str | None, str | None]:
    """Return what answers on one scale are about: a column's mean, people or rows."""
    return question.averaged, question.owners


def _view(first: "FirstAnswer", low: Fraction, high: Fraction) -> ShownAnswer:
    question, rows = first.question, first.answer.rows
    decimals = decimals_of(_numbers([_bounds_of(row) for row in rows]))
    lines = tuple(_line(question, row, low, high, decimals) for row in rows)
    return ShownAnswer(question, query_command(question.sql), lines)


def _line(
    question: "FirstQuestion", row: Mapping[str, Any], low: Fraction, high: Fraction, decimals: int
) -> AnswerLine:
    bounds = _bounds_of(row)
    labels = tuple(_label(row[name]) for name in question.by)
    if (ends := _ends(bounds)) is None:
        return AnswerLine(labels, "no rows", "", 0, 0)
    start, end = (_place(number, low, high) for number in ends)
    empty = ", or no rows" if bounds.may_be_empty else ""
    return AnswerLine(
        labels,
        f"{bounds_in_words(*ends, decimals)}{empty}",
        _accuracy(*ends),
        min(start, _WIDTH - _LEAST),
        max(end - start, _LEAST),
    )


def _accuracy(lower: Fraction, upper: Fraction) -> str:
    middle = abs(lower + upper) / 2
    return width_in_words(float((upper - lower) / middle) if middle else None if upper else 0.0)


def _all_bounds(
    answers: "Iterable[FirstAnswer]", counted: tuple[str | None, str | None]
) -> list[Bounds]:
    """Return the bounds of all answers about one aggregate."""
    return [
        _bounds_of(row)
        for answer in answers
        if _subject(answer.question) == counted
        for row in answer.answer.rows
    ]


def _scale(bounds: Sequence[Bounds]) -> tuple[Fraction, Fraction]:
    """Return the ends of the scale of bars, which has 0 in it."""
    numbers = _numbers(bounds)
    return min([Fraction(0), *numbers]), max([Fraction(0), *numbers])


def _numbers(bounds: Iterable[Bounds]) -> list[Fraction]:
    return [number for ends in map(_ends, bounds) if ends for number in ends]


def _place(number: Fraction, low: Fraction, high: Fraction) -> int:
    return int((number - low) * _WIDTH / (high - low)) if high > low else 0


def _bounds_of(row: Mapping[str, Any]) -> Bounds:
    (bounds,) = (cell for cell in row.values() if isinstance(cell, Bounds))
    return bounds


def _ends(bounds: Bounds) -> tuple[Fraction, Fraction] | None:
    ends = (bounds.lower, bounds.upper)
    numbers = [Fraction(end) for end in ends if isinstance(end, int | Fraction | Decimal)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _label(value: Any) -> str:
    if value is REST:
        return "any other"
    if isinstance(value, bool):
        return str(value).lower()
    return "missing" if value is None else str(value)
