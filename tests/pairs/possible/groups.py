"""Groups of a release by what is told of their rows: every way in which these may be."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, permutations, product
from math import comb, perm, prod
from typing import Any, Protocol

Values = tuple[Any, ...]
"""A row by the order of columns."""
Rows = tuple[Values, ...]
"""Rows of a group in some world, in a fixed order."""


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
        return self._rows([rng.sample(list(bundle), len(self.rows)) for bundle in self.bundles])

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
        return tuple(
            rng.choice(list(leaf_set)) for leaf_set in rng.sample(list(self.leaves), self.people)
        )


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
        return comb(size, self.people) * prod(len(values) ** size for values in self.admitted)

    def every(self) -> Iterator[Rows]:
        """See `Group`."""
        size = len(self.counted)
        ways = [
            [way for way in product(values, repeat=size) if set(way) == set(values)]
            for values in self.admitted
        ]
        for chosen in product(*ways):
            yield from combinations(self._rows(chosen), self.people)

    def draw(self, rng: random.Random) -> Rows:
        """See `Group`."""
        chosen = []
        for values in self.admitted:
            more = [rng.choice(list(values)) for _ in range(len(self.counted) - len(values))]
            chosen.append(rng.sample([*values, *more], len(self.counted)))
        return tuple(rng.sample(self._rows(chosen), self.people))

    def _rows(self, chosen: Iterable[Sequence[Any]]) -> list[Values]:
        exact = zip(*chosen, strict=True)
        return [
            (*exact_values, *right) for exact_values, right in zip(exact, self.counted, strict=True)
        ]


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
        return self._rows([rng.choice(list(values)) for values in chosen])

    def _rows(self, values: Sequence[Any]) -> Rows:
        return tuple((*row, value) for row, value in zip(self.rows, values, strict=True))
