"""Worlds of a group: who of it could have which of its values, and how likely that is.

Rows that no try tells apart are alike; a world says how many of each kind have each value. Where a
group has few worlds they are all listed with their weights; else some are drawn, all as likely.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import factorial, prod

import numpy as np

MOST = 512
"""So many worlds of a group are looked at, at most."""
_FEW, _SHORT = 20_000, 200  # arrangements of so many rows, of which worlds may be listed


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds of a group.

    Attributes:
        values: of each row in each world (int64, worlds x rows).
        weight: how many arrangements of rows each stands for (int64, one per world).
        are_all: whether there are no others; else each was drawn.
    """

    values: np.ndarray
    weight: np.ndarray
    are_all: bool = True


def worlds_of(kind: np.ndarray, values: np.ndarray, draw: np.random.Generator) -> Worlds:
    """The worlds of a group, all or some.

    Args:
        kind: of each row (int64; 0, 1, …).
        values: of the rows, in any order (int64).
        draw: what is drawn from where there are too many.
    """
    sizes = np.bincount(kind).tolist()
    distinct, counts = np.unique(values, return_counts=True)
    if len(values) <= _SHORT and arrangements(counts.tolist()) <= _FEW:
        tables = list(islice(_tables(sizes, counts.tolist()), MOST + 1))
        if len(tables) <= MOST:
            return _listed(np.array(tables), kind, distinct)
    drawn = draw.permuted(np.tile(values, (MOST, 1)), axis=1)
    return Worlds(drawn, np.ones(MOST, dtype=np.int64), are_all=False)


def arrangements(counts: Sequence[int]) -> int:
    """How many ways there are to give these values to rows; values are alike by their counts."""
    return factorial(sum(counts)) // prod(map(factorial, counts))


def _listed(tables: np.ndarray, kind: np.ndarray, distinct: np.ndarray) -> Worlds:
    """Worlds by how many of each kind have each value (int64, worlds x kinds x values)."""
    into = np.argsort(kind, kind="stable")
    values = np.empty((len(tables), len(kind)), dtype=np.int64)
    for world, table in enumerate(tables):
        values[world, into] = np.repeat(np.tile(distinct, len(table)), table.ravel())
    weight = [prod(arrangements(row) for row in table) for table in tables.tolist()]
    return Worlds(values, np.array(weight, dtype=np.int64))


def _tables(sizes: Sequence[int], left: Sequence[int]) -> Iterator[list[list[int]]]:
    """All ways to give kinds of so many rows values, of which so many are left."""
    if not sizes:
        yield []
        return
    for first in _rows(sizes[0], left):
        rest = [have - taken for have, taken in zip(left, first, strict=True)]
        for others in _tables(sizes[1:], rest):
            yield [first, *others]


def _rows(size: int, left: Sequence[int]) -> Iterator[list[int]]:
    """All ways to take so many values of those that are left."""
    if len(left) == 1:
        yield [size]
        return
    least = max(0, size - sum(left[1:]))
    for taken in range(least, min(size, left[0]) + 1):
        for others in _rows(size - taken, left[1:]):
            yield [taken, *others]
