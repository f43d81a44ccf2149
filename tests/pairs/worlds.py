"""Every table that published files could have come from, or some of them where they are too many.

Groups are independent of each other: a world takes one of the options of each group. Worlds that
differ only in the order of their rows are one.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, permutations, product
from math import comb, perm, prod
from typing import Any, Protocol

Values = tuple[Any, ...]
"""A row by the order of columns."""
Rows = tuple[Values, ...]
"""Rows of a group in some world, in a fixed order."""

MOST_WORLDS = 2_000
DRAWN = 300
_MOST_OPTIONS = 100_000


class Group(Protocol):
    """Rows whose values are told together."""

    @property
    def options(self) -> int:
        """Return at most how many ways there are, equal ones counted again."""
        ...

    def every(self) -> Iterable[Rows]:
        """Yield every way."""
        ...

    def draw(self, rng: random.Random) -> Rows:
        """Return some way."""
        ...


@dataclass(frozen=True)
class Dealt:
    """Exact rows, to which values are dealt; of more values than rows some are nobody's.

    Attributes:
        rows: what is exact of each person.
        bundles: tuples of sensitive values; those of one bundle are dealt together.
    """

    rows: Sequence[Values]
    bundles: Sequence[Sequence[Values]]

    @property
    def options(self) -> int:
        """See `Group`."""
        return prod(perm(len(values), len(self.rows)) for values in self.bundles)

    def every(self) -> Iterator[Rows]:
        """See `Group`."""
        ways = [set(permutations(values, len(self.rows))) for values in self.bundles]
        yield from (self._rows(chosen) for chosen in product(*ways))

    def draw(self, rng: random.Random) -> Rows:
        """See `Group`."""
        return self._rows([rng.sample(list(of), len(self.rows)) for of in self.bundles])

    def _rows(self, chosen: Iterable[Sequence[Values]]) -> Rows:
        pairs = zip(self.rows, *chosen, strict=True)
        return tuple(tuple(chain(*parts)) for parts in pairs)


@dataclass(frozen=True)
class Labelled:
    """Rows of labels, of which `people` are somebody's, with the rows that each may be."""

    leaves: Sequence[Sequence[Values]]
    people: int

    @property
    def options(self) -> int:
        """See `Group`."""
        return comb(len(self.leaves), self.people) * prod(map(len, self.leaves))

    def every(self) -> Iterator[Rows]:
        """See `Group`."""
        for chosen in combinations(self.leaves, self.people):
            yield from product(*chosen)

    def draw(self, rng: random.Random) -> Rows:
        """See `Group`."""
        return tuple(rng.choice(list(of)) for of in rng.sample(list(self.leaves), self.people))


@dataclass(frozen=True)
class Covered:
    """Values that each column admits by itself, each of them somebody's, beside counted ones."""

    admitted: Sequence[Sequence[Any]]
    counted: Sequence[Values]
    people: int

    @property
    def options(self) -> int:
        """See `Group`."""
        size = len(self.counted)
        return comb(size, self.people) * prod(len(of) ** size for of in self.admitted)

    def every(self) -> Iterator[Rows]:
        """See `Group`."""
        size = len(self.counted)
        ways = [
            [way for way in product(of, repeat=size) if set(way) == set(of)] for of in self.admitted
        ]
        for chosen in product(*ways):
            yield from combinations(self._rows(chosen), self.people)

    def draw(self, rng: random.Random) -> Rows:
        """See `Group`."""
        chosen = []
        for of in self.admitted:
            more = [rng.choice(list(of)) for _ in range(len(self.counted) - len(of))]
            chosen.append(rng.sample([*of, *more], len(self.counted)))
        return tuple(rng.sample(self._rows(chosen), self.people))

    def _rows(self, chosen: Iterable[Sequence[Any]]) -> list[Values]:
        exact = zip(*chosen, strict=True)
        return [(*left, *right) for left, right in zip(exact, self.counted, strict=True)]


@dataclass(frozen=True)
class Spread:
    """Exact rows, each with a value of a subdomain of its own; other subdomains are fakes."""

    rows: Sequence[Values]
    subdomains: Sequence[Sequence[Any]]

    @property
    def options(self) -> int:
        """See `Group`."""
        widest = sorted(map(len, self.subdomains))[-len(self.rows) :]
        return perm(len(self.subdomains), len(self.rows)) * prod(widest)

    def every(self) -> Iterator[Rows]:
        """See `Group`."""
        for chosen in set(permutations(self.subdomains, len(self.rows))):
            yield from map(self._rows, product(*chosen))

    def draw(self, rng: random.Random) -> Rows:
        """See `Group`."""
        chosen = rng.sample(list(self.subdomains), len(self.rows))
        return self._rows([rng.choice(list(of)) for of in chosen])

    def _rows(self, values: Sequence[Any]) -> Rows:
        return tuple((*row, value) for row, value in zip(self.rows, values, strict=True))


@dataclass(frozen=True)
class Worlds:
    """Worlds of a release.

    Attributes:
        rows: every row of some world.
        worlds: each as the places of its rows, in ascending order.
        original: that of the table that the release was made of.
        listed: whether these are all.
    """

    rows: tuple[Values, ...]
    worlds: tuple[tuple[int, ...], ...]
    original: tuple[int, ...]
    listed: bool


def worlds_of(groups: Sequence[Group], original: Sequence[Values], rng: random.Random) -> Worlds:
    """Return all worlds where there are at most `MOST_WORLDS`, else some drawn ones.

    Raises:
        AssertionError: if the original is none of all worlds.
    """
    places: dict[Values, int] = {}

    def placed(rows: Iterable[Values]) -> tuple[int, ...]:
        return tuple(sorted(places.setdefault(row, len(places)) for row in rows))

    true = placed(original)
    every = _every(groups, placed)
    if every is not None:
        worlds = set(_joined(every))
        assert true in worlds, "the original is in no world"
        return Worlds(tuple(places), tuple(sorted(worlds)), true, listed=True)
    drawn = {true}
    for _ in range(DRAWN):
        drawn.add(placed(chain(*(group.draw(rng) for group in groups))))
    return Worlds(tuple(places), tuple(sorted(drawn)), true, listed=False)


def _every(groups: Sequence[Group], placed: Any) -> list[set[tuple[int, ...]]] | None:
    """Return the options of each group; None if the worlds are too many."""
    if any(group.options > _MOST_OPTIONS for group in groups):
        return None
    found: list[set[tuple[int, ...]]] = []
    for group in groups:
        found.append(set(map(placed, group.every())))
        if prod(map(len, found)) > 20 * MOST_WORLDS:
            return None
    return None if len(set(islice(_joined(found), 20 * MOST_WORLDS))) > MOST_WORLDS else found


def _joined(of_groups: Sequence[set[tuple[int, ...]]]) -> Iterator[tuple[int, ...]]:
    for chosen in product(*of_groups):
        yield tuple(sorted(chain(*chosen)))
