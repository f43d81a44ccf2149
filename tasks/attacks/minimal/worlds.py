"""Worlds of a group: the ways in which its people can have its values, and beliefs from them.

Rows that no try separates are one kind; a world is the number of rows of each kind with each value.
If a group has few worlds, all are listed with their weights. Otherwise some are drawn, all equally
likely.

Beliefs from drawn worlds have an error (Hoeffding, Probability inequalities for sums of bounded
random variables, JASA 1963). So hits are bounded: at least those whose belief is surely the largest
(or large enough), at most those whose belief may be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import factorial, log, prod, sqrt
from typing import Self

import numpy as np

from sfumato.tasks.attacks.shared.attack import SURE, top_guesses
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs

MOST = 512
"""Most worlds of a group to look at."""
ROUNDED = 1 - 1e-12
"""Tolerance for rounding in a share that equals its limit."""
_MISSED = 0.01  # chance that some belief of all groups is farther off than its error


_FEW, _SHORT = 20_000, 200  # most arrangements, and most rows, for which worlds are listed


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds of a group.

    Attributes:
        values: the value of each row in each world (int64, worlds x rows).
        weight: the number of arrangements of rows that each world has (int64, one per world).
        are_all: whether these are all worlds; otherwise each was drawn.
    """

    values: np.ndarray
    weight: np.ndarray
    are_all: bool = True


def worlds_of(kind: np.ndarray, values: np.ndarray, draw: np.random.Generator) -> Worlds:
    """List the worlds of a group, or draw some of them.

    Args:
        kind: the kind of each row (int64; 0, 1, …).
        values: the values of the rows, in any order (int64).
        draw: the source of randomness, if there are too many worlds.
    """
    sizes = np.bincount(kind).tolist()
    distinct, counts = np.unique(values, return_counts=True)
    if len(values) <= _SHORT and arrangements(counts.tolist()) <= _FEW:
        tables = list(islice(_tables(sizes, counts.tolist()), MOST + 1))
        if len(tables) <= MOST:
            return _worlds_of_tables(np.array(tables), kind, distinct)
    samples = draw.permuted(np.tile(values, (MOST, 1)), axis=1)
    return Worlds(samples, np.ones(MOST, dtype=np.int64), are_all=False)


def arrangements(counts: Sequence[int]) -> int:
    """Return the number of ways to give values to rows, given the count of each value."""
    return factorial(sum(counts)) // prod(map(factorial, counts))


def _worlds_of_tables(tables: np.ndarray, kind: np.ndarray, distinct: np.ndarray) -> Worlds:
    """Return the worlds of tables of rows by kind and value (int64, worlds x kinds x values)."""
    into = np.argsort(kind, kind="stable")
    values = np.empty((len(tables), len(kind)), dtype=np.int64)
    for world, table in enumerate(tables):
        values[world, into] = np.repeat(np.tile(distinct, len(table)), table.ravel())
    weight = [prod(arrangements(row) for row in table) for table in tables.tolist()]
    return Worlds(values, np.array(weight, dtype=np.int64))


def _tables(sizes: Sequence[int], counts: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield all ways to give values, `counts` of each, to kinds of `sizes` rows."""
    if not sizes:
        yield []
        return
    for first in _rows(sizes[0], counts):
        rest = [have - taken for have, taken in zip(counts, first, strict=True)]
        for others in _tables(sizes[1:], rest):
            yield [first, *others]


def _rows(size: int, counts: Sequence[int]) -> Iterator[list[int]]:
    """Yield all ways to take `size` values, at most `counts` of each."""
    if len(counts) == 1:
        yield [size]
        return
    least = max(0, size - sum(counts[1:]))
    for taken in range(least, min(size, counts[0]) + 1):
        for others in _rows(size - taken, counts[1:]):
            yield [taken, *others]


@dataclass(frozen=True, eq=False)
class WeighedGroup:
    """The people of a group, by kinds that the attacker cannot distinguish.

    Attributes:
        own: the number of people of each kind with each value (int64, kinds x values).
        belief: the belief in each value (float64, kinds x values).
        error: the largest error of beliefs, almost surely; 0 if all worlds were listed.
    """

    own: np.ndarray
    belief: np.ndarray
    error: float = 0.0

    @classmethod
    def from_worlds(
        cls,
        codes: np.ndarray,
        kind: np.ndarray,
        worlds: Worlds,
        weight: np.ndarray,
        groups: int = 1,
        *,
        is_open: bool = False,
    ) -> Self:
        """Make it from the rows of a group, their kinds (both int64, one per row), and its worlds.

        Args:
            codes: the value of each row.
            kind: the kind of each row.
            worlds: the worlds of the group.
            weight: the likelihood of each world (float64).
            groups: the number of groups whose errors must hold together.
            is_open: whether drawn worlds leave beliefs open; then the error is 1.
        """
        own = tally(codes[np.newaxis], kind, np.ones(1)).astype(np.int64)
        belief = tally(worlds.values, kind, weight)
        belief /= belief.sum(axis=1, keepdims=True)
        error = 0.0 if worlds.are_all else error_of(weight, belief.size * groups)
        return cls(own, belief, 1.0 if is_open else error)

    def beliefs(self) -> OwnValueBeliefs:
        """Return the beliefs in own values."""
        alone = np.broadcast_to(top_guesses(self.own.sum(axis=0, keepdims=True)), self.own.shape)
        there, top = self.own > 0, top_guesses(self.belief)
        return OwnValueBeliefs(self.own[there], self.belief[there], top[there], alone[there])

    def hits(self) -> np.ndarray:
        """Return the people guessed, and the people believed with 80 % or more (float64)."""
        return self._people(top_guesses(self.belief), self._is_sure(0))

    def hits_by_group(self) -> np.ndarray:
        """Return the hits if the group decides between beliefs that may be equal, by their error.

        Then the most frequent value of the group is guessed; ties are shared equally.
        """
        largest = self.belief.max(axis=1, keepdims=True)
        near = self.belief >= largest - 2 * self.error
        many = np.where(near, self.own.sum(axis=0) if self.error else 1, 0)
        return self._people(top_guesses(many), self._is_sure(0))

    def hits_at_least(self) -> np.ndarray:
        """Return the hits among people whose belief is so whatever the error is."""
        if not self.error:
            return self.hits()
        return self._people(self.belief - self._others() > 2 * self.error, self._is_sure(-1))

    def hits_at_most(self) -> np.ndarray:
        """Return the hits among people whose belief may be so."""
        if not self.error:
            return self.hits()
        return self._people(self._others() - self.belief <= 2 * self.error, self._is_sure(1))

    def _is_sure(self, sign: int) -> np.ndarray:
        return np.asarray(self.belief + sign * self.error >= SURE * ROUNDED)

    def _others(self) -> np.ndarray:
        """Return the largest belief in any other value (float64, kinds x values).

        It is -inf if there is only one value.
        """
        if self.belief.shape[1] == 1:
            return np.full(self.belief.shape, -np.inf)
        second, first = np.sort(self.belief, axis=1)[:, -2:].T[:, :, np.newaxis]
        alone = self.belief.argmax(axis=1)[:, np.newaxis] == np.arange(self.belief.shape[1])
        return np.asarray(np.where(alone, second, first))

    def _people(self, *chances: np.ndarray) -> np.ndarray:
        """Return expected numbers of people, given the chances of each kind with each value."""
        return np.array([(self.own * chance).sum() for chance in chances], dtype=np.float64)


def error_of(weight: np.ndarray, beliefs: int) -> float:
    """Return the largest error of `beliefs` beliefs by drawn worlds, almost surely.

    Args:
        weight: the weight of each world (float64); 0 for worlds that are ruled out.
        beliefs: the number of beliefs.
    """
    # Kish's effective number of draws: fewer than the worlds if their weights differ
    squares = float((weight**2).sum())
    worth = float(weight.sum()) ** 2 / squares if squares else 0.0
    return min(1.0, sqrt(log(2 * beliefs / _MISSED) / (2 * worth))) if worth else 1.0


def tally(values: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Count how often each kind of row has each value (float64, kinds x different values).

    Args:
        values: the values of the rows of a group in each world (int64, worlds x rows).
        kind: the kind of each row (int64; 0, 1, …).
        weight: the weight of each world (float64).
    """
    different, number = np.unique(values, return_inverse=True)
    place = kind * len(different) + number.reshape(values.shape)
    shape = int(kind.max()) + 1, len(different)
    times = np.repeat(weight, len(kind)).astype(np.float64)
    return np.bincount(place.ravel(), times, shape[0] * shape[1]).reshape(shape)
