"""Comparisons with constants on a number line: their outcome changes only at the constants.

Values of an ordered type are whole numbers in their order (see `Scale`). The constants and their
neighbours cut the line into pieces, and one number of each piece decides it.

Outcomes are those of `values_behind_labels`: 0 if the condition is false, 1 true, 2 null, and 3 if
it cannot be evaluated on a value, so that any of the other three is possible.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues
from sfumato.tasks.query.behind_labels.scales import Numbers, Scale

_HALF = 2**62
_FEW = 16  # up to so many limits, all numbers are compared with each


@dataclass(frozen=True)
class Piece:
    """Neighbouring numbers on which a condition has the same outcome."""

    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Extents:
    """The intervals of numbers behind some labels.

    Attributes:
        labels: the number of all labels of the column.
        wide: the positions of these labels among all (int64; the next three are parallel to it).
        limited: whether the label has limits (bool); `*` has none.
        low: the least number behind the label (0 if it has no limits).
        high: the greatest number behind the label (0 if it has no limits).
        hull: the least and the greatest number that any label of the column states; None if no
            label states one.
        scale: the column's number line.
    """

    labels: int
    wide: np.ndarray
    limited: np.ndarray
    low: Numbers
    high: Numbers
    hull: tuple[int, int] | None
    scale: Scale

    @cached_property
    def ends(self) -> tuple[Numbers, Numbers]:
        """The ends of each interval; those without limits have the ends of the hull."""
        return self.ends_within(*(self.hull or (0, 0)))

    @cached_property
    def lengths(self) -> np.ndarray:
        """The lengths of the intervals (float64)."""
        return self.scale.lengths(*self.ends)

    def ends_within(self, low: int, high: int) -> tuple[Numbers, Numbers]:
        """Return the ends of each interval; those without limits reach from `low` to `high`."""
        return np.where(self.limited, self.low, low), np.where(self.limited, self.high, high)


def extents_of(labels: Sequence[Admitted], wide: Sequence[int], scale: Scale) -> Extents:
    """Return the numbers behind some labels of a column.

    Args:
        labels: all labels of the column.
        wide: the positions of the labels in question: intervals, or labels without limits.
        scale: the column's number line.
    """
    ends = [_extent(labels[n], scale) for n in wide]
    hull = hull_of(labels, scale)
    # int64 if differences of numbers fit it, too
    small = max(map(abs, (scale.lowest, *(hull or ())))) <= INT64_MAX + 1
    small &= hull is None or max(map(abs, hull)) < _HALF
    low, high = (np.array([end[side] if end else 0 for end in ends], object) for side in (0, 1))
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
    """Return the outcomes of a condition behind labels that are intervals.

    Args:
        extents: the intervals of numbers behind the labels.
        constants: all values that the condition compares the column with, without nulls.
        scale: the column's number line.
        decide: returns the outcome of the condition on each of some values (int8).

    Returns:
        Whether false, true and null are possible (bool, 3 x labels), and the length of the numbers
        with each of these outcomes (float64, 3 x labels; NaN if unknown), both zero for labels that
        are not among the extents; None if a comparison rounds.
    """
    decided = decide_pieces(constants, scale, decide)
    if decided is None:
        return None
    pieces, results = decided
    outcome = np.equal.outer(np.arange(4), results)  # outcomes x pieces
    failed = outcome[3]  # pieces on which any outcome is possible
    possible, weight = (np.zeros((3, extents.labels), dtype=kind) for kind in (bool, float))
    # a label without limits: any number is possible, and lengths are those within the hull
    reached = _place(pieces, *extents.ends_within(scale.lowest, scale.highest))
    spreads = _sum_over_extents(np.where(failed, np.nan, outcome[:3]), pieces, extents)
    if extents.hull is None:
        spreads[:, ~extents.limited] = np.nan
    for index, met in enumerate(outcome[:3] | failed):
        possible[index, extents.wide] = _meet_pieces(met, reached)
        weight[index, extents.wide] = spreads[index]
    return possible, weight


def decide_pieces(
    constants: Sequence[Any], scale: Scale, decide: Callable[[Sequence[Any]], np.ndarray]
) -> tuple[list[Piece], np.ndarray] | None:
    """Cut the number line at constants; return its pieces, ascending, with outcomes (int8).

    Arguments are those of `decide_on_number_line`.

    Returns:
        The pieces and the outcome on each; None if comparisons with a constant round.
    """
    pieces = cut_line(constants, scale)
    if pieces is None:
        return None
    return pieces, decide([scale.value(_representative(piece)) for piece in pieces])


def cut_line(constants: Sequence[Any], scale: Scale) -> list[Piece] | None:
    """Return the pieces of the number line between constants, ascending.

    Returns:
        None if comparisons with a constant round.
    """
    marks = _marks(constants, scale)
    return None if marks is None else _pieces(marks, scale)


def _marks(constants: Sequence[Any], scale: Scale) -> list[int] | None:
    """Return the numbers at constants and next to them, ascending; None if comparisons round."""
    marks: set[int] = set()
    for constant in constants:
        near = scale.near(constant)
        if near is None:
            return None
        marks.update(mark for mark in near if scale.lowest <= mark <= scale.highest)
    return sorted(marks)


def _pieces(marks: Sequence[int], scale: Scale) -> list[Piece]:
    """Return each mark as a piece, and the pieces before, between and after the marks."""
    pieces, start = [], scale.lowest
    for mark in marks:
        pieces += [Piece(start, mark - 1)] if start < mark else []
        pieces.append(Piece(mark, mark))
        start = mark + 1
    return pieces + ([Piece(start, scale.highest)] if start <= scale.highest else [])


def _representative(piece: Piece) -> int:
    """Return the number of a piece closest to 0, since very large ones may not be comparable."""
    return min(max(0, piece.first), piece.last)


def hull_of(labels: Iterable[Admitted], scale: Scale) -> tuple[int, int] | None:
    """Return the least and the greatest number that any label states; None if none does."""
    ends: list[int] = []
    for label in labels:
        if isinstance(label, ListedValues):
            ends += [scale.whole(value) for value in label.values]
        else:
            ends += _extent(label, scale) or ()
    return (min(ends), max(ends)) if ends else None


def _extent(label: Admitted, scale: Scale) -> tuple[int, int] | None:
    """Return the least and the greatest number of an interval; None for other labels."""
    if not isinstance(label, Between) or label.low is None:
        return None
    return scale.whole(label.low), scale.whole(label.high)


@dataclass(frozen=True, eq=False)
class _PlacedExtents:
    """The pieces in which extents begin and end (int64, one per extent), and how many there are."""

    first: np.ndarray
    last: np.ndarray
    pieces: int

    @cached_property
    def pair(self) -> np.ndarray:
        """The number of each extent's first and last piece among all pairs of pieces (int64)."""
        pairs: np.ndarray = self.first * self.pieces + self.last
        return pairs


def _place(pieces: Sequence[Piece], low: Numbers, high: Numbers) -> _PlacedExtents:
    """Return the pieces in which the extents from `low` to `high` begin and end."""
    lasts = [piece.last for piece in pieces[:-1]]
    first, last = (_count_limits_below(numbers, lasts) for numbers in (low, high))
    return _PlacedExtents(first, last, len(pieces))


def _count_limits_below(numbers: Numbers, limits: Sequence[int]) -> np.ndarray:
    """Count the limits (ascending) that each number is above (int64, one per number)."""
    if numbers.dtype == object or len(limits) > _FEW:
        return np.searchsorted(np.array(limits, numbers.dtype), numbers)
    counts = np.zeros(len(numbers), dtype=np.int8)
    for limit in limits:
        counts += numbers > limit
    return counts.astype(np.int64)


def _meet_pieces(met: np.ndarray, places: _PlacedExtents) -> np.ndarray:
    """Decide whether each extent contains at least one of the pieces that are `met` (both bool)."""
    before = np.append(0, np.cumsum(met))
    # decided for each pair of a first and a last piece, then looked up for each extent
    is_met: np.ndarray = (np.subtract.outer(before[:-1], before[1:]) < 0).ravel()[places.pair]
    return is_met


def _sum_over_extents(amount: np.ndarray, pieces: Sequence[Piece], extents: Extents) -> np.ndarray:
    """Return the sums of amounts over each extent (float64, outcomes x extents).

    `amount` (outcomes x pieces) counts for each piece by the length of its part in the extent.
    """
    places, lengths = _place(pieces, *extents.ends), extents.scale.lengths
    total = np.zeros((len(amount), len(places.first)))
    # extents inside one piece; those in several pieces are replaced below
    for row, by_piece in zip(total, amount, strict=True):
        if by_piece.any():
            np.multiply(by_piece.take(places.first), extents.lengths, out=row)
    several = np.flatnonzero(places.first < places.last)
    low, high, first, last = (
        numbers[several] for numbers in (*extents.ends, places.first, places.last)
    )
    firsts, lasts = (
        np.array([getattr(piece, end) for piece in pieces], low.dtype) for end in ("first", "last")
    )
    inner = np.zeros(len(pieces))  # the outer two are never between others
    inner[1:-1] = lengths(firsts[1:-1], lasts[1:-1])
    # the part in the first piece, whole pieces in between, and the part in the last piece
    sums = np.cumsum(np.insert(amount * inner, 0, 0.0, axis=1), axis=1)
    head, tail = lengths(low, lasts[first]), lengths(firsts[last], high)
    between = sums[:, last] - sums[:, first + 1]
    total[:, several] = amount[:, first] * head + between + amount[:, last] * tail
    return total
