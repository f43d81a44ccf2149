"""P-privacy: the paper's examples, and its definitions by matching and by counting leaves."""

from decimal import Decimal
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from pydantic import TypeAdapter

from expectations.counting import merge
from expectations.groups import Groups, Subdomains, Target
from expectations.p_privacy import PPrivacy
from expectations.subdomains import (
    fakes_needed,
    generalizes,
    imbalance,
    leaves,
    probabilities,
)

# 0 = 30-60, 1 = 30-40, 2 = 50-60, 3 = 30, 4 = 40, 5 = 50, 6 = 60
UNIFORM = Target(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([1, 1, 1, 1, 1, 1, 1]))


def copies(*nodes, number=7):
    return np.bincount(nodes, minlength=number)


def values(*amounts):
    return copies(*(3 + (amount - 30) // 10 for amount in amounts))


PRIVATE = [
    ((3, 4, 2, 2), None),
    ((1, 1, 5, 6), (30, 30, 50, 60)),
    ((3, 4, 5, 6, 0, 0), (30, 30, 40, 40, 50, 60)),
    ((1, 2, 0), (30, 40, 50)),
    ((1, 2, 0, 0), (40, 60, 60, 60)),
]


@pytest.mark.parametrize(("nodes", "amounts"), PRIVATE)
def test_private_multisets_of_the_paper(nodes, amounts):
    assert imbalance(UNIFORM, copies(*nodes)) == 0
    if amounts is not None:
        assert generalizes(UNIFORM, copies(*nodes), values(*amounts))


def test_others_are_not():
    assert imbalance(UNIFORM, copies(3, 4, 5, 5)) == 1
    assert not generalizes(UNIFORM, copies(3, 4, 2, 2), values(30, 30, 50, 60))
    assert fakes_needed(UNIFORM, copies(3, 4, 5, 6), values(40, 60, 60, 60)) == 2


def test_a_distribution_of_two_thirds():
    target = Target(np.array([-1, 0, 0]), np.array([1, 2, 1]))
    assert imbalance(target, copies(1, 1, 2, 0, number=3)) == 0
    assert imbalance(target, copies(1, 2, number=3)) == Fraction(1, 2)


def test_a_node_without_probability_leads_to_nothing():
    target = Target(np.array([-1, 0, 0]), np.array([1, 1, 0]))
    assert probabilities(target) == [1, 1, 0]
    assert imbalance(target, copies(2, number=3)) is None
    assert imbalance(target, copies(0, 1, number=3)) == 0


def random_target(rng, depth=3):
    parent, weight, level = [-1], [1], [0]
    for _ in range(depth):
        below = []
        for node in level:
            if node and rng.random() < 0.3:
                continue
            weights = rng.integers(0, 4, int(rng.integers(2, 4)))
            if not weights.sum():
                weights[0] = 1
            for w in weights:
                parent.append(node)
                weight.append(int(w))
                below.append(len(parent) - 1)
        level = below
    return Target(np.array(parent), np.array(weight))


def children(target, node):
    return np.flatnonzero(target.parent == node).tolist()


def under(target, node):
    return [node] + [n for child in children(target, node) for n in under(target, child)]


def split_as_weights(target, shown):
    """The equivalent statement: what is strictly below a node is split as the weights are."""
    if any(shown[n] and not p for n, p in enumerate(probabilities(target))):
        return False
    for node in range(len(target.parent)):
        kids = children(target, node)
        if not kids or not probabilities(target)[node]:
            continue
        below = [sum(int(shown[n]) for n in under(target, child)) for child in kids]
        weights = [int(target.weight[child]) for child in kids]
        if any(b * sum(weights) != w * sum(below) for b, w in zip(below, weights, strict=True)):
            return False
    return True


def test_balance_is_that_of_every_split():
    rng = np.random.default_rng(3)
    private = 0
    for _ in range(3000):
        target = random_target(rng, depth=int(rng.integers(1, 3)))
        shown = np.zeros(len(target.parent), dtype=np.int64)
        if rng.random() < 0.6:  # made to be private, and perhaps disturbed
            drop(rng, target, shown, 0, int(rng.integers(1, 13)))
        else:
            shown[rng.integers(0, len(shown), int(rng.integers(1, 8)))] += 1
        if shown.sum() and rng.random() < 0.2:
            shown[int(rng.integers(len(shown)))] += 1
        found = imbalance(target, shown) == 0
        assert found == split_as_weights(target, shown)
        private += found
    assert 500 < private < 2900


def drop(rng, target, shown, node, number):
    """Copies at a node or below it, in whole proportions."""
    kids = children(target, node)
    total = int(target.weight[kids].sum()) if kids else 0
    most = number // total if total else 0
    times = int(rng.integers(0, most + 1)) if kids else 0
    shown[node] += number - times * total
    for kid in kids:
        if target.weight[kid] and times:
            drop(rng, target, shown, kid, times * int(target.weight[kid]))


def matched(target, shown, amounts, fakes):
    """Whether copies and values match one for one, by augmenting paths; a fake is any value."""
    slots = [n for n, c in enumerate(shown) for _ in range(int(c))]
    given = [v for v, c in enumerate(amounts) for _ in range(int(c))] + [None] * fakes
    if len(slots) != len(given):
        return False
    above = {
        leaf: {n for n in range(len(shown)) if leaf in under(target, n)} for leaf in leaves(target)
    }
    owner = {}

    def place(i, seen):
        for j, node in enumerate(slots):
            if j not in seen and (given[i] is None or node in above[given[i]]):
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    return all(place(i, set()) for i in range(len(given)))


def test_generalizing_is_matching():
    rng = np.random.default_rng(8)
    yes = 0
    for _ in range(2500):
        target = random_target(rng, depth=2)
        number, fakes = int(rng.integers(1, 7)), int(rng.integers(0, 3))
        amounts = np.zeros(len(target.parent), dtype=np.int64)
        for leaf in rng.choice(leaves(target), number):
            amounts[leaf] += 1
        shown = np.bincount(
            rng.integers(0, len(target.parent), number + fakes), minlength=len(target.parent)
        )
        found = generalizes(target, shown, amounts, fakes)
        assert found == matched(target, shown, amounts, fakes)
        yes += found
    assert 150 < yes < 2400


def groups_of_copies(target, groups):
    shown = [(g, n, int(c)) for g, row in enumerate(groups) for n, c in enumerate(row) if c]
    group, node, count = (np.array(column) for column in zip(*shown, strict=True))
    sizes = np.array([int(row.sum()) for row in groups])
    subdomains = Subdomains(group, node, count, np.zeros(len(groups), dtype=np.int64), (target,))
    return Groups(sizes, {}, subdomains={"s": subdomains})


def test_verdicts():
    groups = groups_of_copies(UNIFORM, [copies(3, 4, 2, 2), copies(3, 4, 5, 5)])
    verdict = PPrivacy(target="uniform", sensitive="s").check(groups)
    assert (verdict.holds, verdict.failing, verdict.observed) == (False, 1, {"tolerance": 1})
    assert PPrivacy(target="uniform").measure(groups)["tolerance"].tolist() == [0, 1]
    lenient = PPrivacy(target="source", tolerance=Decimal("0.99"))
    assert not lenient.check(groups).holds
    assert not PPrivacy(target="uniform").check(Groups(np.array([1]), {})).holds
    target = Target(np.array([-1, 0, 0]), np.array([1, 1, 0]))
    impossible = groups_of_copies(target, [copies(2, number=3)])
    assert PPrivacy(target="uniform").check(impossible).observed["tolerance"] == inf
    assert not PPrivacy(target="uniform").check(impossible).holds


def test_merging_groups_of_one_target_does_not_unbalance_them():
    rng = np.random.default_rng(5)
    merges = 0
    for _ in range(600):
        target = random_target(rng, depth=2)
        reachable = [n for n, p in enumerate(probabilities(target)) if p]
        rows = [
            np.bincount(
                rng.choice(reachable, int(rng.integers(1, 9))), minlength=len(target.parent)
            )
            for _ in range(4)
        ]
        before = max(imbalance(target, row) for row in rows)
        into = np.unique(rng.integers(0, 3, 4), return_inverse=True)[1]
        after = PPrivacy(target="uniform").check(merge(groups_of_copies(target, rows), into))
        assert after.observed["tolerance"] <= before
        merges += 1
    assert merges == 600


@pytest.mark.parametrize(
    "target",
    [
        "source",
        "uniform",
        {"normal": {"mean": 3, "variance": "2.5"}},
        {"zipf": 1},
        {"file": "p.csv"},
    ],
)
def test_targets_are_written_as_they_are_read(target):
    adapter = TypeAdapter(PPrivacy)
    promise = adapter.validate_python({"model": "p-privacy", "target": target})
    assert promise.parameters()["target"] == target
    assert adapter.validate_python(promise.parameters()) == promise
