"""References: no score stands alone, and what stands beside it is counted as it says."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.attacks.from_files import DEALT, beside_dealt, deal, shuffle_numbers
from sfumato.tasks.attacks.group import distance, homogeneity, known_people
from sfumato.tasks.attacks.registry import attack_release
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from tests.attacks.test_attacks import (
    FORMS,
    draw_correlated,
    make_release,
    of_numbers,
    release_showing,
)

GROUPS = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=6).map(sorted), min_size=1, max_size=5
)


@pytest.mark.parametrize("form", FORMS)
def test_no_score_stands_alone(form, tmp_path):
    release = make_release(tmp_path, draw_correlated(np.random.default_rng(7), 300, 0.5), form)
    scores = attack_release([release])["s"]
    assert len({score.measure for score in scores}) == len(scores) > 10
    alone = [score for score in scores if not score.references]
    assert all(score.skipped for score in alone)
    assert [score.measure for score in alone] == ["minimality"]


@given(members=GROUPS)
def test_deals_keep_groups_and_values(groups_of, members):
    counts = of_numbers(groups_of, members)
    dealt = deal(counts)
    np.testing.assert_array_equal(dealt.sizes, counts.sizes)
    np.testing.assert_array_equal(dealt.totals, counts.totals)
    assert (np.diff(dealt.group * dealt.values + dealt.value) > 0).all()


def test_what_groups_tell_by_chance(groups_of):
    """All pairs are alike, and half of them are where values are dealt."""
    counts = of_numbers(groups_of, [[0, 0], [1, 1]] * 2000)
    target = AttackedRelease(None, {}, None, "s", counted=counts)
    scores = {score.measure: score for score in beside_dealt(homogeneity.attack)(target)}
    alike = scores["in a group in which all have one value"]
    assert alike.share == 1
    assert alike.references[DEALT] == pytest.approx(0.5, abs=0.04)
    guessed = scores["own value guessed from the group alone"]
    assert guessed.references["without the release"] == 0.5
    assert guessed.references[DEALT] == pytest.approx(0.75, abs=0.02)


@given(members=GROUPS)
def test_known_people_are_the_worst_for_each(groups_of, members):
    """Against every choice of others of the group, whose rows are taken out."""
    counts = of_numbers(groups_of, members)
    everybody = sum(map(len, members))
    scores = {score.measure: score.share for score in known_people.attack(release_showing(counts))}
    for number_known, words in ((1, "1 other of the group is"), (2, "2 others of the group are")):
        beliefs = [
            max(
                Fraction(Counter(remaining)[value], len(remaining))
                for gone in combinations([*others], min(number_known, len(others)))
                for remaining in [[value, *_remove(others, gone)]]
            )
            for values in members
            for place, value in enumerate(values)
            for others in [[*values[:place], *values[place + 1 :]]]
        ]
        certain = sum(belief == 1 for belief in beliefs)
        likely = sum(belief >= Fraction(4, 5) for belief in beliefs)
        assert scores[f"own value certain once {words} known"] == certain / everybody
        assert scores[f"own value believed with 80% or more once {words} known"] == (
            likely / everybody
        )


def _remove(values, gone):
    counts = Counter(values)
    counts.subtract(gone)
    return [*counts.elements()]


@given(members=GROUPS)
def test_distances_are_half_the_differences_of_shares(groups_of, members):
    everybody = Counter(value for values in members for value in values)
    number = sum(everybody.values())
    apart = [
        sum(
            abs(Fraction(Counter(values)[value], len(values)) - Fraction(everybody[value], number))
            for value in everybody
        )
        / 2
        for values in members
    ]
    mean, farthest = distance.attack(release_showing(of_numbers(groups_of, members)))
    weighed = sum(t * len(values) for t, values in zip(apart, members, strict=True)) / number
    assert mean.share == pytest.approx(float(weighed))
    assert farthest.share == pytest.approx(float(max(apart)))


def test_the_shuffle_is_the_same_for_ever():
    assert shuffle_numbers(12).tolist() == [2, 4, 6, 8, 5, 10, 1, 11, 7, 0, 9, 3]


@pytest.mark.parametrize("number", [0, 1, 2, 1000])
def test_the_shuffle_has_each_number_once(number):
    assert sorted(shuffle_numbers(number).tolist()) == list(range(number))


def test_the_shuffle_leaves_nothing_together():
    """Of 100,000 numbers, a tenth from each tenth; χ² with 81 degrees of freedom, p = 1e-6."""
    tenths = np.bincount(np.arange(100_000) // 10_000 * 10 + shuffle_numbers(100_000) // 10_000)
    assert ((tenths - 1000.0) ** 2 / 1000).sum() < 156
