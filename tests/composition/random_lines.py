"""Small random lines: what is shown of people whose values never change."""

from collections.abc import Mapping

import numpy as np

from tests.composition.lines import LETTERS
from tests.composition.oracle import Group, Line


def _group(people: list[int], value: Mapping[int, int], ghosts: set[int]) -> Group:
    letters = [LETTERS[p].lower() if p in ghosts else LETTERS[p] for p in people]
    return "".join(letters), "".join(sorted(str(value[p]) for p in people))


def mixing(rng: np.random.Generator, people: int = 8, values: int = 3) -> Line:
    """Whole groups of the version before and parts of others put together, mostly one part each."""
    value = {p: int(rng.integers(1, values + 1)) for p in range(people)}
    blocks = [[p] for p in rng.permutation(people).tolist()]
    blocks = _together(rng, blocks[: int(rng.integers(3, people + 1))], most=9)
    line = []
    seen: set[int] = set()
    for _ in range(int(rng.integers(2, 4))):
        ghosts = {p for p in seen if rng.random() < 0.2}
        line.append([_group(block, value, ghosts) for block in blocks])
        seen |= {p for block in blocks for p in block}
        others = [[p for p in range(people) if p not in {q for b in blocks for q in b}]]
        blocks = _next(rng, blocks, others[0])
    return line


def _next(rng: np.random.Generator, blocks: list[list[int]], others: list[int]) -> list[list[int]]:
    """Some blocks as they are, some cut, some gone, and newcomers; then some put together."""
    parts = []
    for block in [*blocks, others]:
        order = rng.permutation(block).tolist() if block else []
        size = int(rng.integers(0, len(order) + 1)) if rng.random() < 0.5 else len(order)
        parts += [part for part in (order[:size], order[size:]) if part and rng.random() < 0.8]
    return _together(rng, parts, most=2) or blocks


def _together(rng: np.random.Generator, blocks: list[list[int]], most: int) -> list[list[int]]:
    groups: list[list[int]] = []
    number = -(-len(blocks) // most) if blocks else 0
    number = int(rng.integers(number, len(blocks) + 1)) if blocks else 0
    for place, block in enumerate(blocks):
        if place < number:
            groups.append(list(block))
        else:
            groups[int(rng.integers(number))].extend(block)
    return groups


def holding(rng: np.random.Generator, values: str, people: int) -> tuple[Line, dict[str, int]]:
    """People with a slot each, re-mixed in each version into groups of one holder of each slot.

    Returns:
        the line, and each person's slot.
    """
    slot = {p: int(rng.integers(len(values))) for p in range(people)}
    slot |= dict(enumerate(range(len(values))))  # somebody holds each
    holders = [[p for p in slot if slot[p] == s] for s in range(len(values))]
    line = []
    for _ in range(int(rng.integers(2, 4))):
        columns = [rng.permutation(column).tolist() for column in holders]
        groups = list(zip(*columns, strict=False))
        groups = groups[: int(rng.integers(1, len(groups) + 1))]
        line.append([("".join(LETTERS[p] for p in group), values) for group in groups])
    return line, {LETTERS[p]: s for p, s in slot.items()}


def side_by_side(first: Line, other: Line) -> Line:
    """Two lines as one, about different people."""
    moved = [
        [("".join(chr(ord(p) + 13) for p in people), values) for people, values in version]
        for version in other
    ]
    return [[*a, *b] for a, b in zip(first, moved, strict=False)]


def disturb_line(
    rng: np.random.Generator, line: Line, values: str, slots: Mapping[str, int]
) -> Line:
    """The line with some people of its last version exchanged, who bring their values along."""
    *others, last = line
    places = [(g, i) for g, (people, _) in enumerate(last) for i in range(len(people))]
    groups = [list(people) for people, _ in last]
    for _ in range(int(rng.integers(0, 3))):
        (g, i), (h, j) = (places[int(p)] for p in rng.integers(0, len(places), 2))
        groups[g][i], groups[h][j] = groups[h][j], groups[g][i]
    return [*others, [("".join(g), "".join(sorted(values[slots[u]] for u in g))) for g in groups]]
