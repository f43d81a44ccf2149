"""Expected widths against averages over all worlds, all sets of rows, and all queries."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.aimed.dealt import DealtValues
from sfumato.tasks.partitions.aimed.queries import queries_of
from sfumato.tasks.partitions.aimed.widths import (
    chance_of_too_few,
    group_widths,
    log_choose,
    mean_widths,
)
from tests.aimed.tables import sets, table, windows

WAGES = st.lists(st.integers(0, 9), min_size=2, max_size=6)


def width(values, hits):
    """Return how far the sum of so many of some values is undetermined, without any formula."""
    sums = [sum(chosen) for chosen in combinations(values, hits)]
    return max(sums) - min(sums)


def brute(groups, rows, hits):
    """The mean width over all ways to select rows, which are in groups by position."""
    positions = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    positions = np.append(positions, np.full(rows - len(positions), -1))
    widths = [
        sum(
            width(group, int((positions[list(chosen)] == g).sum()))
            for g, group in enumerate(groups)
        )
        for chosen in combinations(range(rows), hits)
    ]
    return np.mean(widths)


def widths_of(groups):
    values = np.array([v for group in groups for v in sorted(group)], dtype=np.float64)
    bounds = np.append(0, np.cumsum([len(group) for group in groups]))
    return group_widths(values, bounds, len(values))


def test_the_width_of_a_group_is_that_of_the_papers_example():
    widths = widths_of([[65, 70, 75]])
    assert widths.expected_width(np.arange(4)).tolist() == [
        0,
        10,
        10,
        0,
    ]  # SUM 65..75, 135..145, 210


@given(st.lists(WAGES, min_size=1, max_size=2), st.data())
@settings(max_examples=40)
def test_expected_widths_are_means_over_all_sets_of_rows(groups, data):
    inside = sum(map(len, groups))
    rows = data.draw(st.integers(inside, inside + 2))
    hits = data.draw(st.integers(0, rows))
    expected = widths_of(groups).expected_among(rows, np.array([hits]))[0]
    assert expected == pytest.approx(brute(groups, rows, hits))


@given(WAGES, st.integers(0, 6))
@settings(max_examples=30)
def test_a_part_whose_values_are_dealt_is_the_mean_over_all_worlds(wages, hits):
    """The groups depend on the multiset; who is in which is a matter of chance."""
    wages, hits = sorted(wages), min(hits, len(wages))
    half = len(wages) // 2
    groups = [wages[:half], wages[half:]]
    worlds = set(permutations([0] * half + [1] * (len(wages) - half)))
    widths = [
        sum(
            width(group, sum(1 for position in world[:hits] if position == g))
            for g, group in enumerate(groups)
        )
        for world in worlds
    ]
    expected = widths_of(groups).expected_width(np.array([hits]))[0]
    assert expected == pytest.approx(np.mean(widths))


def test_large_groups_are_selected_from_in_proportion():
    rng = np.random.default_rng(1)
    values = np.sort(rng.integers(0, 1000, 400)).astype(float)
    widths = group_widths(values, np.array([0, 200, 400]), 400)
    widths_of_draws = []
    for _ in range(200):
        chosen = rng.choice(400, 120, replace=False)
        hits = [(chosen < 200).sum(), (chosen >= 200).sum()]
        parts = values[:200], values[200:]
        ends = zip(parts, hits, strict=True)
        widths_of_draws.append(
            sum(group[len(group) - h :].sum() - group[:h].sum() for group, h in ends)
        )
    assert widths.expected_width(np.array([120]))[0] == pytest.approx(
        np.mean(widths_of_draws), rel=0.01
    )


def test_the_mean_of_hands_is_the_mean_of_their_widths():
    hands = [widths_of([[1, 5, 9], [2, 2]]), widths_of([[0, 4], [7, 8, 8]])]
    hits = np.arange(6)
    mean = np.mean([hand.expected_width(hits) for hand in hands], axis=0)
    assert mean_widths(hands).expected_width(hits) == pytest.approx(mean)


def test_a_score_is_the_mean_over_levels_and_windows_of_the_width_of_an_average():
    ages, wages = [20, 20, 21, 23, 25, 25], [1, 8, 3, 3, 9, 4]
    queries = queries_of(table(ages, wages), [windows(1, 4), sets(2)])
    widths = widths_of([sorted(wages)])
    by_level = []
    for span in (1, 4):
        hits = [sum(low <= age <= low + span for age in ages) for low in sorted(set(ages))]
        by_level.append(np.mean([widths.expected_width(np.array([h]))[0] / h for h in hits]))
    by_level.append(widths.expected_width(np.array([2]))[0] / 2)
    cost = queries.cost(widths, queries.hits(np.arange(6)))
    assert cost == pytest.approx(np.mean(by_level))
    assert queries.cost(None, []) == float("inf")


@given(WAGES, st.integers(1, 5), st.integers(1, 4), st.integers(0, 6))
@settings(max_examples=60)
def test_the_chance_of_too_few_values_is_never_understated(wages, rows, k, e):
    rows = min(rows, len(wages))
    values, counts = np.unique(wages, return_counts=True)
    hands = list(combinations(sorted(wages), rows))
    narrow = sum(max(hand) - min(hand) < e for hand in hands) / len(hands)
    lost = sum(max(hand) - min(hand) < e or len(set(hand)) < k for hand in hands) / len(hands)
    chance = chance_of_too_few(values, counts, rows, k, e)
    assert chance >= lost - 1e-9
    if k == 1:
        assert chance == pytest.approx(narrow)


def test_ways_to_choose_are_counted():
    assert np.exp(log_choose(5, np.arange(-1, 7))) == pytest.approx([0, 1, 5, 10, 10, 5, 1, 0])


def test_hands_are_dealt_from_one_multiset():
    units = np.arange(12) * 10
    dealt = DealtValues(units, 2, 10, seeded_keys(1), 12)
    assert dealt.widths(12).rows == 12
    assert dealt.widths(6) is dealt.widths(6)
    assert dealt.widths(1) is None  # one value is not two
    assert dealt.allows(12) and not dealt.allows(1)
