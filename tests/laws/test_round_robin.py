"""Anatomy dealt out: the promise of anatomy, with few different sets of values."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.anatomy.alike import deal
from sfumato.tasks.partitions.anatomy.anatomy import draw_groups
from tests.randomness.test_uniform import DRAWS, require_uniform


def test_six_rows_of_three_values_make_two_groups_of_all():
    codes = np.array([0, 0, 1, 1, 2, 2])
    group = deal(codes, 3, seeded_keys(1))
    assert sorted(Counter(group.tolist()).values()) == [3, 3]
    assert all(sorted(codes[group == g].tolist()) == [0, 1, 2] for g in (0, 1))


@given(st.lists(st.integers(1, 9), min_size=2, max_size=8), st.integers(2, 5), st.integers(0, 99))
def test_groups_have_l_rows_or_one_more_all_of_different_values(counts, l, seed):
    counts += [max(counts)] * l  # so that no value is too frequent
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    if max(counts) * l > len(codes):
        return
    group = deal(codes, l, seeded_keys(seed))
    sizes = np.bincount(group)
    assert len(sizes) == len(codes) // l
    assert sizes.min() >= l
    assert sizes.max() - sizes.min() <= 1
    assert len(set(zip(group.tolist(), codes.tolist(), strict=True))) == len(codes)


def test_there_are_few_sets_of_values():
    codes = np.random.default_rng(3).integers(0, 50, 20_000)

    def sets(group):
        return len(
            {tuple(sorted(codes[np.flatnonzero(group == g)])) for g in np.unique(group)[:500]}
        )

    keys = seeded_keys(5)
    assert sets(deal(codes, 4, keys)) <= 60
    assert sets(draw_groups(codes, 4, keys)) > 300


def test_who_is_dealt_together_is_uniform():
    """Two rows of each of three values: four ways to make two groups of all values."""
    codes, keys = np.array([0, 0, 1, 1, 2, 2]), seeded_keys(11)

    def together():
        group = deal(codes, 3, keys)
        return tuple(group[[2, 4]] == group[0])

    ways = list(product((True, False), repeat=2))
    require_uniform([together() for _ in range(DRAWS)], ways)
