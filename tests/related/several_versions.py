"""Versions of two related tables of small groups: people keep their group, new rows are published.

A history has one increment for each version: who is there, and the rows that are new. A world of a
history gives each row to somebody who was there. It shares no code with the product.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random


@dataclass(frozen=True)
class Increment:
    """The people who are there in a version, and the values and the owners of its new rows."""

    present: tuple[int, ...]
    values: tuple[str, ...]
    owners: tuple[int, ...]

    def numbers(self, owners: Iterable[int]) -> dict[int, int]:
        """Return how many of the new rows each person has in a world."""
        each = list(owners)
        return {person: each.count(person) for person in self.present}

    @cached_property
    def worlds(self) -> list[tuple[int, ...]]:
        """The worlds for who knows the files: somebody has the most new rows, nobody more."""
        most = max(self.numbers(self.owners).values())
        every = product(self.present, repeat=len(self.values))
        return [world for world in every if max(self.numbers(world).values()) == most]

    @cached_property
    def worlds_with_numbers(self) -> list[tuple[int, ...]]:
        """The worlds for who also knows how many new rows everybody has."""
        numbers = self.numbers(self.owners)
        return [world for world in self.worlds if self.numbers(world) == numbers]

    def worlds_of(self, insider: int) -> list[tuple[int, ...]]:
        """Return the worlds for a person who knows all numbers, and the own values."""
        own = sorted(self.values_of(insider, self.owners))
        worlds = self.worlds_with_numbers
        return [world for world in worlds if sorted(self.values_of(insider, world)) == own]

    def values_of(self, person: int, owners: tuple[int, ...]) -> list[str]:
        """Return the values of a person's new rows in a world."""
        return [value for value, owner in zip(self.values, owners, strict=True) if owner == person]

    def count(self, value: str) -> int:
        """Return how many new rows have a value."""
        return self.values.count(value)


History = tuple[Increment, ...]
World = tuple[tuple[int, ...], ...]


def worlds_of(
    history: History, of_one: Callable[[Increment], list[tuple[int, ...]]]
) -> Iterator[World]:
    """Yield the worlds of all versions together, from the worlds of each."""
    return product(*map(of_one, history))


def ever_held(history: History, person: int, world: World) -> set[str]:
    """Return the values that a person has in some version of a world."""
    return {
        value
        for increment, owners in zip(history, world, strict=True)
        for value in increment.values_of(person, owners)
    }


def drawn_histories(seed: int, many: int, *, leaving: bool = False) -> Iterator[History]:
    """Yield two or three increments of up to three people; some may leave, and others come."""
    random = Random(seed)
    for _ in range(many):
        people = random.randint(2, 3)
        history = []
        for _ in range(random.choice([2, 2, 3])):
            some = random.sample(range(people), random.randint(2, people)) if leaving else None
            present = tuple(sorted(some or range(people)))
            rows = random.randint(1, 3)
            values = tuple(random.choice("ab") for _ in range(rows))
            owners = tuple(random.choice(present) for _ in range(rows))
            history.append(Increment(present, values, owners))
        yield tuple(history)
