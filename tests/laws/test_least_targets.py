"""Targets with the least sum of ranges, against every target up to their denominator."""

from decimal import Decimal
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.l_diversity import (
    EntropyLDiversity,
)
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.partitions.distribution.choices import LeastChoice, NearestChoice
from sfumato.tasks.partitions.targets import least
from sfumato.tasks.partitions.targets.least import RangeTree
from sfumato.tasks.partitions.targets.tree import balanced_tree
from tests.laws.test_nearest_targets import PROMISES as RANKED
from tests.laws.test_nearest_targets import earth_mover_distance, keeps, targets, variation

SALARIES = np.array([30, 40, 50, 60])
EVEN3 = EntropyLDiversity(l=Decimal(3))
LEAST_WITH_EXACTLY = {16: 40, 17: 120, 18: 50, 19: 120, 20: 40}


def range_tree(units, arity=2, order=None):
    tree = balanced_tree(len(units), arity)
    order = np.arange(len(units)) if order is None else order
    return RangeTree(tree, tree.ranges(units), order)


def solve(choice, counts, promises, totals):
    """The target that a choice gives to a group."""
    if isinstance(promises[0], TCloseness | BetaLikeness):
        solver = choice.beside_all(promises[0], np.array(totals))
    else:
        solver = choice.by_ranks(promises, np.array(totals))
    weights = solver(np.array(counts))
    return None if weights is None else weights.tolist()


def test_the_group_that_the_nearest_target_shows_as_the_whole_domain():
    """Three of four people earn 60; 3 equally likely salaries are promised, by entropy."""
    tree, group = range_tree(SALARIES), [0, 1, 0, 3]
    nearest = solve(NearestChoice(16), group, [EVEN3], [1] * 4)
    assert nearest == [2, 4, 1, 9]
    assert tree.sum_of_ranges(np.array(group), np.array(nearest)) == 120
    assert tree.sum_of_ranges(np.array(group), np.array([1, 1, 2, 4])) == 40
    assert solve(LeastChoice(8, tree), group, [EVEN3], [1] * 4) == [1, 1, 2, 4]
    # as narrow, and nearer
    assert solve(LeastChoice(16, tree), group, [EVEN3], [1] * 4) == [1, 2, 2, 7]
    assert variation([1, 2, 2, 7], group) < variation([1, 1, 2, 4], group)


@pytest.mark.parametrize("denominator", LEAST_WITH_EXACTLY)
def test_one_denominator_alone_is_worse_the_larger_it_is_only_sometimes(denominator):
    """Why all denominators up to the largest are tried."""
    tree, group = range_tree(SALARIES), np.array([0, 1, 0, 3])
    costs = [
        tree.sum_of_ranges(group, np.array(weights))
        for weights in targets(4, denominator)
        if keeps(EVEN3, list(weights))
    ]
    assert min(costs) == LEAST_WITH_EXACTLY[denominator]


COMPARING = st.one_of(
    st.builds(
        TCloseness,
        t=st.integers(0, 20).map(lambda n: Decimal(n) / 20),
        distance=st.sampled_from(["equal", "ordered"]),
    ),
    st.builds(BetaLikeness, beta=st.sampled_from(["0.2", "1", "3"]).map(Decimal)),
)
PROMISES = st.one_of(st.lists(RANKED, min_size=1, max_size=3), COMPARING.map(lambda p: [p]))


@st.composite
def groups(draw):
    """The counts of a group and of all rows, a tree over their values, and its range's order."""
    values = draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(0, 5), min_size=values, max_size=values).filter(any))
    more = draw(st.lists(st.integers(1, 6), min_size=values, max_size=values))
    units = np.cumsum(draw(st.lists(st.integers(1, 9), min_size=values, max_size=values)))
    tree = range_tree(units, draw(st.integers(2, 3)))
    return counts, [a + b for a, b in zip(counts, more, strict=True)], tree


def keeps_beside(promise, weights, totals):
    if isinstance(promise, TCloseness):
        ordered = promise.distance == "ordered"
        far = earth_mover_distance(weights, totals, ordered=ordered)
        return far <= Fraction(promise.t)
    if isinstance(promise, BetaLikeness):
        shares = (
            (Fraction(w, sum(weights)), Fraction(n, sum(totals)))
            for w, n in zip(weights, totals, strict=True)
        )
        return all(promise.allows(share, common) for share, common in shares)
    return keeps(promise, list(weights))


def able(table, promises, denominator):
    """Every target of a denominator up to the largest that keeps the promises, once."""
    counts, totals, _ = table
    tried = {
        tuple(w // gcd(*weights) for w in weights)
        for d in range(1, denominator + 1)
        for weights in targets(len(counts), d)
    }
    return [w for w in tried if all(keeps_beside(p, w, totals) for p in promises)]


@given(groups(), PROMISES, st.integers(1, 7))
def test_no_target_has_narrower_ranges(table, promises, denominator):
    counts, totals, tree = table
    choice = LeastChoice(denominator, tree)
    chosen = solve(choice, counts, promises, totals)

    def preference(weights):
        cost = tree.sum_of_ranges(np.array(counts), np.array(weights))
        return cost, variation(weights, counts), weights

    assert not choice.unproven
    best = min(map(preference, able(table, promises, denominator)), default=None)
    assert (chosen is None) == (best is None)
    if best is not None:
        assert tuple(chosen) == best[-1]


@given(groups(), st.lists(RANKED, min_size=1, max_size=3), st.integers(1, 7))
def test_fronts_that_were_thinned_out_bound_the_least_sum(table, promises, denominator):
    counts, totals, tree = table
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(least, "_MOST", 2)
        choice = LeastChoice(denominator, tree)
        chosen = solve(choice, counts, promises, totals)
    targets_able = able(table, promises, denominator)
    if chosen is not None:
        costs = [tree.sum_of_ranges(np.array(counts), np.array(w)) for w in targets_able]
        assert tuple(chosen) in targets_able
        cost = tree.sum_of_ranges(np.array(counts), np.array(chosen))
        for group in choice.unproven:
            assert group.at_least <= min(costs) <= group.cost == cost
        if not choice.unproven:
            assert cost == min(costs)


WAYS = st.lists(
    st.tuples(st.integers(0, 30), st.tuples(st.integers(0, 9), st.integers(0, 9))), min_size=1
)


@given(WAYS, st.integers(2, 8))
def test_a_smaller_front_has_a_way_as_good_as_each(drawn_ways, most):
    """So its least cost bounds that of the whole front from below."""
    front = [least._Way(cost, 0, (), burden) for cost, burden in sorted(drawn_ways)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(least, "_MOST", most)
        smaller = least._as_good_as_several(front)
    assert len(smaller) <= most
    for way in front:
        assert any(
            better.cost <= way.cost
            and all(b <= w for b, w in zip(better.burden, way.burden, strict=True))
            for better in smaller
        )


def test_values_keep_their_places_where_the_domain_has_another_order():
    """A hierarchy orders texts otherwise than the column does."""
    order = np.array([2, 0, 3, 1])
    tree = range_tree(SALARIES, order=order)
    counts = np.zeros(4, dtype=np.int64)
    counts[order] = [0, 1, 0, 3]
    chosen = solve(LeastChoice(16, tree), counts, [EVEN3], [1] * 4)
    assert np.array(chosen)[order].tolist() == [1, 2, 2, 7]
    assert tree.sum_of_ranges(counts, np.array(chosen)) == 40
