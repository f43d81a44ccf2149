"""Bounds of questions about people and their related rows, against all worlds of small groups."""

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from sfumato.tasks.query.bounds.related import (
    HitGroups,
    HitValues,
    mean_of_hits,
    sum_of_hits,
)
from tests.related.all_worlds import SmallGroup


def draw_questions(seed: int, many: int):
    """Groups with the values of rows as texts of numbers, and the hit people and rows of each."""
    random = Random(seed)
    for _ in range(many):
        people, rows = random.randint(1, 4), random.randint(0, 5)
        numbers = tuple(str(random.randint(-3, 6)) for _ in range(rows))
        group = SmallGroup(people, numbers, tuple(random.randrange(people) for _ in range(rows)))
        hit = [row for row in range(rows) if random.random() < 0.6]
        yield group, random.randint(0, people), hit


def as_arrays(questions):
    columns = [
        (g.people, len(g.values), max(g.numbers(g.owners)), people, len(hit))
        for g, people, hit in questions
    ]
    return HitGroups(*np.array(columns, dtype=np.int64).reshape(-1, 5).T)


def values_of(questions):
    rows = sorted((i, int(g.values[row])) for i, (g, _, hit) in enumerate(questions) for row in hit)
    group, units = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return HitValues(group, units, len(questions))


def of_hit_people(group, people, hit, owners):
    """The hit rows of hit people, who are the first ones."""
    return [row for row in hit if owners[row] < people]


def ends(numbers):
    numbers = [n for n in numbers if n is not None]
    return (min(numbers), max(numbers)) if numbers else None


DRAWN = list(draw_questions(3, 2_500))


def test_counts_of_rows_are_attained():
    least, greatest = as_arrays(DRAWN).shared_rows()
    for i, (group, people, hit) in enumerate(DRAWN):
        counted = ends(len(of_hit_people(group, people, hit, w)) for w in group.worlds)
        assert (least[i], greatest[i]) == counted, DRAWN[i]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_people_with_so_many_rows_are_attained(times):
    least, greatest = as_arrays(DRAWN).people_with(times)
    for i, (group, people, hit) in enumerate(DRAWN):
        counted = ends(
            sum(sum(w[row] == person for row in hit) >= times for person in range(people))
            for w in group.worlds
        )
        assert (least[i], greatest[i]) == counted, DRAWN[i]


def test_numbers_of_rows_that_worlds_have():
    choices = as_arrays(DRAWN).choices()
    for i, (group, people, hit) in enumerate(DRAWN):
        possible = {len(of_hit_people(group, people, hit, w)) for w in group.worlds}
        two = (choices.first, choices.second)
        assert {n for low, high in two for n in range(low[i], high[i] + 1)} == possible, DRAWN[i]


@pytest.mark.parametrize("many", [1, 2])
def test_sums_and_means_are_attained(many):
    """Also of two groups together, whose worlds are all pairs."""
    compared = 0
    for first in range(0, 600, many):
        questions = DRAWN[first : first + many]
        sums, means = set(), set()
        each = [
            {
                tuple(int(g.values[row]) for row in of_hit_people(g, people, hit, w))
                for w in g.worlds
            }
            for g, people, hit in questions
        ]
        for worlds in product(*each):
            rows = [value for world in worlds for value in world]
            if rows:
                sums.add(sum(rows))
                means.add(Fraction(sum(rows), len(rows)))
        values, choices = values_of(questions), as_arrays(questions).choices()
        assert sum_of_hits(values, choices) == ends(sums), questions
        assert mean_of_hits(values, choices) == ends(means), questions
        compared += bool(sums)
    assert compared > 200


def test_the_toy_of_two_groups():
    """Six of eight are women, and so on: the specification's table for the numbers hidden."""
    people, rows, most = np.array([4, 4]), np.array([5, 7]), np.array([2, 3])
    women, gout = np.array([2, 2]), np.array([2, 2])
    stays = HitGroups(people, rows, most, women, rows)
    assert [int(end.sum()) for end in stays.shared_rows()] == [2, 10]
    with_gout = HitGroups(people, rows, most, people, gout)
    assert [int(end.sum()) for end in with_gout.people_with(1)] == [2, 4]
