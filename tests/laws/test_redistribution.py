"""Redistributed groups: private, generalizations of what they are made of, and the least ranges."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import generalizes, imbalance, leaves, probabilities
from sfumato.tasks.partitions.targets import fakes
from sfumato.tasks.partitions.targets import minimum as module
from sfumato.tasks.partitions.targets.distribution import uniform
from sfumato.tasks.partitions.targets.fakes import costs, families, reach, with_fakes
from sfumato.tasks.partitions.targets.minimum import minimum
from sfumato.tasks.partitions.targets.tree import balanced_tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate


@st.composite
def hierarchies(draw, most_leaves=5, largest=3):
    """A target of arity 2 or 3 with any weights, and the ranges of its nodes."""
    shape = draw(
        st.recursive(
            st.just([]), lambda c: st.lists(c, min_size=2, max_size=3), max_leaves=most_leaves
        )
    )
    parent, weight, level = [-1], [1], [(0, shape)]
    for node, part in level:
        if not part:
            continue
        weights = draw(st.lists(st.integers(0, largest), min_size=len(part), max_size=len(part)))
        weights[0] += not any(weights)
        for below, each in zip(part, weights, strict=True):
            parent.append(node)
            weight.append(each)
            level.append((len(parent) - 1, below))
    target = Target(np.array(parent), np.array(weight))
    return target, ranges_of(target, draw(st.lists(st.integers(1, 5), min_size=9, max_size=9)))


def ranges_of(target, steps):
    """Ranges where neighbouring leaves are so many units apart."""
    low, high = [inf] * len(target.parent), [-inf] * len(target.parent)
    position = 0
    for leaf in in_order(target, 0):
        low[leaf] = high[leaf] = position
        position += steps[leaf % len(steps)]
    for node in range(len(target.parent) - 1, 0, -1):
        above = target.parent[node]
        low[above], high[above] = min(low[above], low[node]), max(high[above], high[node])
    return np.array(high) - np.array(low)


def in_order(target, node):
    below = np.flatnonzero(target.parent == node).tolist()
    return [leaf for child in below for leaf in in_order(target, child)] if below else [node]


@st.composite
def groups(draw, most_values=6, **sizes):
    target, ranges = draw(hierarchies(**sizes))
    leaves_drawn = draw(st.lists(st.sampled_from(leaves(target)), min_size=1, max_size=most_values))
    return target, ranges, np.bincount(leaves_drawn, minlength=len(target.parent))


def total(copies, ranges):
    return sum(int(c) * int(r) for c, r in zip(copies, ranges, strict=True))


def least_of_all_multisets(target, ranges, counts, fakes):
    """By the definitions, over all multisets of nodes."""
    nodes, number = len(target.parent), int(counts.sum()) + fakes
    multisets = [
        np.bincount(chosen, minlength=nodes)
        for chosen in combinations_with_replacement(range(nodes), number)
    ]
    able = [copies for copies in multisets if generalizes(target, copies, counts, fakes)]
    return min(total(copies, ranges) for copies in able if imbalance(target, copies) == 0)


def least_of_all_fakes(target, ranges, counts, fakes):
    """The least of the minima with each choice of fakes."""
    nodes = len(target.parent)
    return min(
        total(minimum(target, counts + np.bincount(chosen, minlength=nodes)), ranges)
        for chosen in combinations_with_replacement(leaves(target), fakes)
    )


def least_by_recurrence(target, ranges, counts, fakes):
    """The paper's recurrence, mended, over all splits of x fakes when r values are not kept."""
    children = [np.flatnonzero(target.parent == n).tolist() for n in range(len(target.parent))]
    counts_held = [int(n) for n in counts]
    for node in range(len(counts_held) - 1, 0, -1):
        counts_held[target.parent[node]] += counts_held[node]
    weight = target.weight.copy()
    for family in children:
        if family:
            weight[family] //= max(np.gcd.reduce(weight[family]), 1)

    @cache
    def least(node, x, r):
        if r > counts_held[node] + x:
            return inf
        if not children[node]:
            return 0
        return min(share_node(node, x, r, split) for split in splits(x, len(children[node])))

    def share_node(node, x, r, split):
        family = [(c, f, int(weight[c])) for c, f in zip(children[node], split, strict=True)]
        sums, room = sum(w for *_, w in family), counts_held[node] + x - r
        times = (
            min([room // sums, *((counts_held[c] + f) // w for c, f, w in family if w)])
            if sums
            else 0
        )
        below = sum(least(c, f, counts_held[c] + f - w * times) for c, f, w in family)
        return below + (room - times * sums) * int(ranges[node])

    return least(0, fakes, 0)


def splits(number, parts):
    if parts == 1:
        yield (number,)
        return
    for first in range(number + 1):
        yield from ((first, *rest) for rest in splits(number - first, parts - 1))


@given(groups(most_values=4, most_leaves=4))
def test_no_private_generalization_has_smaller_ranges(group):
    target, ranges, counts = group
    copies = minimum(target, counts)
    assert imbalance(target, copies) == 0
    assert generalizes(target, copies, counts)
    assert total(copies, ranges) == least_of_all_multisets(target, ranges, counts, 0)


@given(groups(most_values=2, most_leaves=4), st.integers(1, 2))
def test_no_private_multiset_with_fakes_has_smaller_ranges(group, fakes):
    target, ranges, counts = group
    expected = [least_of_all_multisets(target, ranges, counts, k) for k in range(fakes + 1)]
    assert costs(target, counts, ranges, fakes) == expected


@given(groups(most_values=8, most_leaves=6), st.integers(0, 4))
def test_no_choice_of_fakes_has_smaller_ranges(group, fakes):
    target, ranges, counts = group
    expected = [least_of_all_fakes(target, ranges, counts, k) for k in range(fakes + 1)]
    assert costs(target, counts, ranges, fakes) == expected


@given(groups(most_values=40, most_leaves=8), st.integers(0, 7))
def test_the_mended_recurrence_finds_the_same(group, fakes):
    target, ranges, counts = group
    expected = [least_by_recurrence(target, ranges, counts, k) for k in range(fakes + 1)]
    assert costs(target, counts, ranges, fakes) == expected


@given(groups(most_values=60, most_leaves=12), st.integers(0, 30))
def test_what_is_found_is_private_and_generalizes(group, most):
    target, ranges, counts = group
    result = with_fakes(target, counts, ranges, most)
    assert imbalance(target, result.copies) == 0
    assert generalizes(target, result.copies, counts, int(result.fakes.sum()))
    assert generalizes(target, result.copies, counts + result.fakes)
    assert result.copies.sum() == counts.sum() + result.fakes.sum()
    assert result.fakes.min() >= 0
    assert result.fakes.sum() <= most
    assert not result.fakes[np.unique(target.parent[1:])].any()
    assert total(result.copies, ranges) == result.cost
    exactly = costs(target, counts, ranges, most)
    assert result.cost == min(exactly)
    assert result.fakes.sum() == exactly.index(result.cost)


@given(groups(most_values=30, most_leaves=10), st.integers(0, 12))
def test_more_fakes_allowed_do_not_cost_more(group, most):
    target, ranges, counts = group
    exactly = costs(target, counts, ranges, most + 1)
    assert exactly[:-1] == costs(target, counts, ranges, most)
    fewer, more = (with_fakes(target, counts, ranges, n) for n in (most, most + 1))
    assert more.cost <= fewer.cost


@given(groups(most_values=30, most_leaves=10))
def test_without_fakes_both_find_the_same(group):
    target, ranges, counts = group
    result = with_fakes(target, counts, ranges, 0)
    assert result.copies.tolist() == minimum(target, counts).tolist()
    assert not result.fakes.any()
    free = with_fakes(target, counts, ranges * 0, 5)
    assert free.copies.tolist() == result.copies.tolist()
    assert free.cost == free.fakes.sum() == 0


@given(groups(most_values=30, most_leaves=8), st.integers(0, 6), st.integers(2, 5))
def test_a_common_divisor_of_weights_changes_nothing(group, most, times):
    target, ranges, counts = group
    same = Target(target.parent, target.weight * times)
    assert minimum(same, counts).tolist() == minimum(target, counts).tolist()
    assert costs(same, counts, ranges, most) == costs(target, counts, ranges, most)


@given(groups(most_values=30, most_leaves=8), st.integers(0, 6))
def test_ranges_of_any_size_are_exact(group, most):
    target, ranges, counts = group
    huge = np.array([int(length) * 10**30 + int(length > 0) for length in ranges], dtype=object)
    result = with_fakes(target, counts, huge, most)
    assert result.cost == total(result.copies, huge)
    assert result.cost // 10**30 == with_fakes(target, counts, ranges, most).cost
    before = fakes._FITTING
    try:
        fakes._FITTING = 0
        same = with_fakes(target, counts, ranges, most)
    finally:
        fakes._FITTING = before
    assert same.copies.tolist() == with_fakes(target, counts, ranges, most).copies.tolist()


@pytest.mark.parametrize("worth_compiling", [0, 10**9])
@given(groups(most_values=30, most_leaves=10), st.integers(0, 99))
def test_several_groups_are_each_one(worth_compiling, group, seed):
    target, _, counts = group
    rng = np.random.default_rng(seed)
    several = rng.integers(0, 9, (4, len(counts))) * (counts > 0)
    before = module._WORTH_COMPILING
    try:
        module._WORTH_COMPILING = 10**9
        apart = [minimum(target, counts).tolist() for counts in several]
        module._WORTH_COMPILING = worth_compiling
        assert minimum(target, several).tolist() == apart
        assert minimum(target, several[0]).tolist() == apart[0]
        assert minimum(target, several[:0]).shape == (0, len(counts))
    finally:
        module._WORTH_COMPILING = before


@given(groups(most_values=30, most_leaves=12), st.integers(0, 6))
def test_only_nodes_that_can_get_a_subdomain_are_in_reach(group, most):
    target, ranges, counts = group
    among = families(target)
    nodes_in_reach = reach(among, counts, most)
    passing = {
        nodes_in_reach.nodes[place] for place, times in enumerate(nodes_in_reach.high) if times
    }
    assert set(nodes_in_reach.nodes) == {
        0,
        *(child for node in passing for child in among.children[node]),
    }
    nodes_shown = np.flatnonzero(with_fakes(target, counts, ranges, most).copies)
    assert set(nodes_shown.tolist()) <= set(nodes_in_reach.nodes)


def test_a_small_group_reaches_few_of_many_nodes():
    leaves = 2**12
    tree = balanced_tree(leaves, 2)
    target = annotate(tree, uniform(leaves)).target
    counts = np.zeros(len(target.parent), dtype=np.int64)
    counts[tree.leaf[:60]] = 1
    nodes_in_reach = reach(families(target), counts, 2)
    assert len(nodes_in_reach.nodes) < 16


def test_weights_beyond_int64_share_nothing_of_a_small_group():
    target = Target(np.array([-1, 0, 0]), np.array([1, 10**30, 10**30 + 1], dtype=object))
    counts = np.array([0, 5, 7])
    assert minimum(target, counts).tolist() == [12, 0, 0]
    result = with_fakes(target, counts, np.array([1, 0, 0]), 3)
    assert (result.copies.tolist(), result.cost) == ([12, 0, 0], 12)


def test_no_values_need_nothing():
    target = Target(np.array([-1, 0, 0]), np.array([1, 1, 2]))
    nothing = np.zeros(3, dtype=np.int64)
    assert minimum(target, nothing).tolist() == [0, 0, 0]
    result = with_fakes(target, nothing, np.array([1, 0, 0]), 3)
    assert (result.copies.tolist(), result.cost, result.fakes.sum()) == ([0, 0, 0], 0, 0)


def test_a_single_value_is_shown_as_it_is():
    target = Target(np.array([-1]), np.array([1]))
    assert minimum(target, np.array([7])).tolist() == [7]
    result = with_fakes(target, np.array([7]), np.array([0]), 2)
    assert (result.copies.tolist(), result.fakes.tolist(), result.cost) == ([7], [0], 0)


def test_arguments_stay_as_they_are():
    target = Target(np.array([-1, 0, 0]), np.array([1, 2, 4]))
    counts, ranges = np.array([0, 3, 9]), np.array([1, 0, 0])
    minimum(target, counts)
    with_fakes(target, counts, ranges, 3)
    assert (counts.tolist(), ranges.tolist()) == ([0, 3, 9], [1, 0, 0])
    assert target.weight.tolist() == [1, 2, 4]


def leaf_by_leaf(target, copies):
    """The imbalance by its definition: what stands above each value that the target gives."""
    chance, number = probabilities(target), int(copies.sum())
    if any(copies[node] and not chance[node] for node in range(len(copies))):
        return None
    off = Fraction(0)
    for leaf in leaves(target):
        above, node = Fraction(0), leaf
        while chance[leaf] and node >= 0:
            above += int(copies[node]) / chance[node]
            node = int(target.parent[node])
        off = max(off, abs(above - number) / number if chance[leaf] else 0)
    return off


@given(groups(most_leaves=9), st.data())
def test_imbalance_is_that_of_every_value(group, data):
    target, _, counts = group
    copies = data.draw(st.lists(st.integers(0, 3), min_size=len(counts), max_size=len(counts)))
    assume(any(copies))
    assert imbalance(target, np.array(copies)) == leaf_by_leaf(target, np.array(copies))
