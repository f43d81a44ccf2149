"""Expected occurrences: whole groups, at least one of each value, and what they are to recover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.groups import Cover
from sfumato.expectations.measures.occurrences import (
    FEW_ROUNDS,
    ROUNDS,
    choose_rounds,
    occurrences,
    togetherness,
)


def cover_of(boxes, values):
    """The cover of groups that admit sets of values."""
    pairs = [(g, v) for g, box in enumerate(boxes) for v in sorted(box)]
    group, value = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    return Cover(group, value, values)


@st.composite
def releases(draw):
    """Sizes of groups, and what they admit of a domain."""
    values = draw(st.integers(1, 7))
    box = st.sets(st.integers(0, values - 1), min_size=1)
    boxes = draw(st.lists(box, min_size=1, max_size=9))
    more = draw(st.lists(st.integers(0, 12), min_size=len(boxes), max_size=len(boxes)))
    sizes = np.array([len(box) + m for box, m in zip(boxes, more, strict=True)])
    return sizes, cover_of(boxes, values)


def totals(expected, cover):
    return np.bincount(cover.value, expected, cover.values)


@given(releases(), st.integers(1, 120))
def test_a_group_has_its_rows_and_each_value_at_least_once(release, rounds):
    sizes, admitted = release
    expected = occurrences(sizes, admitted, rounds)
    assert len(expected) == len(admitted.value)
    assert np.bincount(admitted.group, expected) == pytest.approx(sizes)
    assert (expected >= 1).all()


@given(releases())
def test_what_has_no_rows_to_spare_occurs_once(release):
    _, admitted = release
    sizes = admitted.sizes(int(admitted.group.max()) + 1)
    assert occurrences(sizes, admitted).tolist() == [1.0] * len(admitted.value)


def test_one_value_has_all_rows():
    assert occurrences(np.array([5, 8]), cover_of([{0}, {2}], 3)).tolist() == [5.0, 8.0]


def test_one_round_by_hand():
    """Value 1 is admitted by both groups, and so has twice the weight of the others."""
    sizes, admitted = np.array([5, 2]), cover_of([{0, 1}, {1, 2}], 3)
    assert occurrences(sizes, admitted, 1).tolist() == [2.0, 3.0, 1.0, 1.0]
    second = [1 + 3 * 2 / 6, 1 + 3 * 4 / 6, 1.0, 1.0]
    assert occurrences(sizes, admitted, 2) == pytest.approx(second)


def test_values_that_no_data_tell_apart_are_alike():
    sizes, admitted = np.array([12, 9]), cover_of([{0, 1, 2}, {0, 1, 2}], 3)
    assert occurrences(sizes, admitted) == pytest.approx([4, 4, 4, 3, 3, 3])


def orders(sizes, admitted, random):
    """Other codes of all values, and other numbers of all groups."""
    return tuple(np.array(random.sample(range(n), n)) for n in (admitted.values, len(sizes)))


def renamed_release(sizes, admitted, names, numbers):
    moved = np.empty_like(sizes)
    moved[numbers] = sizes
    return moved, cover(numbers[admitted.group], names[admitted.value], admitted.values)


@given(releases(), st.randoms(use_true_random=False))
def test_names_of_values_and_groups_are_free(release, random):
    sizes, admitted = release
    names, numbers = orders(sizes, admitted, random)
    moved, again = renamed_release(sizes, admitted, names, numbers)
    entry = {
        pair: n
        for *pair, n in zip(again.group, again.value, occurrences(moved, again), strict=True)
        for pair in [tuple(pair)]
    }
    pairs = zip(numbers[admitted.group], names[admitted.value], strict=True)
    assert [entry[pair] for pair in pairs] == pytest.approx(occurrences(sizes, admitted))


def moves(sizes, admitted, rounds):
    """By how much the expectation changes with the last of some rounds."""
    return abs(
        occurrences(sizes, admitted, rounds) - occurrences(sizes, admitted, rounds - 1)
    ).max()


@given(releases())
def test_more_rounds_change_nothing(release):
    """A fixed point: expected from the totals, the same expectation again."""
    sizes, admitted = release
    expected = occurrences(sizes, admitted, 3000)
    weights = totals(expected, admitted)[admitted.value]
    share = weights / np.bincount(admitted.group, weights)[admitted.group]
    spare = (sizes - admitted.sizes(len(sizes)))[admitted.group]
    assert 1 + spare * share == pytest.approx(expected, rel=1e-3)


def draw_groups(seed, groups, size, values):
    """Random groups of rows whose values are skewed: the cover, its true counts, all of them."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, values + 1) ** -1.2
    codes = rng.choice(values, groups * size, p=shares / shares.sum())
    group = np.repeat(np.arange(groups), size)
    admitted = cover(group, codes, values)
    return admitted, np.bincount(codes, minlength=values), codes, group


@pytest.mark.parametrize("seed", range(4))
def test_frequencies_are_recovered_from_sets_alone(seed):
    groups, size, values = 2000, 10, 20
    admitted, truth, codes, group = draw_groups(seed, groups, size, values)
    sizes = np.full(groups, size)
    expected = occurrences(sizes, admitted)
    alike = size / admitted.sizes(groups)[admitted.group]
    error = abs(totals(expected, admitted) - truth).sum() / truth.sum()
    naive = abs(totals(alike, admitted) - truth).sum() / truth.sum()
    assert error < 0.1
    assert error < naive / 3
    counts = np.bincount(group * values + codes, minlength=groups * values)
    inside = counts[admitted.group * values + admitted.value]
    assert ((expected - inside) ** 2).mean() < ((alike - inside) ** 2).mean() / 1.5


def test_rounds_come_to_rest():
    admitted, *_ = draw_groups(9, 500, 10, 20)
    sizes = np.full(500, 10)
    far, near, nearer = (moves(sizes, admitted, rounds) for rounds in (2, 10, 100))
    assert far > near > nearer
    assert nearer < 1e-3


@given(releases())
def test_after_no_round_all_values_of_a_group_occur_equally_often(release):
    """Wang's estimator."""
    sizes, admitted = release
    equal = (sizes / admitted.sizes(len(sizes)))[admitted.group]
    assert occurrences(sizes, admitted, 0) == pytest.approx(equal)


def drawn_groups(shares_of_groups, size, seed=3):
    """Sizes and cover of groups that draw values by their own shares, and how often these occur."""
    rng = np.random.default_rng(seed)
    counts = np.stack([rng.multinomial(size, shares) for shares in shares_of_groups])
    group, value = np.nonzero(counts)
    return counts.sum(axis=1), cover(group, value, counts.shape[1]), counts.sum(axis=0)


def rounds_for(sizes, admitted):
    return choose_rounds(sizes, admitted, occurrences(sizes, admitted))


def error(sizes, admitted, truth, rounds):
    expected = np.bincount(admitted.value, occurrences(sizes, admitted, rounds), admitted.values)
    return float(np.abs(expected - truth).mean())


def test_groups_put_together_at_random_are_fitted_to_the_end():
    sizes, admitted, truth = drawn_groups([[0.7, 0.2, 0.06, 0.04]] * 200, 12)
    assert rounds_for(sizes, admitted) == ROUNDS
    fitted, equal = (error(sizes, admitted, truth, rounds) for rounds in (ROUNDS, 0))
    assert fitted < equal / 2


def test_groups_made_by_their_values_are_hardly_fitted():
    """People of each age fill a group of their own, and are a few among others elsewhere."""
    ages = 30
    own = [np.eye(ages)[age] for age in range(0, ages, 6)]
    ranges = [[float(start <= age < start + 6) for age in range(ages)] for start in range(25)]
    shares = [*own, *(np.array(weights) / sum(weights) for weights in ranges)]
    sizes, admitted, truth = drawn_groups(shares, 60)
    assert rounds_for(sizes, admitted) == FEW_ROUNDS
    to_the_end, few = (error(sizes, admitted, truth, rounds) for rounds in (ROUNDS, FEW_ROUNDS))
    assert few < to_the_end


@given(st.integers(2, 5), st.integers(1, 30), st.integers(0, 9))
def test_shares_stay_equal_where_groups_tell_nothing_of_values(values, groups, more):
    sizes, admitted = (
        np.full(groups, values + more),
        cover_of([set(range(values))] * groups, values),
    )
    assert rounds_for(sizes, admitted) == 0


@given(releases())
def test_togetherness_is_that_of_its_definition(release):
    sizes, admitted = release
    rows = totals(occurrences(sizes, admitted), admitted)
    expected = sum(1 - (1 - n / rows.sum()) ** size for n in rows for size in sizes.tolist())
    assert togetherness(sizes, admitted, rows) == pytest.approx(len(admitted.value) / expected)


@given(releases(), st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_names(release, random):
    sizes, admitted = release
    names, numbers = orders(sizes, admitted, random)
    moved, again = renamed_release(sizes, admitted, names, numbers)
    assert rounds_for(moved, again) == rounds_for(sizes, admitted)
