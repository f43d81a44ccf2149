"""The values of a label that decide a condition: few where it stands for many.

A condition that only compares a column with constants is constant between two neighbouring ones,
so that the constants, what lies next to them, and one value of each gap decide it for all values.
"""

import math
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tasks.forms.labels import Admitted, Anything, Between, Prefixed, Values
from tasks.forms.schema import DeclaredColumn

_MOST = 200_000  # values of all labels that are tried one by one
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive, as the values are
_DAY = 86_400 * 10**6
_UNROUNDED = Context(prec=100)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is)
_EQUALITIES = (exp.EQ, exp.NEQ, exp.In, exp.Is)
_CONNECTIVES = (exp.And, exp.Or, exp.Not, exp.Paren)


@dataclass(frozen=True)
class Candidate:
    """A value that may be the one behind a label, and for how much of the label it stands."""

    label: int
    value: Any
    weight: float


@dataclass(frozen=True)
class _Scale:
    """Values of an ordered type as whole numbers, in their order.

    `near` are the numbers on a constant and next to it; `between` says how much lies between two
    numbers (both left out), `alone` how much a single one is beside that.
    """

    whole: Callable[[Any], int]
    value: Callable[[int], Any]
    near: Callable[[Any], set[int]]
    between: Callable[[int, int], float]
    alone: float


def candidates(
    labels: Sequence[Admitted], column: DeclaredColumn, condition: exp.Expr
) -> list[Candidate] | None:
    """Values of every label that decide the condition, which is on this column alone.

    Returns:
        At least one candidate for each label, of weight 0 where the estimate knows nothing of it;
        None where no finite number of values decides.
    """
    if all(isinstance(label, Values) or _few(label, column) for label in labels):
        listed = [(n, value) for n, label in enumerate(labels) for value in listed_of(label)]
        if len(listed) <= _MOST:
            return [Candidate(n, value, 1.0) for n, value in listed]
    if any(isinstance(label, Between) for label in labels):
        plain = _is_plain(condition, _COMPARISONS)
        return list(_ordered(labels, column, condition)) if plain else None
    return list(_named(labels, column, condition)) if _is_plain(condition, _EQUALITIES) else None


def _few(label: Admitted, column: DeclaredColumn) -> bool:
    if not isinstance(label, Between) or column.type not in ("integer", "date"):
        return False
    return label.low is not None and _number(label) <= _MOST


def _number(label: Between) -> int:
    span = label.high - label.low
    return (span.days if isinstance(span, timedelta) else int(span)) + 1


def listed_of(label: Admitted) -> Iterator[Any]:
    """All values of a label that has few, the null first where it is one."""
    if label.null:
        yield None
    if isinstance(label, Values):
        yield from label.values
    elif isinstance(label, Between):
        step = timedelta(days=1) if isinstance(label.low, date) else 1
        yield from (label.low + n * step for n in range(_number(label)))


def is_listed(label: Admitted, column: DeclaredColumn) -> bool:
    """Whether a label has few values, which can be told one by one."""
    return isinstance(label, Values) or _few(label, column)


def _is_plain(node: exp.Expr, allowed: tuple[type[exp.Expr], ...]) -> bool:
    """Whether a condition only compares the column itself with constants."""
    if isinstance(node, exp.Column | exp.Boolean | exp.Null):
        return True
    if isinstance(node, _CONNECTIVES):
        return all(_is_plain(part, allowed) for part in node.iter_expressions())
    if not isinstance(node, allowed):
        return False
    return all(
        isinstance(part, exp.Column) or part.find(exp.Column) is None
        for part in node.iter_expressions()
    )


def _constants(condition: exp.Expr) -> Iterator[Any]:
    """The constants of a condition: Fractions, texts and moments."""
    for literal in condition.find_all(exp.Literal):
        cast = literal.parent
        if isinstance(cast, exp.Cast):
            yield datetime.fromisoformat(literal.name)
        elif literal.is_string:
            yield literal.name
        else:
            sign = -1 if isinstance(cast, exp.Neg) else 1
            yield sign * Fraction(Decimal(literal.name))


def _named(
    labels: Sequence[Admitted], column: DeclaredColumn, condition: exp.Expr
) -> Iterator[Candidate]:
    """Of types without order: the values that the condition names, and one that it does not."""
    named = [text for text in _constants(condition) if isinstance(text, str)]
    published = dict.fromkeys(
        v for label in labels if isinstance(label, Values) for v in label.values
    )
    for n, label in enumerate(labels):
        if label.null:
            yield Candidate(n, None, 1.0)
        if isinstance(label, Values):
            yield from (Candidate(n, value, 1.0) for value in label.values)
        elif isinstance(label, Prefixed):
            fitting = [text for text in dict.fromkeys(named) if _fits(text, label)]
            yield from (Candidate(n, text, 0.0) for text in fitting)
            yield Candidate(n, _other(named, label.kept, label.length - len(label.kept)), 1.0)
        elif isinstance(label, Anything):
            yield from (Candidate(n, value, 1.0) for value in published)
            unseen = [True, False] if column.type == "boolean" else [*named, _other(named, "", 1)]
            yield from (Candidate(n, value, 0.0) for value in unseen)


def _fits(text: str, label: Prefixed) -> bool:
    return text.startswith(label.kept) and len(text) == label.length


def _other(named: Iterable[str], kept: str, hidden: int) -> str:
    """A text of this pattern that nobody named."""
    taken = set(named)
    return next(
        text
        for code in range(0x100, 0x100 + len(taken) + 1)
        if (text := kept + chr(code) * hidden) not in taken
    )


def _ordered(
    labels: Sequence[Admitted], column: DeclaredColumn, condition: exp.Expr
) -> Iterator[Candidate]:
    """Of ordered types: the ends of each label, the constants inside, and what lies between."""
    scale = _scale(column)
    named = [c for c in _constants(condition) if not isinstance(c, str)]
    marks = sorted({near for constant in named for near in scale.near(constant)})
    ends = [end for label in labels for end in _ends(label, scale)]
    low, high = min(ends, default=0), max(ends, default=0)
    beyond = (min([low, *marks]) - 1, max([high, *marks]) + 1)
    for n, label in enumerate(labels):
        if label.null:
            yield Candidate(n, None, 1.0)
        if isinstance(label, Values):
            yield from (Candidate(n, value, 1.0) for value in label.values)
        elif isinstance(label, Between):
            bounded = label.low is not None
            first, last = _ends(label, scale) if bounded else (low, high)
            for mark, weight in _covering(first, last, marks, scale):
                yield Candidate(n, scale.value(mark), weight if ends else 0.0)
            if not bounded:
                outside = (m for m in (*beyond, *marks) if not first <= m <= last)
                yield from (Candidate(n, scale.value(mark), 0.0) for mark in outside)


def _ends(label: Admitted, scale: _Scale) -> list[int]:
    if isinstance(label, Between):
        return [] if label.low is None else [scale.whole(label.low), scale.whole(label.high)]
    if isinstance(label, Values):
        return [scale.whole(value) for value in label.values]
    return []


def _covering(
    first: int, last: int, marks: Sequence[int], scale: _Scale
) -> Iterator[tuple[int, float]]:
    """Numbers from first to last that stand for all, each with how much it stands for."""
    inside = sorted({first, last, *(mark for mark in marks if first <= mark <= last)})
    for mark, following in zip(inside, [*inside[1:], None], strict=True):
        yield mark, scale.alone if len(inside) > 1 else 1.0
        if following is not None and following - mark > 1:
            yield mark + 1, scale.between(mark, following)


def _scale(column: DeclaredColumn) -> _Scale:
    match column.type:
        case "float":
            return _FLOATS
        case "decimal":
            digits = column.scale or 0
            return _steps(
                lambda value: int(value.scaleb(digits, _UNROUNDED)),
                lambda number: Decimal(number).scaleb(-digits, _UNROUNDED),
                lambda constant: Fraction(constant) * 10**digits,
            )
        case "date":
            return _steps(
                lambda day: (day - _EPOCH.date()).days,
                lambda number: _EPOCH.date() + timedelta(days=number),
                lambda moment: Fraction(_microseconds(moment), _DAY),
            )
        case "timestamp":
            return _steps(
                _microseconds,
                lambda number: _EPOCH + timedelta(microseconds=number),
                lambda moment: Fraction(_microseconds(moment)),
            )
    return _steps(int, int, Fraction)


def _steps(
    whole: Callable[[Any], int], value: Callable[[int], Any], exact: Callable[[Any], Fraction]
) -> _Scale:
    def near(constant: Any) -> set[int]:
        place = exact(constant)
        low, high = math.floor(place), math.ceil(place)
        return {low - 1, low, high, high + 1}

    return _Scale(whole, value, near, lambda a, b: float(b - a - 1), 1.0)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _ordinal(value: float) -> int:
    """The place of a float among all floats."""
    bits = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return int(bits if bits >= 0 else -(bits & (2**63 - 1)))


def _float(ordinal: int) -> float:
    magnitude = float(struct.unpack("<d", struct.pack("<q", min(abs(ordinal), _LARGEST)))[0])
    return magnitude if ordinal >= 0 else -magnitude


_LARGEST = struct.unpack("<q", struct.pack("<d", sys.float_info.max))[0]
_FLOATS = _Scale(
    _ordinal,
    _float,
    lambda constant: {_ordinal(float(constant)) + step for step in (-1, 0, 1)},
    lambda a, b: _float(b) - _float(a),
    0.0,
)
