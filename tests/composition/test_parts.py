"""The theorem of parts, by enumeration: where nobody is in two, each tells what it tells alone."""

from string import ascii_uppercase

import numpy as np
import pytest

from tests.composition.oracle import candidates, posterior, worlds
from tests.composition.random_lines import mixing


def rename_people(line, names):
    """A line about other people."""
    new = dict(zip(ascii_uppercase, names, strict=False))
    new |= {old.lower(): other.lower() for old, other in new.items()}
    return [
        [("".join(new[p] for p in people), values) for people, values in groups] for groups in line
    ]


def side_by_side(*parts):
    """Versions of several parts as versions of one table; a part may end before others."""
    number = max(map(len, parts))
    return [[group for part in parts for group in (*part[n : n + 1], [])[0]] for n in range(number)]


def two_parts(seed):
    """Two small lines whose people, or some of them, are the same."""
    rng = np.random.default_rng(seed)
    first, other = mixing(rng, people=5), mixing(rng, people=5)
    return first, rename_people(other, ascii_uppercase[10:])


@pytest.mark.parametrize("seed", range(60))
def test_where_nobody_is_in_two_parts_each_tells_what_it_tells_alone(seed):
    parts = two_parts(seed)
    whole = side_by_side(*parts)
    alone = [posterior(part) for part in parts]
    assert posterior(whole) == alone[0] | alone[1]
    assert candidates(whole) == candidates(parts[0]) | candidates(parts[1])
    numbers = [len(list(worlds(part))) for part in parts]
    assert len(list(worlds(whole))) == numbers[0] * numbers[1]


def test_who_is_let_into_another_part_is_told_by_both():
    """Each part keeps three values by itself, and nobody else left or came."""
    stays = [[("ABC", "123")], [("ABc", "123")]]
    comes = [[("DEF", "345")], [("DEF", "345"), ("CGH", "367")]]
    assert {u: len(values) for u, values in candidates(stays).items()} == dict.fromkeys("ABC", 3)
    assert {u: len(values) for u, values in candidates(comes).items()} == dict.fromkeys("DEFCGH", 3)
    assert candidates(side_by_side(stays, comes))["C"] == {"3"}
    withheld = [comes[0], comes[0]]
    assert len(candidates(side_by_side(stays, withheld))["C"]) == 3
