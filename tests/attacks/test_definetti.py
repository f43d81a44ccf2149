"""deFinetti's attack: the figures of algorithms D5, calibrated beliefs, and nothing to learn."""

from fractions import Fraction
from itertools import permutations
from math import prod
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.attacks.learning import definetti, matching
from tests.attacks.test_attacks import draw_correlated, make_release


def guess(folder, people, l):
    score, _ = definetti.attack(make_release(folder, people, l=l))
    return score


def draw_shifted(rng, people, strength):
    """People of four values, the first likeliest; two quasi-identifiers are normal about them."""
    likely = 1 / np.arange(1, 5) ** 0.3
    value = rng.choice(4, people, p=likely / likely.sum())
    coordinates = value[:, None] * strength + rng.normal(size=(people, 2))
    a, b = np.clip((coordinates + 2) / (3 * strength + 4) * 600, 0, 599).astype(int).T
    return {"a": a, "b": b, "c": np.zeros(people, dtype=int), "s": value}


@pytest.mark.parametrize(
    ("strength", "l", "share"),
    [(1.15, 2, 0.86), (1.15, 3, 0.65), (1.41, 2, 0.92), (1.41, 3, 0.77)],
)
def test_groups_teach_who_has_which_value_where_it_goes_with_who_people_are(
    strength, l, share, tmp_path
):
    """Moderate and strong correlation of D5, which names the figures and not the people.

    Two strengths are chosen here, and meet four figures.
    """
    score = guess(tmp_path, draw_shifted(np.random.default_rng(3), 4000, strength), l)
    assert score.share == pytest.approx(share, abs=0.02)
    assert score.references["from the group alone"] == pytest.approx(1 / l, abs=0.01)


@pytest.mark.parametrize("l", [2, 3])
def test_nothing_is_learned_where_values_go_with_nobody(l, tmp_path):
    """The first row of D5: one in two, one in three; as often as by the group alone."""
    people = draw_correlated(np.random.default_rng(9), 4000, 0.0)
    score = guess(tmp_path, people, l)
    assert score.share == pytest.approx(1 / l, abs=0.02)
    assert score.share == pytest.approx(score.references["from the group alone"], abs=0.02)


@pytest.mark.parametrize("strength", [0.3, 0.6])
def test_beliefs_are_met_as_often_as_they_say(strength, tmp_path):
    """Quasi-identifiers are drawn apart, given the value: naive Bayes is the truth."""
    people = draw_correlated(np.random.default_rng(8), 4000, strength)
    learned = definetti._learn(make_release(tmp_path, people, l=3))
    cells = np.arange(len(learned.classes.codes) * 4)
    own = np.zeros(len(cells))
    own[learned.own.cells] = learned.own.people
    belief, _ = learned.belief.in_values(cells)
    number = np.repeat(own.reshape(-1, 4).sum(axis=1), 4)
    band = np.minimum((belief * 5).astype(int), 4)
    weights_and_bands = (number * belief, own, number)
    believed, met, people_in = (np.bincount(band, weights, 5) for weights in weights_and_bands)
    assert people_in.min() > 200
    np.testing.assert_allclose(met / people_in, believed / people_in, atol=0.05)


GROUP = st.lists(st.integers(1, 2), min_size=1, max_size=3)


@given(st.lists(GROUP, min_size=1, max_size=3), st.integers(0, 99))
def test_small_groups_are_believed_as_all_ways_to_give_their_values(groups, seed):
    """Against every order of a group's values, in fractions; classes are of one or two people."""
    rng = np.random.default_rng(seed)
    counts = [np.bincount(rng.integers(0, 3, sum(members))) for members in groups]
    counts = [count[count > 0] for count in counts]
    sizes = tuple(np.array([len(item) for item in parts]) for parts in (groups, counts))
    weight = rng.integers(1, 9, int((sizes[0] * sizes[1]).sum())).astype(float)
    arguments = np.concatenate(groups), np.concatenate(counts), sizes
    expected, position = [], 0
    for people, count in zip(groups, counts, strict=True):
        part = weight[position : position + len(people) * len(count)].reshape(len(people), -1)
        expected.append(by_all_orders(people, count, part))
        position += part.size
    for large in (0, len(weight) + 1):
        with patch.object(matching, "_LARGE", large):
            matches = matching.match_small_groups(np.zeros_like(weight), weight, *arguments)
            np.testing.assert_allclose(matches, np.concatenate(expected), rtol=1e-12)


def by_all_orders(people, count, weight):
    """Expected people of each class with each value."""
    rows = [row for row, number in enumerate(people) for _ in range(number)]
    values = [value for value, number in enumerate(count) for _ in range(number)]
    weights = np.full(weight.shape, Fraction(0))
    for order in {*permutations(values)}:
        way = prod(Fraction(int(weight[cell])) for cell in zip(rows, order, strict=True))
        for cell in zip(rows, order, strict=True):
            weights[cell] += way
    return (weights / (weights.sum() / len(rows))).astype(float).ravel()


def test_large_groups_are_left_as_they_were_fitted():
    likelihood, people, count = np.ones(18), np.array([5, 4]), np.ones(9, dtype=int)
    arguments = people, count, (np.array([2]), np.array([9]))
    fitted = np.arange(18.0)
    assert matching.match_small_groups(fitted, likelihood, *arguments).tolist() == fitted.tolist()
