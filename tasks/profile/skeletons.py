"""Skeletons of hierarchies for quasi-identifiers: rules where there are any, otherwise draft files.

A file is next to the draft, so it must not list a value of one person. For numbers it lists every
step of a range whose ends are rounded outwards, used or not, in intervals whose ends are quantiles
rounded to a twentieth of the range. For texts it lists those that at least `SHARED` rows have; all
others become one value (`fold`) before anything is published.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.profile.facts import ICD, ColumnFacts
from sfumato.tasks.schema.hierarchy import ROOT

SHARED = 10
"""Least number of rows with a text that a draft's file lists."""
_FEW = 8  # values that need no hierarchy
_LEAVES = 2000
_BINS = 8
_DECADES = 10 * 366  # days, above which dates are of several decades
_NICE = (1, 2, 5, 10)

Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Skeleton:
    """A hierarchy for a column, to be improved by a steward.

    Attributes:
        keys: the keys of the column's declaration, besides the file.
        rows: the rows of the file; None if a rule takes its place.
        words: the description of the hierarchy, without a value.
    """

    keys: Mapping[str, Any]
    rows: Rows | None
    words: str


def skeleton_of(facts: ColumnFacts, whole: ColumnFacts) -> Skeleton | None:
    """Return the skeleton for a quasi-identifier, or None if it needs none.

    Args:
        facts: the facts about the column's represented rows.
        whole: the facts about all its rows, of which others may be represented later.
    """
    skeletons = (make(facts) for make in (_of_dates, _of_codes, _of_texts))
    return next((made for made in skeletons if made is not None), None) or _of_numbers(facts, whole)


def _of_dates(facts: ColumnFacts) -> Skeleton | None:
    if facts.type != "date" or not facts.distinct:
        return None
    first, last = (facts.column.values[place].as_py() for place in (0, -1))
    assert isinstance(first, date)  # noqa: S101 - of type date
    periods = ["month", "quarter", "year"]
    if (last - first).days > _DECADES:
        periods = ["month", "year", "decade"]
    return Skeleton({"hierarchy": {"dates": periods}}, None, "a rule with periods of dates")


def _of_codes(facts: ColumnFacts) -> Skeleton | None:
    if facts.use != "code" or facts.type != "string":
        return None
    longest = int(pc.max(pc.utf8_length(facts.column.values)).as_py())
    lengths = sorted({max(1, longest * part // 6) for part in (4, 3, 2)}, reverse=True)
    if facts.look == ICD:
        lengths = [3, 1]
    return Skeleton(
        {"hierarchy": {"prefixes": lengths}}, None, "a rule with the beginnings of codes"
    )


def _of_numbers(facts: ColumnFacts, whole: ColumnFacts) -> Skeleton | None:
    if facts.type not in ("integer", "decimal") or facts.distinct <= _FEW:
        return None
    scale = whole.column.values.type.scale if whole.type == "decimal" else 0
    units = _units(whole, scale)
    step, width = _step(units), round_up((units[-1] - units[0]) / 20)
    low, high = units[0] // width * width, -(-(units[-1] + 1) // width) * width
    step = gcd(step, width)
    if (high - low) // step > _LEAVES:
        return _of_rule(facts, width)
    leaves = range(low, high, step)
    cuts = _cuts(np.repeat(_units(facts, scale), facts.rows), low, high, width)
    levels = [cuts, *_coarser(cuts)]
    write = _writer(scale)
    rows = tuple(
        (write(leaf), *(_interval(leaf, level, step, write) for level in levels), ROOT)
        for leaf in leaves
    )
    return Skeleton({}, rows, "intervals with about as many rows each; their ends are rounded")


def _units(facts: ColumnFacts, scale: int) -> list[int]:
    """Return the values as whole numbers of their last decimal, ascending."""
    return [int(Decimal(value).scaleb(scale)) for value in facts.column.values.to_pylist()]


def _of_rule(facts: ColumnFacts, width: int) -> Skeleton | None:
    if facts.type != "integer":
        return None
    widths = [width, 2 * width, 10 * width]
    return Skeleton(
        {"hierarchy": {"intervals": widths}}, None, "a rule with intervals of round width"
    )


def _of_texts(facts: ColumnFacts) -> Skeleton | None:
    few = facts.distinct <= _FEW and int(facts.rows.min(initial=SHARED)) >= SHARED
    if facts.type != "string" or few:
        return None
    texts = facts.column.values.to_pylist()
    shared = [
        (text, int(rows)) for text, rows in zip(texts, facts.rows, strict=True) if rows >= SHARED
    ]
    into = next(word for word in ("other", "(other)", "[other]") if word not in texts)
    rest = sum(int(rows) for rows in facts.rows if rows < SHARED)
    groups = _by_frequency([*shared, (into, rest)])
    rows = tuple(
        (text, f"group {number}", ROOT)
        for number, group in enumerate(groups, start=1)
        for text in sorted(group)
    )
    fold = {"fold": {"below": SHARED, "into": into}}
    return Skeleton(
        fold, rows, "groups with about as many rows each, made of values that many rows share"
    )


def _step(units: Sequence[int]) -> int:
    """Return the largest 1, 2 or 5 of some power of ten that divides all numbers."""
    common, largest = gcd(*units) or 1, 1
    while common % (10 * largest) == 0:
        largest *= 10
    return largest * next(nice for nice in (5, 2, 1) if common % (nice * largest) == 0)


def round_up(width: float) -> int:
    """Return the nearest 1, 2 or 5 of some power of ten that is not smaller, at least 1."""
    power = 1
    while 10 * power < width:
        power *= 10
    return next(nice * power for nice in _NICE if nice * power >= width)


def _cuts(values: np.ndarray, low: int, high: int, width: int) -> list[int]:
    """Return the ends of intervals with about as many rows each, at multiples of a width."""
    bins = max(2, min(_BINS, len(values) // SHARED))
    quantiles = np.quantile(values, np.arange(1, bins) / bins)
    inner = {round(q / width) * width for q in quantiles.tolist()}
    return sorted({low, high, *(cut for cut in inner if low < cut < high)})


def _coarser(cuts: list[int]) -> list[list[int]]:
    """Return coarser levels, each with every second end, down to two intervals."""
    levels: list[list[int]] = []
    while len(cuts) > 4:
        cuts = [*cuts[:-1:2], cuts[-1]]
        levels.append(cuts)
    return levels


def _interval(leaf: int, cuts: Sequence[int], step: int, write: Callable[[int], str]) -> str:
    place = int(np.searchsorted(cuts, leaf, side="right"))
    low, last = cuts[place - 1], cuts[place] - step
    return write(low) if low == last else f"{write(low)} to {write(last)}"


def _writer(scale: int) -> Callable[[int], str]:
    """Return the function that writes a number of units as a value of a column of that scale."""
    if scale == 0:
        return str
    type_ = pa.decimal128(38, scale)
    return lambda units: str(
        pc.cast(pa.array([Decimal(units).scaleb(-scale)], type_), pa.string())[0].as_py()
    )


def _by_frequency(rows: Sequence[tuple[str, int]]) -> list[list[str]]:
    """Split values into groups of about as many rows, the most frequent values first."""
    groups: list[list[str]] = [[] for _ in range(max(2, round(len(rows) ** 0.5)))]
    totals = [0] * len(groups)
    for text, number in sorted(rows, key=lambda row: (-row[1], row[0])):
        place = totals.index(min(totals))
        groups[place].append(text)
        totals[place] += number
    return [group for group in groups if group]
