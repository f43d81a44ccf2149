"""Margins: of every share that there can be, nineteen of twenty samples' margins hold it."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from sfumato.tasks.attacks.records import nearest
from sfumato.tasks.attacks.shared.attack import Score, skipped_attack
from sfumato.tasks.attacks.shared.margins import Margin, margin_of_people, margin_of_tries
from tests.attacks.test_records import target


@pytest.mark.parametrize(("successes", "low", "high"), [(0, 0, 0.3085), (2, 0.0252, 0.5561)])
def test_the_limits_of_the_paper(successes, low, high):
    """Of ten tries: the limits that tables after Clopper and Pearson print."""
    margin = margin_of_tries(successes, 10)
    assert (margin.low, margin.high) == (
        pytest.approx(low, abs=5e-5),
        pytest.approx(high, abs=5e-5),
    )


@pytest.mark.parametrize("tries", [1, 7, 30])
def test_margins_of_tries_hold_every_share(tries):
    margins = [margin_of_tries(successes, tries) for successes in range(tries + 1)]
    for share in np.linspace(0, 1, 101):
        likely = binom.pmf(np.arange(tries + 1), tries, share)
        inside_margin = [margin.low <= share <= margin.high for margin in margins]
        assert likely[inside_margin].sum() >= 0.95


@pytest.mark.parametrize(("tries", "people"), [(1, 4), (7, 12), (20, 23), (30, 200)])
def test_margins_of_people_hold_every_share(tries, people):
    margins = [margin_of_people(successes, tries, people) for successes in range(tries + 1)]
    for there in range(people + 1):
        likely = hypergeom.pmf(np.arange(tries + 1), people, there, tries)
        inside_margin = [margin.low <= there / people <= margin.high for margin in margins]
        assert likely[inside_margin].sum() >= 0.95
    assert margin_of_people(3, people, people) is None


@given(st.lists(st.sampled_from([0, Fraction(1, 3), Fraction(1, 2), 1]), min_size=7, max_size=8))
def test_margins_hold_expected_successes(hits):
    """Every sample of four of them, against the mean of all."""
    exact = float(sum(hits, Fraction(0)) / len(hits))
    samples = list(combinations(hits, 4))
    margins = [margin_of_people(sum(some, Fraction(0)), 4, len(hits)) for some in samples]
    held_count = sum(margin.low <= exact <= margin.high for margin in margins)
    assert held_count >= 0.95 * len(samples)


def test_people_who_are_tried_have_a_margin(monkeypatch):
    """Against the figure of everybody, release after release; a twentieth of these may miss it."""
    rows = [(age, "a", age * 7 % 5) for age in range(60)]
    people = [(age, "a", age * 3 % 5) for age in range(60)]
    (exact,) = nearest.infer(target(rows, people))
    assert exact.margin is None
    monkeypatch.setattr(nearest, "ATTEMPTS", 20)
    monkeypatch.setattr(nearest, "_FEWEST", 20)
    inside_count = 0
    for seed in range(200):
        release = target(rows, people)
        object.__setattr__(release, "digest", str(seed))
        (some,) = nearest.infer(release)
        inside_count += some.margin.low <= exact.share <= some.margin.high
        assert "20 of 60 people" in some.margin.method
    assert inside_count >= binom.ppf(1e-4, 200, 0.95)
    assert inside_count < 200, "margins are no wider than they have to be"


def test_margins_and_what_was_skipped_are_told():
    score = Score("own value", 0.25, {"without": 0.1}, Margin(0.2, 0.3, "ways"))
    assert score.document() == {
        "measure": "own value",
        "share": 0.25,
        "without": 0.1,
        "low": 0.2,
        "high": 0.3,
        "margin": "ways",
    }
    assert score.context == "20.0% to 30.0% with 95 %, by ways; without: 10.0%"
    (skipped,) = skipped_attack("definetti", "too many")
    assert skipped.document() == {"measure": "definetti", "skipped": "too many"}
    assert skipped.text == "  skipped  definetti: too many"
