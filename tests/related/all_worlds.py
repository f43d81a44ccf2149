"""All worlds of a small group of people and their related rows: an oracle that counts, no formula.

A world gives each row to a person. It shares no code with the product.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

Owners = tuple[int, ...]


@dataclass(frozen=True)
class SmallGroup:
    """People 0, 1, … of a group, and the value and the owner of each of their rows."""

    people: int
    values: tuple[str, ...]
    owners: Owners

    def numbers(self, owners: Owners) -> tuple[int, ...]:
        """Return how many rows each person has in a world."""
        return tuple(owners.count(person) for person in range(self.people))

    @cached_property
    def worlds(self) -> list[Owners]:
        """The worlds for who knows what is published: somebody has the most rows, nobody more."""
        most = max(self.numbers(self.owners))
        every = product(range(self.people), repeat=len(self.values))
        return [world for world in every if max(self.numbers(world)) == most]

    @cached_property
    def worlds_with_numbers(self) -> list[Owners]:
        """The worlds for who also knows the number of everybody's rows."""
        numbers = self.numbers(self.owners)
        return [world for world in self.worlds if self.numbers(world) == numbers]

    def worlds_of(self, insider: int) -> list[Owners]:
        """Return the worlds for a person who knows all numbers of rows, and the own values."""
        own = sorted(self.values_of(insider, self.owners))
        return [w for w in self.worlds_with_numbers if sorted(self.values_of(insider, w)) == own]

    def values_of(self, person: int, owners: Owners) -> list[str]:
        """Return the values of a person's rows in a world."""
        return [value for value, owner in zip(self.values, owners, strict=True) if owner == person]

    def count_faced(self, person: int, worlds: Sequence[Owners]) -> int | None:
        """Return how many values a person may have, 1 if one is certain; None without any row."""
        sets = [set(self.values_of(person, world)) for world in worlds]
        possible, certain = set.union(*sets), set.intersection(*sets)
        if not possible:
            return None
        return 1 if certain else len(possible)

    def ends(
        self, measured: Callable[[Owners], float | None], worlds: Sequence[Owners] | None = None
    ) -> tuple[float, float] | None:
        """Return the least and the greatest number in all worlds; None if there is none."""
        numbers = [n for world in worlds or self.worlds if (n := measured(world)) is not None]
        return (min(numbers), max(numbers)) if numbers else None


def small_groups(people: int, rows: int, values: str) -> Iterator[SmallGroup]:
    """Yield all groups of so many people and rows; the order of rows means nothing."""
    for owners in product(range(people), repeat=rows):
        for each in product(values, repeat=rows):
            yield SmallGroup(people, each, owners)
