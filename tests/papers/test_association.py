"""Joined tables about a person's sensitive value: at most β, however many groups cover it.

Source: Wang, Ambiguity. Worlds are enumerated: of each group a set of as many combinations as it
has rows, and an assignment of its sensitive values to them.
"""

import itertools
from collections import Counter
from fractions import Fraction

import pytest

GROUPS = [
    ((("a", "b", "c"), ("x", "y")), ("flu", "flu", "cough")),
    ((("a", "d"), ("x",)), ("cough",)),
    ((("a", "b"), ("x", "y", "z")), ("flu", "cancer", "cough", "cough")),
]


def records(group):
    """Every world of a group: the value that each of its combinations has."""
    admitted, values = group
    vectors = list(itertools.product(*admitted))
    for there in itertools.combinations(vectors, len(values)):
        for shuffled in itertools.permutations(values):
            yield dict(zip(there, shuffled, strict=True))


def presence(group):
    admitted, values = group
    return Fraction(len(values), len(list(itertools.product(*admitted))))


def covering(groups, vector):
    return [g for g in groups if all(v in a for v, a in zip(vector, g[0], strict=True))]


def test_the_associations_of_the_paper():
    alan = ((45, 20, 50, 60), ("M",), (11000, 12000, 23000))
    diseases = ("diabetes", "flu", "diarrhea", "stroke")
    hits, worlds = 0, 0
    for world in itertools.islice(records((alan, diseases)), None):
        worlds += 1
        hits += world.get((45, "M", 11000)) == "diabetes"
    assert Fraction(hits, worlds) == Fraction(4, 48)
    assert Fraction(hits, worlds) / presence((alan, diseases)) == Fraction(1, 4)


@pytest.mark.parametrize("groups", list(itertools.combinations(GROUPS, 2)))
def test_a_value_is_as_likely_as_its_share_of_the_groups(groups):
    """Of worlds in which the person has one record: groups weigh p / (1 - p)."""
    vector = ("a", "x")
    seen, present = Counter(), 0
    for world in itertools.product(*map(records, groups)):
        values = [of_group[vector] for of_group in world if vector in of_group]
        if len(values) == 1:
            seen[values[0]] += 1
            present += 1
    odds = {g: presence(g) / (1 - presence(g)) for g in covering(groups, vector)}
    total = sum(odds.values())
    for value in {"flu", "cough", "cancer"}:
        shares = {g: Fraction(g[1].count(value), len(g[1])) for g in odds}
        expected = sum(odds[g] / total * shares[g] for g in odds)
        assert Fraction(seen[value], present) == expected
        assert expected <= max(shares.values())
