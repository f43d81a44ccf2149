"""Which columns together already single people out: the smallest sets that leave a row alone.

A row that is alone on some columns is alone on more of them, too. So sets are tried by size, and
none that holds a smaller one which singles out: what is found is minimal, and nothing is missed up
to the size that is stated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from expectations.counting import pack
from tasks.microdata.table import Microdata

_BUDGET = 2000  # sets of columns that are tried


@dataclass(frozen=True)
class Subset:
    """A set of columns, and how many rows are alone on it."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class SinglingOut:
    """The minimal sets by size and then by rows; none of up to `complete_up_to` is missing."""

    minimal: tuple[Subset, ...]
    complete_up_to: int


def singling_out(
    microdata: Microdata, quasi_identifiers: Sequence[str], budget: int = _BUDGET
) -> SinglingOut:
    """The minimal sets of quasi-identifiers on which some row is alone; nulls are a value.

    Args:
        microdata: the table.
        quasi_identifiers: the columns of which sets are made.
        budget: how many sets are tried at most; a size that would need more is not begun.
    """
    names = tuple(dict.fromkeys(quasi_identifiers))
    codes, sizes, rows = _collapsed(microdata, names)
    found: list[Subset] = []
    tried = 0
    for size in range(1, len(names) + 1):
        candidates = list(_without(names, size, found))
        if tried + len(candidates) > budget:
            return SinglingOut(tuple(found), size - 1)
        tried += len(candidates)
        level = (
            Subset(c, _alone([names.index(n) for n in c], codes, sizes, rows)) for c in candidates
        )
        found += sorted((s for s in level if s.rows), key=lambda s: (-s.rows, s.columns))
    return SinglingOut(tuple(found), len(names))


def _collapsed(
    microdata: Microdata, names: Sequence[str]
) -> tuple[list[np.ndarray], list[int], np.ndarray]:
    """The codes of the different rows by column, how many codes there are, and how many rows."""
    columns = [microdata[name].category() for name in names]
    codes, sizes = [c for c, _ in columns], [size for _, size in columns]
    if not names:
        return [], [], np.zeros(0, dtype=np.int64)
    key, _ = pack(codes, sizes)
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    return [column[first] for column in codes], sizes, times


def _without(names: Sequence[str], size: int, found: Sequence[Subset]) -> Iterator[tuple[str, ...]]:
    """The sets of a size that hold none of those found."""
    known = [set(subset.columns) for subset in found]
    for candidate in combinations(names, size):
        if not any(smaller <= set(candidate) for smaller in known):
            yield candidate


def _alone(
    places: Sequence[int], codes: Sequence[np.ndarray], sizes: Sequence[int], rows: np.ndarray
) -> int:
    key, bound = pack([codes[i] for i in places], [sizes[i] for i in places])
    if bound <= 4 * len(key) + 1024:
        return int((np.bincount(key, rows, bound) == 1).sum())
    single = np.sort(key)
    once = np.ones(len(single), dtype=bool)
    once[1:] &= single[1:] != single[:-1]
    once[:-1] &= single[1:] != single[:-1]
    lonely = single[once]
    place = np.searchsorted(lonely, key)
    mine = (place < len(lonely)) & (lonely[np.minimum(place, len(lonely) - 1)] == key)
    return int((rows[mine] == 1).sum())
