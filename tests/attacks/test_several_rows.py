"""Attackers who know all rows of a person: vectors, every way to shuffle, and a release."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import count_people
from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.attacks.group.several_rows import beliefs_about, chance_of_none
from tests.attacks.test_attacks import of_numbers

ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4),
    min_size=1,
    max_size=2,
)
"""Groups of rows: whose each is, and its value."""


def people(groups_of, groups):
    """The people of groups of (person, value), persons numbered without gaps."""
    numbers = {
        person: i for i, person in enumerate(sorted({p for rows in groups for p, _ in rows}))
    }
    values = sorted({v for rows in groups for _, v in rows})
    counts = of_numbers(groups_of, [sorted(v for _, v in rows) for rows in groups])
    group = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    person = np.array([numbers[p] for rows in groups for p, _ in rows])
    codes = np.array([values.index(v) for rows in groups for _, v in rows])
    return count_people(group, person, Groups(counts.sizes, {"s": counts}), {"s": codes})


def ways(groups):
    """Every way to give the rows of each group its values: the values of each person, by way."""
    if not groups:
        yield {}
        return
    rows = groups[0]
    for shuffled in permutations([v for _, v in rows]):
        for rest in ways(groups[1:]):
            values_of_person = {p: set(values) for p, values in rest.items()}
            for (p, _), v in zip(rows, shuffled, strict=True):
                values_of_person.setdefault(p, set()).add(v)
            yield values_of_person


def test_two_of_four_rows_have_a_value_of_half_of_them_with_five_sixths(groups_of):
    """Two of four values are 1: both rows of somebody miss it with 1/6, and one row with 1/2."""
    groups = [[(0, 1), (0, 0), (1, 1), (2, 2)]]
    beliefs = beliefs_about(people(groups_of, groups), "s")
    assert beliefs.belief.tolist() == pytest.approx([5 / 6, 1 / 2, 1 / 4])
    assert beliefs.guessed.tolist() == [1, 1, 0]
    assert beliefs.alone.tolist() == [1 / 2, 1, 0]
    assert beliefs.hits() == pytest.approx(2 / 3)


def test_whoever_has_more_rows_than_others_have_values_surely_has_one(groups_of):
    groups = [[(0, 1), (0, 1), (1, 0)]]
    beliefs = beliefs_about(people(groups_of, groups), "s")
    assert beliefs.share_above(1.0) == 1 / 2
    assert beliefs.belief[0] == 1.0


def test_what_is_all_but_certain_is_not_certain(groups_of):
    """Of 60 rows with 30 of each value, 30 rows of somebody could all have the other one."""
    rows = [(0, i % 2) for i in range(30)] + [(1, i % 2) for i in range(30)]
    beliefs = beliefs_about(people(groups_of, [rows]), "s")
    assert beliefs.share_above(1.0) == 0
    assert beliefs.share_above(0.999999) == 1


@settings(deadline=None)
@given(groups=ROWS)
def test_beliefs_are_the_share_of_all_ways_to_shuffle(groups_of, groups):
    beliefs = beliefs_about(people(groups_of, groups), "s")
    every = list(ways(groups))
    own = {p: {v for rows in groups for q, v in rows if p == q} for rows in groups for p, _ in rows}
    for place, person in enumerate(sorted(own)):
        has = Counter(v for way in every for v in way[person])
        believed = {v: Fraction(n, len(every)) for v, n in has.items()}
        best = max(believed.values())
        top = {v for v, belief in believed.items() if belief == best}
        assert beliefs.belief[place] == pytest.approx(float(max(believed[v] for v in own[person])))
        assert beliefs.guessed[place] == pytest.approx(len(top & own[person]) / len(top))
        certain = any(believed[v] == 1 for v in own[person])
        assert bool(beliefs.belief[place] == 1.0) is certain


@given(
    rows=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30), st.integers(1, 30))).map(
        lambda chances: [(n, min(c, n), min(r, n)) for n, c, r in chances]
    )
)
def test_the_chance_of_none_is_a_product_of_fractions(rows):
    size, count, draws = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    chances = chance_of_none(size, count, draws).tolist()
    for (n, c, r), chance in zip(rows, chances, strict=True):
        expected = Fraction(1)
        for i in range(r):
            expected *= Fraction(max(n - c - i, 0), n - i)
        assert chance == pytest.approx(float(expected), rel=1e-9)
        assert (chance == 0) is (expected == 0)
