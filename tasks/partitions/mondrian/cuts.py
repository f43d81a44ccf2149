"""Cuts along quasi-identifiers: which are tried, the side of each row, and parts left by chance.

An attacker who knows that a part is cut wherever that keeps the promises learns from an uncut part
that a cut would have broken them: minimality (Wong, Fu, Wang, Pei, VLDB 2007). Here a part is
sometimes left although it could be cut, and only one cut is tried, which sizes choose. Worlds that
differ only in who has which value of a group then lead to the same groups either for certain, or
with the probability of being left. So the odds between worlds change by at most the inverse of that
probability.

Source: this project; that such attacks fail where an algorithm decides by chance, too, is from
Cormode, Srivastava, Li, Li, Minimizing minimality and maximizing utility (VLDB 2010).

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.exact import exact, is_ordered
from sfumato.tasks.microdata.table import Column, Randomness

_BITS = 31  # of a key
_SPREAD = 4  # times the fewest rows of a group: larger parts are left more rarely


@dataclass(frozen=True, eq=False)
class Attribute:
    """A quasi-identifier to be cut: by the order of its values, or down its hierarchy.

    `codes` (int32, one per row) number the values in ascending order, the null first if there is
    one. With a hierarchy, `nodes[level]` numbers the node above each code, from the value itself
    (level 0) to the root, and `spans[level]` is the number of values below that node. Without one,
    `nodes` is None, and `spans[0]` is the position of each code: a number, date or timestamp
    itself, the rank of any other value, the lowest for the null. Spans (float64) are out of
    `length`.
    """

    codes: np.ndarray
    nodes: np.ndarray | None
    spans: np.ndarray
    length: float

    def widths(self, rows: np.ndarray, starts: np.ndarray, strict: bool) -> np.ndarray:
        """Return the normalized width of each part (float64), -1 if no cut gives it two sides.

        Args:
            rows: the rows of all parts (int64), one part after the other.
            starts: where parts begin in `rows` (int64, one per part).
            strict: whether equal values stay together.
        """
        codes = self.codes[rows]
        if self.nodes is not None:
            tops = _tops(self.nodes, codes, starts)
            return np.where(tops > 0, self.spans[tops, codes[starts]] / self.length, -1.0)
        low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        widths = (self.spans[0, high] - self.spans[0, low]) / self.length
        sizes = np.diff(np.append(starts, len(rows)))
        return np.where(low < high if strict else sizes > 1, widths, -1.0)

    def sides(self, rows: np.ndarray, part: np.ndarray, strict: bool, lower: bool) -> np.ndarray:
        """Return each row's side of the cut of its part (int64), -1 if the part has no such cut.

        With a hierarchy there is a side for each child of the part's lowest common ancestor. In
        order there are two sides. A strict cut separates the values up to the median from those
        above it, or, if `lower`, the values below the median from the rest. Otherwise the sides are
        the first and the second half of the rows.

        Args:
            rows: the rows of all parts (int64), one part after the other.
            part: the part of each (int64), ascending.
            strict: whether equal values stay together.
            lower: whether to cut below the median, which only a strict cut in order can.
        """
        codes, starts = self.codes[rows], np.flatnonzero(np.diff(part, prepend=-1))
        sizes = np.diff(np.append(starts, len(rows)))
        if self.nodes is not None:
            children = np.repeat(_tops(self.nodes, codes, starts) - 1, sizes)
            return np.full(len(rows), -1) if lower else self.nodes[children, codes]
        order = np.lexsort((codes, part))
        if strict:
            return _mark_above(codes, np.repeat(_cuts(codes[order], starts, sizes, lower), sizes))
        side = np.empty(len(rows), dtype=np.int64)
        rank = np.arange(len(rows)) - np.repeat(starts, sizes)
        side[order] = rank >= np.repeat((sizes + 1) // 2, sizes)
        return side


def attribute(column: Column) -> Attribute:
    """Return a quasi-identifier in the form in which it is cut.

    Raises:
        InputError: if a number is not finite, or has too many digits.
    """
    codes, size = column.category()
    if column.ancestors is not None:
        nodes = column.levels()
        below = np.stack([np.bincount(level)[level] for level in nodes])
        return Attribute(codes, nodes, below.astype(np.float64), float(max(size, 1)))
    lies = np.arange(size)
    if is_ordered(column.values.type) and len(column.values):
        units = exact(column.values, column.name).units
        lies = np.append([0] * column.has_null, units - units[0])
    spans = lies.astype(np.float64)[np.newaxis]
    return Attribute(codes, None, spans, max(float(spans.max(initial=0)), 1.0))


def _tops(nodes: np.ndarray, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the level of the lowest common ancestor of each part."""
    tops = np.zeros(len(starts), dtype=np.int64)
    for level in nodes[:-1]:
        above = level[codes]
        differ = np.minimum.reduceat(above, starts) != np.maximum.reduceat(above, starts)
        if not differ.any():
            break
        tops += differ
    return tops


def _cuts(ordered: np.ndarray, starts: np.ndarray, sizes: np.ndarray, lower: bool) -> np.ndarray:
    """Return the last code below the cut of each part, -1 if there is none.

    A part's codes are ascending.
    """
    cuts = ordered[starts + (sizes - 1) // 2]
    if lower:
        before = np.where(ordered < np.repeat(cuts, sizes), ordered, -1)
        return np.maximum.reduceat(before, starts)
    return np.where(cuts < ordered[starts + sizes - 1], cuts, -1)


def _mark_above(codes: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    return np.where(cuts < 0, -1, codes > cuts)


def tries(
    attributes: Sequence[Attribute], rows: np.ndarray, starts: np.ndarray, strict: bool
) -> Iterator[tuple[np.ndarray, bool]]:
    """Yield the attribute to cut each part along (int64, -1: none), and if below the median.

    One try after the other, by descending normalized width.

    Args:
        attributes: the quasi-identifiers.
        rows: the rows of all parts (int64), one part after the other.
        starts: where parts begin in `rows` (int64, one per part).
        strict: whether equal values stay together.
    """
    widths = np.array([attribute.widths(rows, starts, strict) for attribute in attributes])
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
    """Return the side of each row (int64) if each part is cut along its chosen attribute."""
    side = np.full(len(rows), -1, dtype=np.int64)
    for number, attribute in enumerate(attributes):
        along = np.flatnonzero(choice[part] == number)
        if len(along):
            side[along] = attribute.sides(rows[along], part[along], strict, lower)
    return side


def allowable_sides(
    attributes: Sequence[Attribute], rows: np.ndarray, part: np.ndarray, least: int, strict: bool
) -> np.ndarray:
    """Return each row's side (int64) in the first cut of its part that sizes allow.

    It is -1 if sizes allow no cut. Only quasi-identifiers decide.

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


class LeavingChance(NamedTuple):
    """The chance by which parts are left.

    A part of n rows is left with probability `often` / 2³¹, times `few` / n if it has more rows
    than `few`. `keys` (int64, one per row, below 2³¹) decide; without keys no part is left by
    chance, and every cut is tried.
    """

    often: int
    few: int
    keys: np.ndarray

    def leaves(self, first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Mark the parts that are left (bool), given the first row and the size of each (int64)."""
        bits = mix(self.keys[first], sizes)
        return np.asarray(bits * np.maximum(sizes, self.few) < self.often * self.few)


def never_leave(rows: int) -> LeavingChance:
    """Return the chance 0: no part is left."""
    return LeavingChance(0, max(rows, 1), np.zeros(0, dtype=np.int64))


def draw_leaving(share: Decimal, least: int, rows: int, randomness: Randomness) -> LeavingChance:
    """Return the chance by which parts are left, if a group has at least `least` rows."""
    if not share:
        return never_leave(rows)
    keys = (randomness(rows) >> np.uint64(64 - _BITS)).astype(np.int64)
    return LeavingChance(round(share * 2**_BITS), _SPREAD * least, keys)


def chance_of_leaving(share: Decimal, least: int, rows: int) -> Fraction:
    """Return the probability that a part of so many rows is left although it could be cut."""
    few = _SPREAD * least
    return Fraction(round(share * 2**_BITS), 2**_BITS) * Fraction(few, max(few, rows))


def mix(key: Any, rows: Any) -> Any:
    """Mix the key of a part's first row with its number of rows to 31 bits (int64, any shape).

    The result decides if the part is left.
    """
    bits = (key ^ (rows * 0x5851F42D)) & 0x7FFFFFFF
    bits = ((bits ^ (bits >> 16)) * 0x45D9F3B) & 0x7FFFFFFF
    bits = ((bits ^ (bits >> 15)) * 0x3C6EF372) & 0x7FFFFFFF
    return bits ^ (bits >> 16)


LOOPS = (mix,)
