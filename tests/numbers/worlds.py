"""All worlds of a small group whose numbers of rows are shown: an oracle that counts, no formula.

A world gives each row to a person. Published numbers are those of each person; shuffled ones are
those of the group, in any order. It shares no code with the product.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from random import Random

Owners = tuple[int, ...]


def arrangements(numbers: tuple[int, ...]) -> Iterator[Owners]:
    """Yield each way to give rows 0, 1, … to people who have so many."""
    if not any(numbers):
        yield ()
        return
    for person, number in enumerate(numbers):
        if number:
            fewer = (*numbers[:person], number - 1, *numbers[person + 1 :])
            for rest in arrangements(fewer):
                yield (person, *rest)


@dataclass(frozen=True)
class ShownGroup:
    """The number of rows of each person of a group, and the value and amount of each row."""

    numbers: tuple[int, ...]
    values: tuple[str, ...]
    amounts: tuple[int, ...]

    @cached_property
    def published_worlds(self) -> list[Owners]:
        """The worlds for who knows the number of each person."""
        return list(arrangements(self.numbers))

    @cached_property
    def shuffled_worlds(self) -> list[Owners]:
        """The worlds for who knows the numbers of the group."""
        return [
            world
            for numbers in sorted(set(permutations(self.numbers)))
            for world in arrangements(numbers)
        ]

    def worlds(self, kind: str) -> list[Owners]:
        """Return the worlds by the way in which numbers are shown."""
        return self.published_worlds if kind == "published" else self.shuffled_worlds

    def values_of(self, person: int, owners: Owners) -> set[str]:
        """Return the values of a person in a world."""
        return {value for value, owner in zip(self.values, owners, strict=True) if owner == person}

    def count_faced(self, person: int, worlds: list[Owners]) -> int | None:
        """Return how many values a person may have, 1 if one is certain; None without any row."""
        sets = [self.values_of(person, world) for world in worlds]
        possible, certain = set.union(*sets), set.intersection(*sets)
        return None if not possible else 1 if certain else len(possible)

    def belief(self, person: int, value: str, kind: str) -> tuple[int, int]:
        """Return in how many worlds a person has a value, of how many."""
        worlds = self.worlds(kind)
        return sum(value in self.values_of(person, world) for world in worlds), len(worlds)


def random_groups(seed: int, many: int, people: int = 4, rows: int = 6) -> Iterator[ShownGroup]:
    """Yield random groups with up to so many people and rows."""
    random = Random(seed)
    for _ in range(many):
        size, some = random.randint(1, people), random.randint(0, rows)
        numbers = [0] * size
        for _ in range(some):
            numbers[random.randrange(size) if random.random() < 0.7 else 0] += 1
        values = tuple(random.choice("abcd"[: random.randint(1, 4)]) for _ in range(some))
        low = random.choice((-6, 1))
        amounts = tuple(random.randint(low, 9) for _ in range(some))
        yield ShownGroup(tuple(numbers), values, amounts)


def ends(
    worlds: list[Owners], measured: Callable[[Owners], float | None]
) -> tuple[float, float] | None:
    """Return the least and the greatest number in some worlds; None if there is none in any."""
    numbers = [number for world in worlds if (number := measured(world)) is not None]
    return (min(numbers), max(numbers)) if numbers else None
