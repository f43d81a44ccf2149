"""Every table that published files could have come from, or some of them where they are too many.

Groups are independent of each other: a world takes one of the options of each group. Worlds that
differ only in the order of their rows are one.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product
from math import prod

from tests.pairs.possible.groups import Group, Values

MOST_WORLDS = 2_000
DRAWN = 300
_MOST_OPTIONS = 100_000


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

    def number_rows(rows: Iterable[Values]) -> tuple[int, ...]:
        return tuple(sorted(places.setdefault(row, len(places)) for row in rows))

    true = number_rows(original)
    every = _every(groups, number_rows)
    if every is not None:
        worlds = set(_join_groups(every))
        assert true in worlds, "the original is in no world"
        return Worlds(tuple(places), tuple(sorted(worlds)), true, listed=True)
    worlds_drawn = {true}
    for _ in range(DRAWN):
        worlds_drawn.add(number_rows(chain(*(group.draw(rng) for group in groups))))
    return Worlds(tuple(places), tuple(sorted(worlds_drawn)), true, listed=False)


def _every(
    groups: Sequence[Group], placed: Callable[[Iterable[Values]], tuple[int, ...]]
) -> list[set[tuple[int, ...]]] | None:
    """Return the options of each group; None if the worlds are too many."""
    if any(group.options > _MOST_OPTIONS for group in groups):
        return None
    options: list[set[tuple[int, ...]]] = []
    for group in groups:
        options.append(set(map(placed, group.every())))
        if prod(map(len, options)) > 20 * MOST_WORLDS:
            return None
    return (
        None if len(set(islice(_join_groups(options), 20 * MOST_WORLDS))) > MOST_WORLDS else options
    )


def _join_groups(of_groups: Sequence[set[tuple[int, ...]]]) -> Iterator[tuple[int, ...]]:
    for chosen in product(*of_groups):
        yield tuple(sorted(chain(*chosen)))
