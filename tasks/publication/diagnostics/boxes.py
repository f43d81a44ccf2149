"""Which points lie in which boxes, without comparing all with all."""

from collections.abc import Iterator

import numpy as np

_PAIRS = 2**16  # that are compared at once
_WORTH = 0.75  # of the pairs: where more are left by the best cut, all are compared


def points_in_boxes(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray] | None]:
    """Yield the pairs of a point and a box that it lies in, as parallel positions (int64).

    Points and boxes are halved together, at the median of some dimension, until few are left: boxes
    that overlap little are compared with few points. How many pairs may be compared is a budget
    in units of work, so that the same input is always answered or never.

    Args:
        points: dimensions x points (int64).
        low: where each box begins, dimensions x boxes (int64).
        high: where it ends, one past the last.
        most: pairs that are compared.

    Yields:
        None, once and at last, where there are more pairs than that to compare.
    """
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
    """The best cut in two, None where none leaves much less to compare."""
    best, fewest = None, _WORTH * len(some) * len(boxes)
    for at, begins, ends in zip(points, low, high, strict=True):
        values, first, last = at[some], begins[boxes], ends[boxes]
        middle = int(np.partition(values, len(values) // 2)[len(values) // 2])
        below = int((values < middle).sum())
        left = below * int((first < middle).sum())
        pairs = left + (len(some) - below) * int((last > middle).sum())
        if below and pairs < fewest:
            best, fewest = (values < middle, first < middle, last > middle), pairs
    if best is None:
        return None
    under, left_boxes, right_boxes = best
    return [(some[under], boxes[left_boxes]), (some[~under], boxes[right_boxes])]


def _compared(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, some: np.ndarray, boxes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    within = np.ones((len(some), len(boxes)), dtype=bool)
    for at, begins, ends in zip(points, low, high, strict=True):
        values = at[some][:, None]
        within &= (begins[boxes] <= values) & (values < ends[boxes])
    point, box = np.nonzero(within)
    return some[point], boxes[box]
