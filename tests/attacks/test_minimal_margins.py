"""Margins of minimality: of groups that are drawn, and of worlds, against all of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from sfumato.tasks.attacks.minimal import minimality, worlds
from sfumato.tasks.attacks.minimal.worlds import MOST, WeighedGroup, Worlds, error_of
from sfumato.tasks.attacks.shared.margins import SampledGroups
from tests.attacks.test_minimality import LATTICE, MONDRIAN, TWO_GROUPS, diverse, release_of


def uncommon(rows, seed=3):
    """Uncommon values keep groups from being cut, and all worlds of these are few."""
    rng = np.random.default_rng(seed)
    values = np.minimum(rng.geometric(0.7, rows), 3)
    return {"a": rng.integers(0, rows // 3, rows).tolist(), "s": values.tolist()}


def seeds_that_hold(release, exact, number):
    """Of how many digests both margins hold the exact figures, and the margins."""
    inside_count, all_margins = 0, []
    for seed in range(number):
        scores = minimality.attack(replace(release, digest=str(seed), learned={}))
        margins = [score.margin for score in scores]
        all_margins.append(margins)
        inside_count += all(
            margin.low - 1e-9 <= score.share <= margin.high + 1e-9
            for margin, score in zip(margins, exact, strict=True)
        )
    return inside_count, all_margins


def test_groups_that_are_drawn_leave_a_margin(tmp_path, monkeypatch):
    release = release_of(tmp_path, uncommon(2400), [diverse(2)], MONDRIAN)
    monkeypatch.setattr(worlds, "MOST", 10**6)
    monkeypatch.setattr(worlds, "_FEW", 10**6)
    exact = minimality.attack(release)
    assert [score.margin for score in exact] == [None, None]
    monkeypatch.setattr(minimality, "_ROWS", 700 * MOST)
    inside_count, all_margins = seeds_that_hold(release, exact, 40)
    assert inside_count >= binom.ppf(1e-3, 40, 0.95)
    widths = [margins[0].high - margins[0].low for margins in all_margins]
    assert 0 < np.mean(widths) < 0.2
    assert "groups" in all_margins[0][0].method
    assert "worlds" not in all_margins[0][0].method


@pytest.mark.parametrize(("arrays", "partition"), [(uncommon(60), MONDRIAN), (TWO_GROUPS, LATTICE)])
def test_worlds_that_are_drawn_leave_a_margin(arrays, partition, tmp_path, monkeypatch):
    release = release_of(tmp_path, arrays, [diverse(2)], partition)
    exact = minimality.attack(release)
    monkeypatch.setattr(worlds, "_FEW", 0)
    inside_count, all_margins = seeds_that_hold(release, exact, 20)
    assert inside_count == 20, "so many worlds are off by more with 1 % only"
    assert all("512 worlds" in margin.method for margins in all_margins for margin in margins)


def test_a_node_with_too_many_rows_is_skipped_and_says_so(tmp_path, monkeypatch):
    release = release_of(tmp_path, TWO_GROUPS, [diverse(2)], LATTICE)
    monkeypatch.setattr(minimality, "_ROWS", 7 * MOST)
    (skipped,) = minimality.attack(release)
    assert skipped.document() == {"measure": "minimality", "skipped": minimality._TOO_MANY}


def test_what_no_drawn_world_allows_is_open(tmp_path, monkeypatch):
    """All drawn worlds are ruled out: the groups could hold anybody's value."""
    arrays = {"a": [1, 1, 2, 2, 2, 2, 2], "s": [7, 7, 8, 9, 10, 11, 12]}
    release = release_of(tmp_path, arrays, [diverse(2)], MONDRIAN)
    monkeypatch.setattr(worlds, "_FEW", 0)
    promises_kept = minimality.KnownTries.promises_kept
    monkeypatch.setattr(
        minimality.KnownTries,
        "promises_kept",
        lambda *arguments: [np.ones_like(world) for world in promises_kept(*arguments)],
    )
    for score in minimality.attack(release):
        assert (score.margin.low, score.margin.high) == (0, 1)


def test_what_is_surely_believed_and_what_may_be():
    codes, kind = np.array([0, 0, 1]), np.array([0, 0, 1])
    worlds = Worlds(np.array([[0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 0, 1]]), np.ones(4), False)
    group = WeighedGroup.from_worlds(codes, kind, worlds, np.ones(4))
    assert group.belief.tolist() == [[0.875, 0.125], [0.25, 0.75]]
    for error, least, most in (
        (0.04, (3, 2), (3, 2)),
        (0.1, (3, 0), (3, 3)),
        (0.3, (2, 0), (3, 3)),
    ):
        inexact_group = replace(group, error=error)
        assert (inexact_group.hits_at_least().tolist(), inexact_group.hits_at_most().tolist()) == (
            [*least],
            [*most],
        )
    assert group.error > 0.9, "four worlds leave nearly all open"


def test_beliefs_by_drawn_worlds_are_off_by_no_more_than_their_error():
    rng, off = np.random.default_rng(1), 0
    for _ in range(400):
        weight = rng.choice([0.0, 0.25, 1.0], MOST)
        hits = rng.random(MOST) < 0.3
        off += abs((hits * weight).sum() / weight.sum() - 0.3) > error_of(weight, 1)
    assert off <= binom.ppf(0.9999, 400, 0.01)
    assert error_of(np.zeros(4), 1) == 1


def test_few_groups_that_tell_anything_leave_more_open():
    sizes = np.full(1000, 5)
    none = SampledGroups(sizes[:100], sizes).error(np.zeros(100))
    assert 0.03 < none < 0.05
    assert SampledGroups(sizes, sizes).error(np.ones(1000)) == 0
    assert SampledGroups(sizes[:1], sizes).error(np.ones(1)) == 1


@pytest.mark.parametrize("telling", [0, 3, 12, 60, 200])
def test_limits_of_drawn_groups_hold_what_all_tell(telling):
    """Forty groups of two hundred, again and again, of which so many tell something."""
    rng, inside_count = np.random.default_rng(telling), 0
    sizes = rng.integers(4, 9, 200)
    weights = np.where(np.arange(200) < telling, rng.random(200), 0.0) * sizes
    exact = weights.sum() / sizes.sum()
    for _ in range(300):
        some = rng.choice(200, 40, replace=False)
        sample = SampledGroups(sizes[some], sizes)
        inside_count += abs(sample.ratio(weights[some]) - exact) <= sample.error(weights[some])
    assert inside_count >= binom.ppf(1e-4, 300, 0.95)


def test_where_values_may_be_as_likely_the_group_decides():
    own, belief = np.array([[2, 0], [0, 1]]), np.array([[0.4, 0.6], [0.45, 0.55]])
    assert WeighedGroup(own, belief, 0.0).hits_by_group()[0] == 1, "who is believed likeliest"
    assert WeighedGroup(own, belief, 0.06).hits_by_group()[0] == 0, "of the second kind alone"
    assert WeighedGroup(own, belief, 0.2).hits_by_group()[0] == 2, "what two of three have"
    tied = np.array([[1, 0], [0, 1]])
    assert WeighedGroup(tied, belief, 0.2).hits_by_group()[0] == 1, "by a coin"
