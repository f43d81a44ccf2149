"""Comparisons with constants on a number line: they are constant between two neighbouring ones.

Values of an ordered type are whole numbers in their order. The constants, and what lies next to
them, cut the line into pieces, each decided by one of its numbers.
"""

import math
import struct
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.exact import INT64_MAX
from sfumato.tasks.forms.recoded.labels import Admitted, Between, ListedValues
from sfumato.tasks.schema.published import DeclaredColumn

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive, as the values are
_DAY = 86_400 * 10**6
_UNROUNDED = Context(prec=100)
_EXACT = 2**50  # up to here numbers that differ are different as floats


@dataclass(frozen=True)
class Scale:
    """Values of an ordered type as whole numbers from `lowest` to `highest`, in their order.

    `near` are the numbers on a constant and next to it, None where comparisons with it round;
    `length` says how much lies between two numbers, both included.
    """

    whole: Callable[[Any], int]
    value: Callable[[int], Any]
    near: Callable[[Any], Iterable[int] | None]
    length: Callable[[int, int], float]
    lowest: int
    highest: int


@dataclass(frozen=True)
class _Piece:
    """Numbers on which a condition comes to the same."""

    first: int
    last: int


def decide_on_number_line(
    labels: Sequence[Admitted],
    wide: Sequence[int],
    constants: Sequence[Any],
    scale: Scale,
    decide: Callable[[Sequence[Any]], np.ndarray],
) -> tuple[np.ndarray, np.ndarray] | None:
    """The outcomes of a condition behind the `wide` ones among the labels, all of them intervals.

    Returns:
        The possible outcomes (bool, 3 x labels) and their weights (float64, 3 x labels), nothing
        for labels that are not wide; None where no pieces decide.
    """
    marks = _marks(constants, scale)
    if marks is None:
        return None
    pieces = _pieces(marks, scale)
    found = decide([scale.value(_representative(piece)) for piece in pieces])
    outcome = np.equal.outer(np.arange(4), found)
    failed = outcome[3]
    extents = [_extent(labels[n], scale) for n in wide]
    hull = _hull(labels, scale)
    possible, weight = np.zeros((3, len(labels)), dtype=bool), np.zeros((3, len(labels)))
    reached = [extent or (scale.lowest, scale.highest) for extent in extents]
    possible[:, wide] = _within((outcome[:3] | failed).astype(float), pieces, reached, None) > 0
    known = [extent or hull for extent in extents]
    shares = np.where(failed, np.nan, outcome[:3])
    spread = _within(shares, pieces, [k or (scale.lowest, scale.lowest) for k in known], scale)
    weight[:, wide] = np.where([k is None for k in known], np.nan, spread)
    return possible, weight


def _marks(constants: Sequence[Any], scale: Scale) -> list[int] | None:
    found: set[int] = set()
    for constant in constants:
        near = scale.near(constant)
        if near is None:
            return None
        found.update(mark for mark in near if scale.lowest <= mark <= scale.highest)
    return sorted(found)


def _pieces(marks: Sequence[int], scale: Scale) -> list[_Piece]:
    """Each mark by itself, and what lies between, before and behind them."""
    found, start = [], scale.lowest
    for mark in marks:
        found += [_Piece(start, mark - 1)] if start < mark else []
        found.append(_Piece(mark, mark))
        start = mark + 1
    return found + ([_Piece(start, scale.highest)] if start <= scale.highest else [])


def _representative(piece: _Piece) -> int:
    """The number of a piece that is closest to 0: what is far out may not be comparable."""
    return min(max(0, piece.first), piece.last)


def _hull(labels: Iterable[Admitted], scale: Scale) -> tuple[int, int] | None:
    """From the least to the greatest number that some label tells."""
    ends: list[int] = []
    for label in labels:
        if isinstance(label, ListedValues):
            ends += [scale.whole(value) for value in label.values]
        else:
            ends += _extent(label, scale) or ()
    return (min(ends), max(ends)) if ends else None


def _extent(label: Admitted, scale: Scale) -> tuple[int, int] | None:
    if not isinstance(label, Between) or label.low is None:
        return None
    return scale.whole(label.low), scale.whole(label.high)


def _within(
    amount: np.ndarray,
    pieces: Sequence[_Piece],
    extents: Sequence[tuple[int, int]],
    scale: Scale | None,
) -> np.ndarray:
    """The sums of the amounts (outcomes x pieces) per extent, by number or by length of pieces."""
    lasts = [piece.last for piece in pieces]
    first = np.array([bisect_left(lasts, low) for low, _ in extents], dtype=np.int64)
    last = np.array([bisect_left(lasts, high) for _, high in extents], dtype=np.int64)
    length: Callable[[int, int], float] = scale.length if scale else lambda _low, _high: 1.0
    inner = [length(piece.first, piece.last) for piece in pieces[1:-1]]
    lengths = np.array([0.0, *inner, 0.0])[: len(pieces)]  # the outer two are never between others
    sums = np.cumsum(np.insert(amount * lengths, 0, 0.0, axis=1), axis=1)
    head, tail = (np.zeros(len(extents)) for _ in range(2))
    for n, (low, high) in enumerate(extents):
        head[n] = length(low, min(high, lasts[first[n]]))
        tail[n] = length(pieces[last[n]].first, high) if first[n] < last[n] else 0.0
    between = np.where(first < last, sums[:, last] - sums[:, np.minimum(first + 1, last)], 0.0)
    total: np.ndarray = amount[:, first] * head + between + amount[:, last] * tail
    return total


def scale_of(column: DeclaredColumn) -> Scale | None:
    """The number line of a column's type, None for a type without order."""
    match column.type:
        case "float":
            return _FLOATS
        case "decimal":
            return _decimals(column.scale or 0)
        case "integer":
            return _INTEGERS
        case "date":
            return _DATES
        case "timestamp":
            return _TIMESTAMPS
    return None


def _steps(
    whole: Callable[[Any], int],
    value: Callable[[int], Any],
    exact: Callable[[Any], Fraction],
    limits: tuple[int, int],
) -> Scale:
    def near(constant: Any) -> Iterable[int] | None:
        if isinstance(constant, float) and not math.isfinite(constant):
            return ()
        place = exact(constant)
        if isinstance(constant, float) and abs(place) > _EXACT:
            return None
        return range(math.floor(place) - 1, math.ceil(place) + 2)

    return Scale(whole, value, near, lambda low, high: float(high - low + 1), *limits)


def _decimals(digits: int) -> Scale:
    return _steps(
        lambda value: int(value.scaleb(digits, _UNROUNDED)),
        lambda number: Decimal(number).scaleb(-digits, _UNROUNDED),
        lambda constant: Fraction(constant) * 10**digits,
        (1 - 10**38, 10**38 - 1),
    )


def _days(moment: date) -> Fraction:
    return Fraction(_microseconds(moment), _DAY)


def _microseconds(moment: date) -> int:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    return (moment - _EPOCH) // timedelta(microseconds=1)


_INTEGERS = _steps(int, int, Fraction, (-INT64_MAX - 1, INT64_MAX))
_DATES = _steps(
    lambda day: (day - _EPOCH.date()).days,
    lambda number: _EPOCH.date() + timedelta(days=number),
    _days,
    ((date.min - _EPOCH.date()).days, (date.max - _EPOCH.date()).days),
)
_TIMESTAMPS = _steps(
    _microseconds,
    lambda number: _EPOCH + timedelta(microseconds=number),
    lambda moment: Fraction(_microseconds(moment)),
    (_microseconds(datetime.min), _microseconds(datetime.max)),  # noqa: DTZ901
)


def _ordinal(value: float) -> int:
    """The place of a float among all floats."""
    bits = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return int(bits if bits >= 0 else -(bits & INT64_MAX))


def _float(ordinal: int) -> float:
    magnitude: float = struct.unpack("<d", struct.pack("<q", abs(ordinal)))[0]
    return magnitude if ordinal >= 0 else -magnitude


_LARGEST: int = _ordinal(sys.float_info.max)
_FLOATS = Scale(
    _ordinal,
    _float,
    lambda constant: range(_ordinal(float(constant)) - 2, _ordinal(float(constant)) + 3),
    lambda low, high: _float(high) - _float(low) or _float(1),
    -_LARGEST,
    _LARGEST,
)
