"""Cuts that Mondrian tries: the widest quasi-identifier first, its median, and the value before."""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.tasks.partitions.mondrian.cuts import Attribute


def tries(
    attributes: Sequence[Attribute], rows: np.ndarray, starts: np.ndarray, strict: bool
) -> Iterator[tuple[np.ndarray, bool]]:
    """The attribute to cut each part along (int64, -1: none), and whether below the median.

    One try after the other, by descending normalized width.

    Args:
        attributes: the quasi-identifiers.
        rows: the rows of all parts (int64), one part after the other.
        starts: where parts begin in `rows` (int64, one per part).
        strict: whether equal values stay together.
    """
    widths = np.array([one.widths(rows, starts, strict) for one in attributes])
    widths = widths.reshape(len(attributes), len(starts))
    for choice in np.argsort(-widths, axis=0, kind="stable"):
        possible = widths[choice, np.arange(len(choice))] >= 0
        for lower in [False, True] if strict else [False]:
            yield np.where(possible, choice, -1), lower


def sides_along(
    attributes: Sequence[Attribute],
    choice: np.ndarray,
    rows: np.ndarray,
    part: np.ndarray,
    strict: bool,
    lower: bool,
) -> np.ndarray:
    """The side of each row (int64) where each part is cut along the attribute of its choice."""
    side = np.full(len(rows), -1, dtype=np.int64)
    for number, one in enumerate(attributes):
        along = np.flatnonzero(choice[part] == number)
        if len(along):
            side[along] = one.sides(rows[along], part[along], strict, lower)
    return side


def allowable_sides(
    attributes: Sequence[Attribute], rows: np.ndarray, part: np.ndarray, least: int, strict: bool
) -> np.ndarray:
    """The side of each row (int64) in the first cut of its part that sizes allow, -1 where none is.

    Nothing but quasi-identifiers decides.

    Args:
        attributes: the quasi-identifiers.
        rows: the rows of all parts (int64), one part after the other.
        part: the part of each (int64; 0, 1, …).
        least: the fewest rows of a side.
        strict: whether equal values stay together.
    """
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    side = np.full(len(rows), -1, dtype=np.int64)
    for choice, lower in tries(attributes, rows, starts, strict):
        open_ = np.flatnonzero((side < 0) & (choice >= 0)[part])
        side[open_] = sides_along(attributes, choice, rows[open_], part[open_], strict, lower)
        side[_with_few(part, side, least)[part]] = -1
    return side


def _with_few(part: np.ndarray, side: np.ndarray, least: int) -> np.ndarray:
    """Mark the parts with a side of fewer rows than the least (bool, one per part)."""
    offered, number = dense(part * (int(side.max(initial=0)) + 2) + side + 1)
    few = (np.bincount(offered, minlength=number) < least)[offered] & (side >= 0)
    marked = np.zeros(int(part.max(initial=-1)) + 1, dtype=bool)
    marked[part[few]] = True
    return marked
