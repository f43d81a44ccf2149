"""Candidates of versions together, by enumerating all worlds of a small line in exact fractions.

A line is written `ABC:123 DEF:124 / ABc:123`: versions of groups of people (letters) and values
(digits). A small letter is a ghost: a former holder of a value that nobody represented has now.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp, log

Group = tuple[str, str]  # people (ghosts in small letters) and values, as many
Line = list[list[Group]]
World = dict[str, str]


def read(text: str) -> Line:
    """The versions of a line."""
    return [[tuple(group.split(":")) for group in version.split()] for version in text.split("/")]


def worlds(line: Line) -> Iterator[World]:
    """Every assignment of values to people that gives every group its values, each once."""
    groups = [(people.upper(), Counter(values)) for version in line for people, values in version]
    assert all(len(people) == values.total() for people, values in groups)
    everybody = dict.fromkeys(person for people, _ in groups for person in people)
    remaining = {u: [values for people, values in groups if u in people] for u in everybody}
    return _worlds({}, list(remaining.items()))


def _worlds(world: World, remaining: list[tuple[str, list[Counter[str]]]]) -> Iterator[World]:
    if not remaining:
        yield dict(world)
        return
    (person, groups), *others = remaining
    for value in [v for v in groups[0] if all(values[v] for values in groups)]:
        for values in groups:
            values[value] -= 1
        yield from _worlds({**world, person: value}, others)
        for values in groups:
            values[value] += 1


def posterior(
    line: Line, weight: Callable[[World], Fraction | int] = lambda _: 1
) -> dict[str, dict[str, Fraction]]:
    """β(u,s) of each person: the share of the worlds, by their weight, in which u has s."""
    sums: dict[str, dict[str, Fraction | int]] = {}
    total: Fraction | int = 0
    for world in worlds(line):
        each = weight(world)
        total += each
        for person, value in world.items():
            shares = sums.setdefault(person, {})
            shares[value] = shares.get(value, 0) + each
    return {u: {s: Fraction(n) / total for s, n in b.items()} for u, b in sums.items()}


def candidates(line: Line) -> dict[str, set[str]]:
    """C(u): the values that each person has in some world."""
    possible: dict[str, set[str]] = {}
    for world in worlds(line):
        for person, value in world.items():
            possible.setdefault(person, set()).add(value)
    return possible


def persistent(first: str, then: str, chance: Fraction, values: int) -> Callable[[World], Fraction]:
    """The weight of a world where one person's two episodes agree with that chance."""

    def weight(world: World) -> Fraction:
        same = world[first] == world[then]
        return chance if same else (1 - chance) / (values - 1)

    return weight


def keeps_distinct(line: Line, l: int) -> bool:
    """Everybody has at least l candidates."""
    return all(len(c) >= l for c in candidates(line).values())


def keeps_ke(line: Line, k: int, e: int) -> bool:
    """Everybody's candidates are at least k and span e."""
    candidates_found = [sorted(map(int, c)) for c in candidates(line).values()]
    return all(len(c) >= k and c[-1] - c[0] >= e for c in candidates_found)


def keeps_entropy(line: Line, l: float) -> bool:
    """Everybody's posterior is as uncertain as among l equally likely values."""
    shares = [list(map(float, b.values())) for b in posterior(line).values()]
    return all(exp(-sum(p * log(p) for p in b)) >= l - 1e-9 for b in shares)
