"""All worlds of the small groups of a real release with facts: an oracle that counts, no formula.

A world gives each published stay to a person of its group, and a day to each stay where days are
asked for. It is possible if it has the published facts, each as a multiset, and somebody has the
most stays that are stated. It shares no code with the product.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any

Stay = tuple[str, int, int]
"""A diagnosis, a cost, and a day."""
Fact = Callable[[Sequence[Stay]], Any]


def _is_readmitted(stays: Sequence[Stay]) -> bool:
    days = sorted(day for _, _, day in stays)
    return any(later - day <= 30 for day, later in pairwise(days))


def _both(stays: Sequence[Stay]) -> bool:
    return {"flu", "gout"} <= {diagnosis for diagnosis, _, _ in stays}


FACTS: Mapping[str, Fact] = {
    "times": len,
    "admitted": bool,
    "readmitted": _is_readmitted,
    "flu_and_gout": _both,
    "total_cost": lambda stays: sum(cost for _, cost, _ in stays),
}


@dataclass(frozen=True)
class World:
    """The stays of each person of a group."""

    stays: tuple[tuple[Stay, ...], ...]

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The number of stays of each person."""
        return tuple(map(len, self.stays))

    def has(self, person: int, diagnosis: str) -> bool:
        """Return whether a person has a stay with a diagnosis."""
        return any(stay[0] == diagnosis for stay in self.stays[person])

    def diagnoses(self, person: int) -> set[str]:
        """Return the diagnoses of a person."""
        return {stay[0] for stay in self.stays[person]}

    def multiset(self, name: str) -> tuple[Any, ...]:
        """Return a fact of all people, in order."""
        return tuple(sorted(FACTS[name](own) for own in self.stays))


@dataclass(frozen=True)
class PublishedGroup:
    """A group as a release shows it: people by age, stays, the most of one person, and facts."""

    ages: tuple[int, ...]
    stays: tuple[tuple[str, int], ...]
    most: int
    facts: Mapping[str, tuple[Any, ...]]

    def worlds(self, days: Sequence[int] = (0,)) -> Iterator[World]:
        """Yield all possible worlds; each stay has any of some days."""
        people = range(len(self.ages))
        for when in product(days, repeat=len(self.stays)):
            dated = [(*stay, day) for stay, day in zip(self.stays, when, strict=True)]
            for owners in product(people, repeat=len(dated)):
                world = _world_of(dated, owners, len(self.ages))
                if max(world.numbers) == self.most and all(
                    world.multiset(name) == values for name, values in self.facts.items()
                ):
                    yield world


def _world_of(stays: Sequence[Stay], owners: Sequence[int], people: int) -> World:
    own: list[list[Stay]] = [[] for _ in range(people)]
    for stay, owner in zip(stays, owners, strict=True):
        own[owner].append(stay)
    return World(tuple(tuple(each) for each in own))


def count_faced(worlds: Sequence[World], person: int) -> int | None:
    """Return how many diagnoses a person may have, 1 if one is certain; None without any stay."""
    sets = [world.diagnoses(person) for world in worlds]
    possible, certain = set.union(*sets), set.intersection(*sets)
    return None if not possible else 1 if certain else len(possible)
