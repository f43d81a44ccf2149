"""The smallest sets of columns that single people out, that is, on which some row is unique.

A row that is unique on some columns is also unique on more columns. So sets are tried by size,
except those that contain a smaller set which singles out: the result is minimal, and complete up to
the stated size. The search is that of Agrawal and Srikant, Fast algorithms for mining
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
    """A set of columns, and the number of rows that are unique on it."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class SinglingOut:
    """Minimal sets by size and then by rows; complete up to the size `complete_up_to`."""

    minimal: tuple[Subset, ...]
    complete_up_to: int


@dataclass(frozen=True, eq=False)
class _Collapsed:
    """Distinct rows: their codes by column, the numbers of codes, and the count of each row."""

    names: tuple[str, ...]
    codes: list[np.ndarray]
    sizes: list[int]
    rows: np.ndarray

    def subset(self, places: Sequence[int]) -> Subset:
        """Return the columns at these places, and the number of rows that are unique on them."""
        key, bound = pack([self.codes[i] for i in places], [self.sizes[i] for i in places])
        return Subset(tuple(self.names[i] for i in places), _alone(key, bound, self.rows))


def singling_out(
    microdata: Microdata, quasi_identifiers: Sequence[str], budget: int = _BUDGET
) -> SinglingOut:
    """Return the minimal sets of quasi-identifiers on which a row is unique; nulls are a value.

    Args:
        microdata: the table.
        quasi_identifiers: the columns of the sets.
        budget: the largest number of sets to try; a size that would need more is not begun.
    """
    table = _collapse(microdata, quasi_identifiers)
    minimal: list[Subset] = []
    level: Iterator[tuple[int, ...]] = ((place,) for place in range(len(table.names)))
    for size in range(1, len(table.names) + 1):
        candidates = list(islice(level, budget + 1))
        if len(candidates) > budget:
            return SinglingOut(tuple(minimal), size - 1)
        budget -= len(candidates)
        subsets = {candidate: table.subset(candidate) for candidate in candidates}
        minimal += sorted(
            (s for s in subsets.values() if s.rows), key=lambda s: (-s.rows, s.columns)
        )
        level = _larger([candidate for candidate, s in subsets.items() if not s.rows])
    return SinglingOut(tuple(minimal), len(table.names))


def _collapse(microdata: Microdata, quasi_identifiers: Sequence[str]) -> _Collapsed:
    names = tuple(dict.fromkeys(quasi_identifiers))
    if not names:
        return _Collapsed((), [], [], np.zeros(0, dtype=np.int64))
    columns = [microdata[name].category() for name in names]
    codes, sizes = [c for c, _ in columns], [size for _, size in columns]
    key, _ = pack(codes, sizes)
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    return _Collapsed(names, [column[first] for column in codes], sizes, times)


def _larger(sets: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Yield the sets with one more element whose parts of one less are all given; both ascend."""
    smaller = set(sets)
    for head, same in groupby(sets, key=lambda members: members[:-1]):
        for pair in combinations([members[-1] for members in same], 2):
            larger = (*head, *pair)
            if all(part in smaller for part in combinations(larger, len(larger) - 1)):
                yield larger


def _alone(key: np.ndarray, bound: int, rows: np.ndarray) -> int:
    """Count the keys that only one row has, where each occurrence stands for so many `rows`."""
    if bound <= 4 * len(key) + 1024:
        return int((np.bincount(key, rows, bound) == 1).sum())
    order = np.argsort(key)
    ordered = key[order]
    once = np.ones(len(ordered), dtype=bool)
    once[1:] &= ordered[1:] != ordered[:-1]
    once[:-1] &= ordered[1:] != ordered[:-1]
    return int((rows[order][once] == 1).sum())
