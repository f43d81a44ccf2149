"""Tests of claims: they find what is there, find nothing where nothing is, and are Wilcoxon's."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared.claim_tests import (
    Alike,
    Below,
    BelowAtLevel,
    EverywhereBelow,
    Mostly,
    Never,
    Slope,
    Trend,
)
from sfumato.tasks.experiments.shared.experiment import Point, Results, Weight
from sfumato.tasks.experiments.shared.ledger import ALPHA, Entry, holm
from sfumato.tasks.experiments.shared.statistics import (
    location,
    log_ratios,
    share_interval,
    signed_ranks,
)
from tests.experiments.made import results

SEEDS = 13
LEAST = 2.0**-SEEDS  # the smallest p-value of so many seeds
NOISE = 1 + 0.01 * np.random.default_rng(1).random((SEEDS, 4))
RISING = NOISE * [1, 2, 3, 4]


def p(test, results):
    evidence = test.weigh(results, "d")
    return evidence.agree, evidence.disagree


@pytest.mark.parametrize(
    ("test", "series"),
    [
        (Below("m", "a", "b"), {"a": NOISE, "b": 2 * NOISE}),
        (Below("m", "a", "b", factor=2), {"a": NOISE, "b": 2.5 * NOISE}),
        (Below("m", "a", "b", levels=(3,)), {"a": NOISE, "b": NOISE * [0.1, 0.1, 0.1, 2]}),
        (Below("m", "a", "b", factor=1 / 1.05), {"a": NOISE, "b": 0.99 * NOISE}),
        (Below("m", "a", "b"), {"a": 0 * NOISE, "b": NOISE}),
        (EverywhereBelow("m", "a", "b"), {"a": NOISE, "b": 2 * NOISE}),
        (BelowAtLevel("m", "a", 0, 3), {"a": RISING}),
        (Trend("m", "a", rises=True), {"a": RISING}),
        (Trend("m", "a", rises=False), {"a": -RISING}),
        (Trend("m", "a", rises=True, levels=(0, 1)), {"a": NOISE * [1, 2, 0.1, 0.1]}),
        (Alike("m", "a", "b", within=1.2), {"a": NOISE, "b": 1.1 * NOISE}),
        (Alike("m", "a", "a", within=1.2), {"a": NOISE * [1, 9, 9, 1.1]}),
    ],
)
def test_what_holds_in_every_seed_agrees(test, series):
    agree, disagree = p(test, results(**series))
    assert agree == pytest.approx(LEAST)
    assert disagree > 0.5


@pytest.mark.parametrize(
    ("test", "series"),
    [
        (Below("m", "a", "b"), {"a": 2 * NOISE, "b": NOISE}),
        (Below("m", "a", "b", factor=2), {"a": NOISE, "b": 1.5 * NOISE}),
        (BelowAtLevel("m", "a", 3, 0), {"a": RISING}),
        (Trend("m", "a", rises=False), {"a": RISING}),
    ],
)
def test_what_fails_in_every_seed_disagrees(test, series):
    agree, disagree = p(test, results(**series))
    assert disagree == pytest.approx(LEAST)
    assert agree > 0.5


def test_one_level_refutes_what_is_said_of_all():
    """By Bonferroni's correction over four levels."""
    agree, disagree = p(EverywhereBelow("m", "a", "b"), results(a=NOISE, b=NOISE * [2, 2, 2, 0.5]))
    assert disagree == pytest.approx(4 * LEAST)
    assert agree > 0.5


def test_alike_is_refuted_by_a_large_difference_on_either_side():
    for factor in (0.5, 2):
        agree, disagree = p(Alike("m", "a", "b", within=1.2), results(a=NOISE, b=factor * NOISE))
        assert disagree == pytest.approx(2 * LEAST)
        assert agree > 0.5


@pytest.mark.parametrize(
    ("test", "series"),
    [
        (Below("m", "a", "b"), {"a": NOISE, "b": 1.03 * NOISE}),
        (Below("m", "a", "b"), {"a": 1.03 * NOISE, "b": NOISE}),
        (BelowAtLevel("m", "a", 0, 3), {"a": NOISE * [1, 9, 9, 1.02]}),
        (Trend("m", "a", rises=True), {"a": NOISE * [1, 2, 2.1, 1.2]}),
    ],
)
def test_an_effect_below_the_least_is_no_effect_either_way(test, series):
    weight = test.weigh(results(**series), "d")
    assert weight.neither == pytest.approx(LEAST)
    assert min(weight.agree, weight.disagree) > 0.5
    assert entry(weight).outcome == "no effect"


def entry(weight):
    return Entry(None, None, weight, weight.p)


@given(st.floats(0.5, 2), st.integers(0, 99))
def test_no_two_outcomes_of_a_ratio_are_significant_at_once(factor, seed):
    """A claim, its contrary and no effect exclude each other, whatever is measured."""
    rng = np.random.default_rng(seed)
    noise = np.exp(rng.normal(0, 0.1, (SEEDS, 3)))
    weight = Below("m", "a", "b").weigh(results(a=noise, b=factor * np.ones((SEEDS, 3))), "d")
    sides = sorted((weight.agree, weight.disagree, weight.neither))
    assert sides[1] > ALPHA / 2


def test_the_error_rate_at_the_least_effect_is_that_of_the_test():
    """At a ratio of just 1.05 neither "better" nor "no effect" is true more than by chance."""
    rng, decided = np.random.default_rng(6), 0
    for _ in range(300):
        noise = np.exp(rng.normal(0, 0.1, (SEEDS, 2)))
        weight = Below("m", "a", "b").weigh(results(a=noise, b=np.full((SEEDS, 2), 1.05)), "d")
        decided += weight.agree <= ALPHA
    assert decided <= 28  # 15 are expected, 28 in one of a thousand such tests


def test_effects_are_printed_with_their_intervals():
    effect = Below("m", "a", "b").weigh(results(a=NOISE, b=2 * NOISE), "d").effect
    assert effect.words == "b / a: 2 (95 %: 2 to 2)"
    few = Below("m", "a", "b").weigh(results(a=NOISE[:2], b=2 * NOISE[:2]), "d").effect
    assert few.words == "b / a: 2 (extremes: 2 to 2)"
    assert (
        Below("m", "a", "c").weigh(results(a=NOISE), "d").numbers == "c / a: nothing was measured"
    )


@settings(max_examples=20)
@given(st.lists(st.integers(-50, 50), min_size=6, max_size=9, unique=True))
def test_the_interval_is_what_signed_ranks_do_not_reject(values):
    values = np.array(values, dtype=float)
    middle, low, high = location(values)
    assert low <= middle <= high
    for within, beyond in ((low + 0.125, low - 0.125), (high - 0.125, high + 0.125)):
        assert min(signed_ranks(values - within)) > 0.025
        assert min(signed_ranks(values - beyond)) <= 0.025


def test_a_share_has_the_interval_of_clopper_and_pearson():
    """Seven of twenty: the bounds of tables of 1934."""
    assert share_interval(20, 7) == pytest.approx((0.154, 0.592), abs=0.0005)
    assert share_interval(20, 0)[0] == 0
    assert share_interval(20, 20)[1] == 1


def test_ratios_to_nothing_count_as_a_thousand():
    low, high = np.array([[0.0, 0.0, 2.0, np.nan]]), np.array([[0.0, 3.0, 0.0, 1.0]])
    thousand = np.log(1000)
    assert log_ratios(low, high)[0, :3].tolist() == pytest.approx([0, thousand, -thousand])
    assert np.isnan(log_ratios(low, high)[0, 3])


def test_every_claim_can_be_decided_beside_all_others():
    """By thirteen seeds that all agree, with Holm's correction."""
    claims = sum(len(experiment.claims) for experiment in EXPERIMENTS.values())
    assert claims * Weight(LEAST, 1.0, None).p <= ALPHA


def test_nothing_is_found_where_nothing_is():
    rng, decided = np.random.default_rng(5), 0
    for _ in range(200):
        evidence = Below("m", "a", "b").weigh(
            results(a=rng.random((SEEDS, 3)) + 1, b=rng.random((SEEDS, 3)) + 1), "d"
        )
        decided += evidence.p <= 0.05
    assert decided <= 20  # 10 are expected, 20 in one of a thousand such tests


def test_equal_series_are_undecided_and_what_was_not_measured_is_left_out():
    assert p(Below("m", "a", "b"), results(a=NOISE, b=NOISE)) == (1, 1)
    missing = NOISE.copy()
    missing[:, 2] = np.nan
    agree, _ = p(Below("m", "a", "b"), results(a=missing, b=2 * NOISE))
    assert agree == pytest.approx(LEAST)
    assert p(Below("m", "a", "c"), results(a=NOISE, b=NOISE)) == (1, 1)


def test_levels_of_a_seed_are_one_observation():
    """However many levels there are, five seeds decide nothing beside others."""
    agree, _ = p(Below("m", "a", "b"), results(a=np.ones((5, 40)), b=2 * np.ones((5, 40))))
    assert agree == pytest.approx(2.0**-5)


def test_slopes_are_those_of_powers():
    levels = np.array([1, 10, 100])
    points = {
        seed: [Point("d", "a", level, "m", level**1.5 * (1 + seed / 100)) for level in levels]
        for seed in range(SEEDS)
    }
    assert p(Slope("m", "a", 1.4, 1.6), Results(points))[0] == pytest.approx(LEAST)
    assert p(Slope("m", "a", 0.5, 1.1), Results(points))[1] == pytest.approx(2 * LEAST)


def test_one_case_refutes_never():
    def results_of_count(number):
        return Results({0: [Point("d", "a", 1, "n", 100), Point("d", "a", 1, "m", number)]})

    test = Never("n", "m", "a")
    assert p(test, results_of_count(0)) == (pytest.approx(0.95**100), 1)
    assert p(test, results_of_count(1)) == (1, 0)


def test_mostly_is_the_sign_test():
    ones = np.ones((SEEDS, 1))
    assert p(Mostly("m", "a"), results(a=ones))[0] == pytest.approx(LEAST)
    assert p(Mostly("m", "a"), results(a=0 * ones))[1] == pytest.approx(LEAST)


@settings(max_examples=20)
@given(st.lists(st.integers(-6, 6), max_size=8))
def test_signed_ranks_are_wilcoxons_by_brute_force(margins):
    """The share of all sign flips that give a rank sum as large; zeros have ranks and no sign."""
    margins = np.array(margins, dtype=float)
    size = np.abs(margins)
    rank = np.array([(size < number).sum() + ((size == number).sum() + 1) / 2 for number in size])
    signed = rank[margins != 0]
    sums = np.array([signed @ np.array(s) for s in product((0, 1), repeat=len(signed))])
    above = rank[margins > 0].sum()
    ranks = signed_ranks(margins)
    assert ranks[0] == pytest.approx((sums >= above - 1e-9).mean())
    assert ranks[1] == pytest.approx((sums <= above + 1e-9).mean())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holm_is_the_closed_test_by_bonferroni(values):
    """An hypothesis falls where every set of hypotheses that has it falls by Bonferroni's test."""
    sets = [subset for subset in product((False, True), repeat=len(values)) if any(subset)]
    bonferroni = {
        subset: sum(subset) * min(v for v, i in zip(values, subset, strict=True) if i)
        for subset in sets
    }
    closed = [
        min(1, max(bonferroni[subset] for subset in sets if subset[place]))
        for place in range(len(values))
    ]
    assert holm(values) == pytest.approx(closed)
