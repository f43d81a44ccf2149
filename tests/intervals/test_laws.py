"""The laws of shuffled groups, against every world of small ones."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.query.intervals.counts import CountLaw, ShuffledGroups, hypergeometric
from sfumato.tasks.query.intervals.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.spread import (
    Z95,
    ExtremeLaw,
    ExtremeSpread,
    NumberSpread,
    SelectedSize,
    deviations_of,
    extreme_law,
    log_tail,
    missed_of_groups,
)
from sfumato.tasks.query.intervals.sums import LikelySum

SIZE = SelectedSize(100, 10)


@st.composite
def groups(draw):
    """Values of groups, and how many rows of each are selected."""
    groups_drawn = []
    for _ in range(draw(st.integers(1, 2))):
        values = draw(st.lists(st.integers(-3, 4), min_size=1, max_size=4))
        groups_drawn.append((values, draw(st.integers(0, len(values)))))
    return groups_drawn


def worlds(groups_drawn):
    """The values of the selected rows, in every world."""
    shares = [
        [world[:hits] for world in itertools.permutations(values)] for values, hits in groups_drawn
    ]
    for chosen in itertools.product(*shares):
        yield [value for part in chosen for value in part]


def shares(outcomes):
    times = Counter(outcomes)
    return {value: Fraction(number, times.total()) for value, number in times.items()}


def shuffled_groups(groups_drawn, counted_values):
    arrays = [
        [len(values) for values, _ in groups_drawn],
        [sum(value in counted_values for value in values) for values, _ in groups_drawn],
        [hits for _, hits in groups_drawn],
    ]
    return ShuffledGroups(*(np.array(array) for array in arrays))


@given(groups(), st.sets(st.integers(-3, 4)))
def test_counts_have_the_law_of_all_worlds(groups_drawn, counted_values):
    expected = shares(
        sum(value in counted_values for value in world) for world in worlds(groups_drawn)
    )
    law = shuffled_groups(groups_drawn, counted_values).law()
    chances_found = {
        law.first + place: chance for place, chance in enumerate(law.chances) if chance > 1e-9
    }
    assert chances_found.keys() == expected.keys()
    assert all(chances_found[count] == pytest.approx(float(expected[count])) for count in expected)


@given(groups(), st.sets(st.integers(-3, 4)))
def test_the_moments_of_counts_are_those_of_the_law(groups_drawn, counted_values):
    groups_ = shuffled_groups(groups_drawn, counted_values)
    law = groups_.law()
    counts = law.first + np.arange(len(law.chances))
    mean, variance, third = groups_.moments()
    assert mean == pytest.approx((counts * law.chances).sum())
    assert variance == pytest.approx(((counts - mean) ** 2 * law.chances).sum(), abs=1e-9)
    assert third == pytest.approx(((counts - mean) ** 3 * law.chances).sum(), abs=1e-9)


def test_wide_counts_have_the_quantiles_of_the_exact_law():
    rng = np.random.default_rng(0)
    size = rng.integers(3, 60, 600)
    groups_ = ShuffledGroups(
        size, (size * rng.random(600) ** 4).astype(int), (size * rng.random(600)).astype(int)
    )
    law = groups_.law()
    exact = law.quantile(0.025), law.quantile(0.975)
    assert groups_.moments()[1] > 100
    assert groups_.quantiles() == pytest.approx(exact, abs=1)
    assert groups_.quantiles() != exact


def test_quantiles_are_the_least_counts_that_are_not_exceeded():
    law = CountLaw(5, np.array([0.5, 0.3, 0.2]))
    assert [law.quantile(level) for level in (0.1, 0.5, 0.6, 0.8, 0.81, 1.0)] == [5, 5, 6, 6, 7, 7]


def test_the_example_of_the_urn():
    """Ten balls, four of them white, three drawn."""
    ways = [math.comb(4, k) * math.comb(6, 3 - k) for k in range(4)]
    assert hypergeometric(10, 4, 3) == pytest.approx([way / math.comb(10, 3) for way in ways])


@given(groups())
def test_sums_have_the_mean_and_the_variance_of_all_worlds(groups_drawn):
    sums = [sum(world) for world in worlds(groups_drawn)]
    values = [np.array(values, dtype=float) for values, _ in groups_drawn]
    numbers = GroupedNumbers(
        np.array([len(group) for group in values], dtype=float),
        np.array([group.mean() for group in values]),
        np.array([group.var() for group in values]),
        np.zeros(len(values)),
    )
    hits = np.array([hits for _, hits in groups_drawn])
    selected = SelectedOfGroups(np.arange(len(groups_drawn)), hits, np.arange(hits.sum()))
    likely = LikelySum(numbers, selected, 0.0)
    assert likely.middle == pytest.approx(float(np.mean(sums)), abs=1e-9)
    assert likely.variance == pytest.approx(float(np.var(sums)), abs=1e-9)


@given(groups(), st.booleans())
def test_extremes_have_the_law_of_all_worlds(groups_drawn, greatest):
    selected = [(group, hits) for group, hits in groups_drawn if hits]
    if not selected:
        return
    best = max if greatest else min
    expected = shares(best(world) for world in worlds(selected))
    items = sorted(
        (
            (value, len(values), rank, hits)
            for values, hits in selected
            for rank, value in enumerate(sorted(values, reverse=greatest))
        ),
        key=lambda item: (-item[0] if greatest else item[0], item[2]),
    )
    codes, sizes, ranks, hits = (np.array(of_items) for of_items in zip(*items, strict=True))
    law = extreme_law(codes, missed_of_groups(sizes, ranks, hits))
    missed = np.exp(np.append(0.0, law.none))
    chances_found = dict(zip(law.codes.tolist(), missed[:-1] - missed[1:], strict=True))
    assert {c: p for c, p in chances_found.items() if p > 1e-9} == pytest.approx(
        {value: float(share) for value, share in expected.items()}
    )


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8), st.floats(0.1, 6))
def test_an_interval_of_extremes_has_the_values_that_need_no_greater_factor(parts, factor):
    chances = np.array(parts) / sum(parts)
    with np.errstate(divide="ignore"):
        none = np.log(np.maximum(1 - np.cumsum(chances), 0))
    none[-1] = -np.inf
    law = ExtremeLaw(np.arange(len(parts))[::-1], none)
    best, worst = law.interval_places(factor)
    needed = [law.least_factor(place) for place in range(len(parts))]
    assert all(needed[place] <= factor + 1e-9 for place in range(best, worst + 1))
    outside = [*range(best), *range(worst + 1, len(parts))]
    assert all(needed[place] >= factor - 1e-9 for place in outside)
    spread = ExtremeSpread(SIZE, law, lambda code: code)
    assert spread.interval(factor) == (len(parts) - 1 - worst, len(parts) - 1 - best)
    scores = [spread.score(float(len(parts) - 1 - place)) for place in range(len(parts))]
    assert scores == needed


@given(st.floats(0.01, 500))
def test_far_tails_are_told_in_logarithms(z):
    assert deviations_of(log_tail(z)) == pytest.approx(z, rel=1e-4, abs=1e-6)


def test_the_factor_one_is_the_law_itself():
    assert pytest.approx(0.025) == math.exp(log_tail(Z95))
    spread = NumberSpread(SIZE, 10.0, 2.0, 4.0)
    assert spread.interval(1.0) == (8.0, 14.0)
    assert [spread.score(truth) for truth in (10.0, 14.0, 6.0)] == [0.0, 1.0, 2.0]
    assert NumberSpread(SIZE, 10.0, 0.0, 1.0).score(9.0) == math.inf
