"""Comparisons with constants on a number line: they are constant between two neighbouring ones.

Values of an ordered type are whole numbers in their order. The constants, and what lies next to
them, cut the line into pieces, each decided by one of its numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.expectations.exact import INT64_MAX
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues
from sfumato.tasks.query.behind_labels.scales import Numbers, Scale

_HALF = 2**62
_FEW = 16  # limits to which all numbers are compared


@dataclass(frozen=True)
class Piece:
    """Numbers on which a condition comes to the same."""

    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Extents:
    """The numbers that some labels stand for, all of them intervals.

    Attributes:
        labels: how many labels the column has.
        wide: which of them these are (int64, parallel to the rest).
        limited: which have limits (bool).
        low: the least number of each (0 where it has no limits).
        high: the greatest.
        hull: from the least to the greatest number that any label of the column tells, if one does.
        scale: of the column.
    """

    labels: int
    wide: np.ndarray
    limited: np.ndarray
    low: Numbers
    high: Numbers
    hull: tuple[int, int] | None
    scale: Scale

    @cached_property
    def told(self) -> tuple[Numbers, Numbers]:
        """The ends of each, those without limits by the hull."""
        return self.within(*(self.hull or (0, 0)))

    @cached_property
    def lengths(self) -> np.ndarray:
        """How much lies between these ends (float64)."""
        return self.scale.lengths(*self.told)

    def within(self, low: int, high: int) -> tuple[Numbers, Numbers]:
        """The ends of each, those without limits from `low` to `high`."""
        return np.where(self.limited, self.low, low), np.where(self.limited, self.high, high)


def extents_of(labels: Sequence[Admitted], wide: Sequence[int], scale: Scale) -> Extents:
    """The numbers behind the `wide` ones among the labels of a column."""
    ends = [_extent(labels[n], scale) for n in wide]
    hull = hull_of(labels, scale)
    small = max(map(abs, (scale.lowest, *(hull or ())))) <= INT64_MAX + 1
    small &= hull is None or max(map(abs, hull)) < _HALF
    low, high = (np.array([end[at] if end else 0 for end in ends], object) for at in (0, 1))
    kind = np.int64 if small else object
    limited = np.array([end is not None for end in ends], dtype=bool)
    places = np.array(wide, dtype=np.int64)
    return Extents(len(labels), places, limited, low.astype(kind), high.astype(kind), hull, scale)


def decide_on_number_line(
    extents: Extents,
    constants: Sequence[Any],
    scale: Scale,
    decide: Callable[[Sequence[Any]], np.ndarray],
) -> tuple[np.ndarray, np.ndarray] | None:
    """The outcomes of a condition behind labels that are intervals.

    Returns:
        The possible outcomes (bool, 3 x labels) and their weights (float64, 3 x labels), nothing
        for labels that are not among the extents; None where no pieces decide.
    """
    decided = decide_pieces(constants, scale, decide)
    if decided is None:
        return None
    pieces, found = decided
    outcome = np.equal.outer(np.arange(4), found)
    failed = outcome[3]
    possible, weight = (np.zeros((3, extents.labels), dtype=kind) for kind in (bool, float))
    reached = _place(pieces, *extents.within(scale.lowest, scale.highest))
    spreads = _within(np.where(failed, np.nan, outcome[:3]), pieces, extents)
    if extents.hull is None:
        spreads[:, ~extents.limited] = np.nan
    for of, met in enumerate(outcome[:3] | failed):
        possible[of, extents.wide] = _meets(met, reached)
        weight[of, extents.wide] = spreads[of]
    return possible, weight


def decide_pieces(
    constants: Sequence[Any], scale: Scale, decide: Callable[[Sequence[Any]], np.ndarray]
) -> tuple[list[Piece], np.ndarray] | None:
    """Cut the number line at constants: its pieces, ascending, and the outcome on each (int8).

    Returns:
        None where comparisons with a constant round.
    """
    pieces = cut_line(constants, scale)
    if pieces is None:
        return None
    return pieces, decide([scale.value(_representative(piece)) for piece in pieces])


def cut_line(constants: Sequence[Any], scale: Scale) -> list[Piece] | None:
    """The pieces of the number line between constants, ascending; None where one rounds."""
    marks = _marks(constants, scale)
    return None if marks is None else _pieces(marks, scale)


def _marks(constants: Sequence[Any], scale: Scale) -> list[int] | None:
    found: set[int] = set()
    for constant in constants:
        near = scale.near(constant)
        if near is None:
            return None
        found.update(mark for mark in near if scale.lowest <= mark <= scale.highest)
    return sorted(found)


def _pieces(marks: Sequence[int], scale: Scale) -> list[Piece]:
    """Each mark by itself, and what lies between, before and behind them."""
    found, start = [], scale.lowest
    for mark in marks:
        found += [Piece(start, mark - 1)] if start < mark else []
        found.append(Piece(mark, mark))
        start = mark + 1
    return found + ([Piece(start, scale.highest)] if start <= scale.highest else [])


def _representative(piece: Piece) -> int:
    """The number of a piece that is closest to 0: what is far out may not be comparable."""
    return min(max(0, piece.first), piece.last)


def hull_of(labels: Iterable[Admitted], scale: Scale) -> tuple[int, int] | None:
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


@dataclass(frozen=True, eq=False)
class _PlacedExtents:
    """In which of some pieces extents begin and end (int64, one per extent)."""

    first: np.ndarray
    last: np.ndarray
    pieces: int

    @cached_property
    def pair(self) -> np.ndarray:
        """The number of these two pieces among all pairs (int64)."""
        found: np.ndarray = self.first * self.pieces + self.last
        return found


def _place(pieces: Sequence[Piece], low: Numbers, high: Numbers) -> _PlacedExtents:
    lasts = [piece.last for piece in pieces[:-1]]
    first, last = (_above(numbers, lasts) for numbers in (low, high))
    return _PlacedExtents(first, last, len(pieces))


def _above(numbers: Numbers, limits: Sequence[int]) -> np.ndarray:
    """How many of some limits, ascending, each number is above (int64, one per number)."""
    if numbers.dtype == object or len(limits) > _FEW:
        return np.searchsorted(np.array(limits, numbers.dtype), numbers)
    found = np.zeros(len(numbers), dtype=np.int8)
    for limit in limits:
        found += numbers > limit
    return found.astype(np.int64)


def _meets(met: np.ndarray, places: _PlacedExtents) -> np.ndarray:
    """Whether one of the pieces that are met (bool) is among those of each extent (bool)."""
    before = np.append(0, np.cumsum(met))
    found: np.ndarray = (np.subtract.outer(before[:-1], before[1:]) < 0).ravel()[places.pair]
    return found


def _within(amount: np.ndarray, pieces: Sequence[Piece], extents: Extents) -> np.ndarray:
    """The sums of amounts (outcomes x pieces) over what extents tell, by the lengths of pieces."""
    places, lengths = _place(pieces, *extents.told), extents.scale.lengths
    total = np.zeros((len(amount), len(places.first)))
    for of, by_piece in zip(total, amount, strict=True):
        if by_piece.any():
            np.multiply(by_piece.take(places.first), extents.lengths, out=of)
    several = np.flatnonzero(places.first < places.last)
    low, high, first, last = (of[several] for of in (*extents.told, places.first, places.last))
    firsts, lasts = (
        np.array([getattr(piece, end) for piece in pieces], low.dtype) for end in ("first", "last")
    )
    inner = np.zeros(len(pieces))  # the outer two are never between others
    inner[1:-1] = lengths(firsts[1:-1], lasts[1:-1])
    sums = np.cumsum(np.insert(amount * inner, 0, 0.0, axis=1), axis=1)
    head, tail = lengths(low, lasts[first]), lengths(firsts[last], high)
    between = sums[:, last] - sums[:, first + 1]
    total[:, several] = amount[:, first] * head + between + amount[:, last] * tail
    return total
