"""Which points lie in which boxes, without comparing all with all."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_PAIRS = 2**16  # that are compared at once
_SAMPLE = 1024  # of points and boxes, by which a dimension is chosen
_WORTH = 0.75  # of the pairs: where more are left by the best cut, all are compared


def points_in_boxes(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray] | None]:
    """Yield the pairs of a point and a box that it lies in, as parallel positions (int64).

    Points and boxes are halved together, at the median of some dimension, until few are left: boxes
    that overlap little are compared with few points. How many pairs may be compared is a budget
    in units of work, so that the same input is always answered or never.

    Args:
        points: dimensions x points (whole numbers from 0).
        low: where each box begins, dimensions x boxes (whole numbers from 0).
        high: where it ends, one past the last.
        most: pairs that are compared.

    Yields:
        None, once and at last, where there are more pairs than that to compare.
    """
    kind = np.min_scalar_type(int(max(points.max(initial=0), high.max(initial=0))))
    points, low, high = (numbers.astype(kind) for numbers in (points, low, high))
    rest = [(np.arange(points.shape[1]), np.arange(low.shape[1]))]
    while rest:
        some, boxes = rest.pop()
        pairs = len(some) * len(boxes)
        if not pairs:
            continue
        cut = _cut(points, low, high, some, boxes) if pairs > _PAIRS else None
        if cut is not None:
            rest += cut
            continue
        most -= pairs
        if most < 0:
            yield None
            return
        step = max(_PAIRS // len(boxes), 1)
        for start in range(0, len(some), step):
            yield _compared(points, low, high, some[start : start + step], boxes)


Halves = list[tuple[np.ndarray, np.ndarray]]


def _cut(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, some: np.ndarray, boxes: np.ndarray
) -> Halves | None:
    """The cut that is best in a sample, else the best of all; None where none is worth it."""
    sampled = _sample(some), _sample(boxes)
    likely = min(
        range(len(points)),
        key=lambda axis: _Plane.at_median(points, low, high, axis, *sampled).left,
    )
    for axes in ([likely], range(len(points))):
        cuts = [_Plane.at_median(points, low, high, axis, some, boxes) for axis in axes]
        best = min(cuts, key=lambda cut: cut.left)
        if best.left < _WORTH:
            return best.halves(some, boxes)
    return None


def _sample(places: np.ndarray) -> np.ndarray:
    return places[:: len(places) // _SAMPLE + 1]


class _Plane(NamedTuple):
    """A cut at some value of a dimension.

    Attributes:
        under: which points lie below it (bool).
        begin: which boxes begin below it (bool).
        end: which boxes end above it (bool).
    """

    under: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    @classmethod
    def at_median(
        cls,
        points: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        axis: int,
        some: np.ndarray,
        boxes: np.ndarray,
    ) -> "_Plane":
        """The cut at the median of some points, or of a sample of them."""
        values, tried = points[axis][some], points[axis][_sample(some)]
        middle = np.partition(tried, len(tried) // 2)[len(tried) // 2]
        return cls(values < middle, low[axis][boxes] < middle, high[axis][boxes] > middle)

    @property
    def left(self) -> float:
        """The share of the pairs that is left to compare; all of them where no point is below."""
        points, boxes = len(self.under), len(self.begin)
        under = np.count_nonzero(self.under)
        pairs = under * np.count_nonzero(self.begin)
        pairs += (points - under) * np.count_nonzero(self.end)
        return pairs / (points * boxes) if under else 1.0

    def halves(self, some: np.ndarray, boxes: np.ndarray) -> Halves:
        """What lies on either side."""
        return [(some[self.under], boxes[self.begin]), (some[~self.under], boxes[self.end])]


def _compared(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, some: np.ndarray, boxes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs in which all coordinates of a point, from the box's lowest, are below its widths.

    Numbers are unsigned: what is less than the lowest is far above all widths.
    """
    within = np.ones((len(some), len(boxes)), dtype=bool)
    for at, begins, ends in zip(points, low, high, strict=True):
        first = begins[boxes]
        within &= at[some][:, None] - first < ends[boxes] - first
    point, box = np.nonzero(within)
    return some[point], boxes[box]
