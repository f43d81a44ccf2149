"""Chances of rows of a person, against all worlds of small groups and exact counts."""

from fractions import Fraction
from math import factorial
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.query.bounds.related import HitGroups
from sfumato.tasks.query.bounds.related_chances import chances_of, numbers_of_rows
from tests.related.test_bounds import DRAWN, as_arrays


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_expected_number_of_people_is_their_mean_over_all_worlds(times):
    chances = chances_of(times, as_arrays(DRAWN))
    for place, (group, people, hit) in enumerate(DRAWN):
        counted = [
            sum(sum(world[row] == person for row in hit) >= times for person in range(people))
            for world in group.worlds
        ]
        mean = Fraction(sum(counted), len(counted))
        assert people * chances[place] == pytest.approx(float(mean), abs=1e-11), DRAWN[place]


def test_the_expected_number_of_rows_is_their_mean_over_all_worlds():
    """And so are sums: each row is anybody's alike, whatever the most rows of one person are."""
    for group, people, hit in DRAWN[:800]:
        counted = [sum(world[row] < people for row in hit) for world in group.worlds]
        mean = Fraction(sum(counted), len(counted))
        assert mean == Fraction(len(hit) * people, group.people)


def power(series, times, rows):
    """A power of a series of fractions, up to a number of rows, by the school's method."""
    product = [Fraction(1)] + [Fraction(0)] * rows
    for _ in range(times):
        product = [
            sum(product[i] * series[n - i] for i in range(n + 1) if n - i < len(series))
            for n in range(rows + 1)
        ]
    return product


def exact_numbers(people, rows, most):
    """The chances of numbers of rows, as differences of exact counts of worlds."""
    worlds = []
    for limit in (most, most - 1):
        series = [Fraction(1, factorial(number)) for number in range(limit + 1)]
        others = power(series, people - 1, rows)
        own = [series[n] * others[rows - n] if n <= limit else 0 for n in range(most + 1)]
        worlds.append(own)
    counts = [first - second for first, second in zip(*worlds, strict=True)]
    return [count / sum(counts) for count in counts]


CASES = [(2, 3, 2), (12, 20, 4), (9, 30, 25), (20, 12, 1), (5, 40, 8), (30, 18, 3), (7, 7, 1)]
CASES += [(6, 21, 4), (25, 40, 2), (10, 10, 10), (40, 79, 2), (3, 60, 58)]


@pytest.mark.parametrize("case", CASES)
def test_larger_groups_have_the_counts_of_their_worlds(case):
    exact = list(map(float, exact_numbers(*case)))
    assert numbers_of_rows(*case) == pytest.approx(exact, rel=1e-10, abs=1e-15)


@given(st.integers(1, 400), st.integers(0, 60), st.data())
def test_chances_add_up_and_give_everybody_the_same_share(people, rows, data):
    least = -(-rows // people)
    most = data.draw(st.integers(least, rows))
    chances = np.array(numbers_of_rows(people, rows, most))
    assert chances.sum() == pytest.approx(1)
    assert (chances >= 0).all()
    assert (chances * np.arange(len(chances))).sum() == pytest.approx(rows / people)


def test_more_rows_are_less_likely():
    random = Random(7)
    for _ in range(200):
        people, rows = random.randint(1, 30), random.randint(0, 60)
        most = random.randint(-(-rows // people), rows)
        hit = random.randint(0, rows)
        hits = HitGroups(*(np.array([n]) for n in (people, rows, most, people, hit)))
        (low, high), last = (end[0] for end in hits.shared_rows()), 1.0
        for times in range(1, 5):
            (chance,) = chances_of(times, hits)
            assert chance <= last + 1e-12
            last = chance
            least, greatest = (end[0] for end in hits.people_with(times))
            assert least - 1e-9 <= people * chance <= greatest + 1e-9
        assert low == high == hit


@pytest.mark.parametrize(
    ("people", "rows", "most"),
    [(700, 1_400, 2), (700, 1_399, 2), (700, 1_398, 2), (300, 2_000, 7), (1_500, 1_999, 500)],
)
def test_worlds_that_are_a_tiny_share_of_all_are_counted(people, rows, most):
    chances = np.array(numbers_of_rows(people, rows, most))
    assert chances.sum() == pytest.approx(1)
    assert (chances * np.arange(len(chances))).sum() == pytest.approx(rows / people)


def test_one_row_short_of_all():
    """One of 700 people has one row; the others have two."""
    assert numbers_of_rows(700, 1_399, 2) == pytest.approx([0, 1 / 700, 699 / 700], abs=1e-12)


def test_very_large_groups_have_rows_that_are_anybodys():
    hits = HitGroups(*(np.array([n, n]) for n in (50, 4_000, 3_000, 50, 100)))
    assert chances_of(1, hits) == pytest.approx([1 - 0.98**100] * 2)
    assert chances_of(2, hits) == pytest.approx([1 - 0.98**100 - 100 * 0.02 * 0.98**99] * 2)
