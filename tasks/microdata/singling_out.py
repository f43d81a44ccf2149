"""The smallest sets of columns that single people out, that is, leave a row alone.

A row that is alone on some columns is alone on more of them, too. So sets are tried by size, and
none that holds a smaller one which singles out: what is found is minimal, and nothing is missed up
to the size that is stated. The search is that of Agrawal and Srikant, Fast algorithms for mining
association rules (VLDB 1994).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, islice

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.tasks.microdata.table import Microdata

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


@dataclass(frozen=True, eq=False)
class _Collapsed:
    """The different rows: their codes by column, how many codes there are, how often each is."""

    names: tuple[str, ...]
    codes: list[np.ndarray]
    sizes: list[int]
    rows: np.ndarray

    def subset(self, places: Sequence[int]) -> Subset:
        """The columns at these places, and how many rows are alone on them."""
        key, bound = pack([self.codes[i] for i in places], [self.sizes[i] for i in places])
        return Subset(tuple(self.names[i] for i in places), _alone(key, bound, self.rows))


def singling_out(
    microdata: Microdata, quasi_identifiers: Sequence[str], budget: int = _BUDGET
) -> SinglingOut:
    """The minimal sets of quasi-identifiers on which some row is alone; nulls are a value.

    Args:
        microdata: the table.
        quasi_identifiers: the columns of which sets are made.
        budget: how many sets are tried at most; a size that would need more is not begun.
    """
    table = _collapsed(microdata, quasi_identifiers)
    found: list[Subset] = []
    level: Iterator[tuple[int, ...]] = ((place,) for place in range(len(table.names)))
    for size in range(1, len(table.names) + 1):
        candidates = list(islice(level, budget + 1))
        if len(candidates) > budget:
            return SinglingOut(tuple(found), size - 1)
        budget -= len(candidates)
        subsets = {candidate: table.subset(candidate) for candidate in candidates}
        found += sorted((s for s in subsets.values() if s.rows), key=lambda s: (-s.rows, s.columns))
        level = _larger([candidate for candidate, s in subsets.items() if not s.rows])
    return SinglingOut(tuple(found), len(table.names))


def _collapsed(microdata: Microdata, quasi_identifiers: Sequence[str]) -> _Collapsed:
    names = tuple(dict.fromkeys(quasi_identifiers))
    if not names:
        return _Collapsed((), [], [], np.zeros(0, dtype=np.int64))
    columns = [microdata[name].category() for name in names]
    codes, sizes = [c for c, _ in columns], [size for _, size in columns]
    key, _ = pack(codes, sizes)
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    return _Collapsed(names, [column[first] for column in codes], sizes, times)


def _larger(sets: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """The sets with one more element, all of whose parts of one less are given; both ascend."""
    given = set(sets)
    for head, same in groupby(sets, key=lambda one: one[:-1]):
        for pair in combinations([one[-1] for one in same], 2):
            larger = (*head, *pair)
            if all(part in given for part in combinations(larger, len(larger) - 1)):
                yield larger


def _alone(key: np.ndarray, bound: int, rows: np.ndarray) -> int:
    """Count the keys of a single row, where each occurrence stands for so many `rows`."""
    if bound <= 4 * len(key) + 1024:
        return int((np.bincount(key, rows, bound) == 1).sum())
    order = np.argsort(key)
    ordered = key[order]
    once = np.ones(len(ordered), dtype=bool)
    once[1:] &= ordered[1:] != ordered[:-1]
    once[:-1] &= ordered[1:] != ordered[:-1]
    return int((rows[order][once] == 1).sum())
