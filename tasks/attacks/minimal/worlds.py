"""Worlds of a group: who of it could have which of its values, and what is believed of them.

Rows that no try tells apart are alike; a world says how many of each kind have each value. Where a
group has few worlds they are all listed with their weights; else some are drawn, all as likely.

Of worlds that were drawn, and are not all, beliefs are known but for an error (Hoeffding,
Probability inequalities for sums of bounded random variables, JASA 1963): who is guessed, or as
good as known, lies between what the beliefs say that are surely the largest, or large enough, and
those that may be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import factorial, log, prod, sqrt
from typing import Self

import numpy as np

from sfumato.tasks.attacks.attack import SURE, top_guesses
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs

MOST = 512
"""So many worlds of a group are looked at, at most."""
ROUNDED = 1 - 1e-12
"""Of a share that is as large as what it is compared with."""
_MISSED = 0.01  # how likely some belief is farther off than its error, of all groups


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


@dataclass(frozen=True, eq=False)
class WeighedGroup:
    """The people of a group, by kinds that nobody tells apart.

    Attributes:
        own: how many people of each kind have each value (int64, kinds x values).
        belief: in each value (float64, kinds x values).
        error: how far beliefs are off, nearly surely, at most; 0 where all worlds were listed.
    """

    own: np.ndarray
    belief: np.ndarray
    error: float = 0.0

    @classmethod
    def of(
        cls,
        codes: np.ndarray,
        kind: np.ndarray,
        worlds: Worlds,
        weight: np.ndarray,
        groups: int = 1,
        *,
        is_open: bool = False,
    ) -> Self:
        """From the rows of a group, their kinds (both int64, one per row), and its worlds.

        Args:
            codes: the value of each row.
            kind: of each row.
            worlds: of the group.
            weight: how likely each is (float64).
            groups: how many of them are to be believed together.
            is_open: whether worlds were drawn that leave open what is believed.
        """
        own = tally(codes[np.newaxis], kind, np.ones(1)).astype(np.int64)
        belief = tally(worlds.values, kind, weight)
        belief /= belief.sum(axis=1, keepdims=True)
        error = 0.0 if worlds.are_all else error_of(weight, belief.size * groups)
        return cls(own, belief, 1.0 if is_open else error)

    def beliefs(self) -> OwnValueBeliefs:
        """What is believed of own values."""
        alone = np.broadcast_to(top_guesses(self.own.sum(axis=0, keepdims=True)), self.own.shape)
        there, top = self.own > 0, top_guesses(self.belief)
        return OwnValueBeliefs(self.own[there], self.belief[there], top[there], alone[there])

    def hits(self) -> np.ndarray:
        """How many people are guessed, and how many as good as known (float64)."""
        return self._people(top_guesses(self.belief), self._above(0))

    def hits_by_group(self) -> np.ndarray:
        """The same, where between beliefs that may be equal, by their error, the group decides.

        What most of it have is guessed then, and a coin decides where as many have several.
        """
        largest = self.belief.max(axis=1, keepdims=True)
        near = self.belief >= largest - 2 * self.error
        many = np.where(near, self.own.sum(axis=0) if self.error else 1, 0)
        return self._people(top_guesses(many), self._above(0))

    def hits_at_least(self) -> np.ndarray:
        """The same, of those whose belief is so whatever the error is."""
        if not self.error:
            return self.hits()
        return self._people(self.belief - self._others() > 2 * self.error, self._above(-1))

    def hits_at_most(self) -> np.ndarray:
        """The same, of those whose belief may be so."""
        if not self.error:
            return self.hits()
        return self._people(self._others() - self.belief <= 2 * self.error, self._above(1))

    def _above(self, sign: int) -> np.ndarray:
        return np.asarray(self.belief + sign * self.error >= SURE * ROUNDED)

    def _others(self) -> np.ndarray:
        """The largest belief in another value (float64, kinds x values); below any, without one."""
        if self.belief.shape[1] == 1:
            return np.full(self.belief.shape, -np.inf)
        second, first = np.sort(self.belief, axis=1)[:, -2:].T[:, :, np.newaxis]
        alone = self.belief.argmax(axis=1)[:, np.newaxis] == np.arange(self.belief.shape[1])
        return np.asarray(np.where(alone, second, first))

    def _people(self, *chances: np.ndarray) -> np.ndarray:
        return np.array([(self.own * of).sum() for of in chances], dtype=np.float64)


def error_of(weight: np.ndarray, beliefs: int) -> float:
    """How far so many beliefs by drawn worlds are off, nearly surely, at most.

    Args:
        weight: of each world (float64); those that are ruled out weigh nothing.
        beliefs: how many there are.
    """
    squares = float((weight**2).sum())
    worth = float(weight.sum()) ** 2 / squares if squares else 0.0
    return min(1.0, sqrt(log(2 * beliefs / _MISSED) / (2 * worth))) if worth else 1.0


def tally(values: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How often each kind of row has each value (float64, kinds x different values).

    Args:
        values: of the rows of a group in each world (int64, worlds x rows).
        kind: of each row (int64; 0, 1, …).
        weight: of each world (float64).
    """
    different, number = np.unique(values, return_inverse=True)
    place = kind * len(different) + number.reshape(values.shape)
    shape = int(kind.max()) + 1, len(different)
    times = np.repeat(weight, len(kind)).astype(np.float64)
    return np.bincount(place.ravel(), times, shape[0] * shape[1]).reshape(shape)
