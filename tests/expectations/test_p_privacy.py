"""P-privacy: the paper's examples, and its definitions by matching and by counting leaves."""

from decimal import Decimal
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.groups.counting import merge
from sfumato.expectations.groups.groups import Groups, Subdomains, Target
from sfumato.expectations.groups.subdomains import (
    fakes_needed,
    generalizes,
    imbalance,
    leaves,
    probabilities,
)
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.shared.errors import PromiseError

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
    assert probabilities(target) == (1, 1, 0)
    assert imbalance(target, copies(2, number=3)) is None
    assert imbalance(target, copies(0, 1, number=3)) == 0


def balanced_tree(depth):
    """A binary hierarchy of the values 1..2**depth, all as likely, and its nodes by their ends."""
    parent, ends, level = [-1], {(1, 2**depth): 0}, [(1, 2**depth)]
    while level[0][0] < level[0][1]:
        below = []
        for low, high in level:
            middle = (low + high) // 2
            for part in ((low, middle), (middle + 1, high)):
                ends[part] = len(parent)
                parent.append(ends[low, high])
                below.append(part)
        level = below
    return Target(np.array(parent), np.ones(len(parent), dtype=np.int64)), ends


@pytest.mark.parametrize(
    ("depth", "amounts", "fakes", "parts_shown", "cost"),
    [
        (3, [1, 3, 5, 7], [1, 5], [(1, 2), (3, 4), (5, 6), (7, 8), (1, 4), (5, 8)], 10),
        (
            4,
            [1, 1, 1, 2, 3, 4, 5, 6, 7, 9, 9, 11, 11, 13, 13, 15, 15],
            [8],
            [(1, 16)] * 2
            + [(9, 10)] * 2
            + [(11, 12)] * 2
            + [(13, 14)] * 2
            + [(15, 16)] * 2
            + [(v, v) for v in range(1, 9)],
            38,
        ),
    ],
)
def test_fakes_of_the_paper(depth, amounts, fakes, parts_shown, cost):
    target, ends = balanced_tree(depth)
    number = len(target.parent)
    nodes = copies(*(ends[part] for part in parts_shown), number=number)
    real = copies(*(ends[v, v] for v in amounts), number=number)
    both = copies(*(ends[v, v] for v in [*amounts, *fakes]), number=number)
    assert sum(high - low for low, high in parts_shown) == cost
    assert imbalance(target, nodes) == 0
    assert generalizes(target, nodes, both)
    assert generalizes(target, nodes, real, len(fakes))
    assert not generalizes(target, nodes, real)


def test_eight_fakes_make_three_of_each():
    nodes = copies(*[3, 4, 5, 6] * 3)
    assert fakes_needed(UNIFORM, nodes, values(40, 60, 60, 60)) == 8
    assert generalizes(UNIFORM, nodes, values(40, 60, 60, 60), 8)


@pytest.mark.parametrize(
    "subgroups",
    [
        [((30, 60), (1, 2)), ((40, 50), (1, 2))],
        [((40, 60, 60), (1, 2, 0)), ((60,), (0,))],
        [((40,), (0,)), ((30,), (0,)), ((50,), (0,))],
    ],
    ids=["911 by gender", "913 by gender", "912 by zip"],
)
def test_private_subgroups_make_a_private_group(subgroups):
    for amounts, nodes in subgroups:
        assert imbalance(UNIFORM, copies(*nodes)) == 0
        assert generalizes(UNIFORM, copies(*nodes), values(*amounts))
    together = copies(*(node for _, nodes in subgroups for node in nodes))
    assert imbalance(UNIFORM, together) == 0
    assert generalizes(UNIFORM, together, values(*(v for amounts, _ in subgroups for v in amounts)))


NO_DISTRIBUTION = {
    "nothing below the root": ([-1, 0, 0], [1, 0, 0]),
    "nothing below a node": ([-1, 0, 0, 0, 1, 1, 2, 2], [1, 1, 1, 1, 0, 0, 0, 0]),
    "negative": ([-1, 0, 0], [1, -1, 2]),
    "negative and nothing": ([-1, 0, 0], [1, -1, 1]),
    "two roots": ([-1, 0, 0, -1], [1, 1, 1, 1]),
}


@pytest.mark.parametrize(("parent", "weight"), NO_DISTRIBUTION.values(), ids=NO_DISTRIBUTION.keys())
def test_weights_that_are_no_distribution_keep_no_promise(parent, weight):
    target = Target(np.array(parent), np.array(weight))
    with pytest.raises(PromiseError, match="not a distribution"):
        probabilities(target)
    copies_shown = copies(1, 1, 3 if len(parent) > 3 else 2, number=len(parent))
    verdict = PPrivacy(target="uniform").check(groups_of_copies(target, [copies_shown]))
    assert (verdict.holds, verdict.observed, verdict.failing) == (False, {"tolerance": None}, 1)


def test_a_node_that_is_never_reached_may_weigh_nothing_below():
    target = Target(np.array([-1, 0, 0, 2, 2]), np.array([1, 3, 0, 0, 0]))
    assert probabilities(target) == (1, 1, 0, 0, 0)
    assert imbalance(target, copies(0, 1, 1, number=5)) == 0
    assert imbalance(target, copies(1, 2, number=5)) is None
    assert imbalance(target, copies(1, 2, number=5)) != 0


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


def nodes_below(target, node):
    return [node] + [n for child in children(target, node) for n in nodes_below(target, child)]


def split_as_weights(target, copies_shown):
    """The equivalent statement: what is strictly below a node is split as the weights are."""
    if any(copies_shown[n] and not p for n, p in enumerate(probabilities(target))):
        return False
    for node in range(len(target.parent)):
        kids = children(target, node)
        if not kids or not probabilities(target)[node]:
            continue
        below = [sum(int(copies_shown[n]) for n in nodes_below(target, child)) for child in kids]
        weights = [int(target.weight[child]) for child in kids]
        if any(b * sum(weights) != w * sum(below) for b, w in zip(below, weights, strict=True)):
            return False
    return True


def farthest(target, copies_shown):
    """By the definition: a row has a node at random, and below it a value as likely as P says.

    None where a node without P is shown, else the largest |chance(t) - P(t)| / P(t).
    """

    def chance(node):
        kids = children(target, node)
        weights = sum(int(target.weight[kid]) for kid in kids)
        if not kids:
            return {node: Fraction(1)}
        parts = [(Fraction(int(target.weight[kid]), weights), chance(kid)) for kid in kids]
        return {leaf: share * p for share, part in parts for leaf, p in part.items()}

    chances, rows = chance(0), int(copies_shown.sum())
    below = [
        [n for n in nodes_below(target, node) if n in chances] for node in range(len(copies_shown))
    ]
    differences = dict.fromkeys(chances, Fraction(0))
    for node, number in enumerate(copies_shown.tolist()):
        mass = sum(chances[leaf] for leaf in below[node])
        if number and not mass:
            return None
        for leaf in below[node] if number else []:
            differences[leaf] += Fraction(number, rows) * chances[leaf] / mass
    return max(abs(differences[leaf] - p) / p for leaf, p in chances.items() if p)


def test_imbalance_is_the_distance_of_the_chances():
    rng = np.random.default_rng(11)
    outcomes = {"private": 0, "off": 0, "impossible": 0}
    for _ in range(1500):
        target = random_target(rng, depth=int(rng.integers(1, 4)))
        copies_shown = np.zeros(len(target.parent), dtype=np.int64)
        if rng.random() < 0.5:
            drop(rng, target, copies_shown, 0, int(rng.integers(1, 13)))
        else:
            np.add.at(copies_shown, rng.integers(0, len(copies_shown), int(rng.integers(1, 8))), 1)
        if rng.random() < 0.3:
            copies_shown[int(rng.integers(len(copies_shown)))] += 1
        off = farthest(target, copies_shown)
        assert imbalance(target, copies_shown) == off
        outcomes["impossible" if off is None else "off" if off else "private"] += 1
    assert min(outcomes.values()) > 200


def test_balance_is_that_of_every_split():
    rng = np.random.default_rng(3)
    private = 0
    for _ in range(3000):
        target = random_target(rng, depth=int(rng.integers(1, 3)))
        copies_shown = np.zeros(len(target.parent), dtype=np.int64)
        if rng.random() < 0.6:  # made to be private, and perhaps disturbed
            drop(rng, target, copies_shown, 0, int(rng.integers(1, 13)))
        else:
            copies_shown[rng.integers(0, len(copies_shown), int(rng.integers(1, 8)))] += 1
        if copies_shown.sum() and rng.random() < 0.2:
            copies_shown[int(rng.integers(len(copies_shown)))] += 1
        is_balanced = imbalance(target, copies_shown) == 0
        assert is_balanced == split_as_weights(target, copies_shown)
        private += is_balanced
    assert 500 < private < 2900


def drop(rng, target, copies_shown, node, number):
    """Copies at a node or below it, in whole proportions."""
    kids = children(target, node)
    total = int(target.weight[kids].sum()) if kids else 0
    most = number // total if total else 0
    times = int(rng.integers(0, most + 1)) if kids else 0
    copies_shown[node] += number - times * total
    for kid in kids:
        if target.weight[kid] and times:
            drop(rng, target, copies_shown, kid, times * int(target.weight[kid]))


def is_matched(target, copies_shown, amounts, fakes):
    """Tell if copies and values match one for one, by augmenting paths; a fake is any value."""
    slots = [n for n, c in enumerate(copies_shown) for _ in range(int(c))]
    values_given = [v for v, c in enumerate(amounts) for _ in range(int(c))] + [None] * fakes
    if len(slots) != len(values_given):
        return False
    above = {
        leaf: {n for n in range(len(copies_shown)) if leaf in nodes_below(target, n)}
        for leaf in leaves(target)
    }
    owner = {}

    def place(i, seen):
        for j, node in enumerate(slots):
            if j not in seen and (values_given[i] is None or node in above[values_given[i]]):
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    return all(place(i, set()) for i in range(len(values_given)))


def test_generalizing_is_matching():
    rng = np.random.default_rng(8)
    yes = 0
    for _ in range(2500):
        target = random_target(rng, depth=2)
        number, fakes = int(rng.integers(1, 7)), int(rng.integers(0, 3))
        amounts = np.zeros(len(target.parent), dtype=np.int64)
        for leaf in rng.choice(leaves(target), number):
            amounts[leaf] += 1
        copies_shown = np.bincount(
            rng.integers(0, len(target.parent), number + fakes), minlength=len(target.parent)
        )
        is_match = generalizes(target, copies_shown, amounts, fakes)
        assert is_match == is_matched(target, copies_shown, amounts, fakes)
        yes += is_match
    assert 150 < yes < 2400


def groups_of_copies(target, groups):
    entries = [(g, n, int(c)) for g, row in enumerate(groups) for n, c in enumerate(row) if c]
    group, node, count = (np.array(column) for column in zip(*entries, strict=True))
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


def test_a_group_without_subdomains_is_not_measured():
    copies_of_groups = groups_of_copies(UNIFORM, [copies(0), copies(1, 2)])
    subdomains = copies_of_groups.subdomains["s"]
    first = subdomains.group == 0
    for missing in (first, np.zeros(len(first), dtype=bool)):
        part = Subdomains(
            subdomains.group[missing],
            subdomains.node[missing],
            subdomains.count[missing],
            subdomains.target,
            subdomains.targets,
        )
        groups = Groups(copies_of_groups.sizes, {}, subdomains={"s": part})
        verdict = PPrivacy(target="uniform").check(groups)
        assert (verdict.holds, verdict.observed, verdict.failing) == (False, {"tolerance": None}, 2)
        assert PPrivacy(target="uniform").failing(groups).tolist() == [True, True]
    assert not PPrivacy(target="uniform", sensitive="t").check(copies_of_groups).holds
    nothing = Groups(np.array([], dtype=np.int64), {}, subdomains={"s": subdomains})
    assert not PPrivacy(target="uniform").check(nothing).holds


def test_before_subdomains_are_chosen_only_trying_can_tell():
    promise = PPrivacy(target="uniform", sensitive="s")
    assert promise.feasible(Groups(np.array([4]), {})) is None
    assert promise.feasible(groups_of_copies(UNIFORM, [copies(3, 4, 2, 2)])).holds
    assert not promise.feasible(groups_of_copies(UNIFORM, [copies(3, 4)])).holds
    assert imbalance(UNIFORM, copies(0, 0, 0)) == 0


def test_each_group_is_held_to_its_own_target_in_any_order_of_entries():
    rng = np.random.default_rng(13)
    skewed = Target(np.array([-1, 0, 0]), np.array([1, 2, 1]))
    entries = [
        (0, 1, 2),
        (0, 2, 1),
        (1, 1, 1),
        (1, 2, 1),
        (2, 1, 1),
        (2, 2, 1),
        (3, 1, 2),
        (3, 2, 1),
    ]
    even = Target(np.array([-1, 0, 0]), np.array([1, 1, 1]))
    for _ in range(20):
        group, node, count = np.array(entries)[rng.permutation(len(entries))].T
        targets = Subdomains(group, node, count, np.array([0, 1, 0, 1]), (skewed, even))
        groups = Groups(np.array([3, 2, 2, 3]), {}, subdomains={"s": targets})
        scores = PPrivacy(target="uniform").measure(groups)["tolerance"].tolist()
        assert scores == [0, 0, Fraction(1, 2), Fraction(1, 3)]
        failing = PPrivacy(target="uniform", tolerance="0.4").failing(groups)
        assert failing.tolist() == [False, False, True, False]


def test_the_tolerance_is_met_exactly():
    groups = groups_of_copies(
        Target(np.array([-1, 0, 0]), np.array([1, 1, 1])), [copies(1, 1, 1, 2, 2, number=3)]
    )
    for tolerance, holds in (("0.2", True), ("0.1999999999999999999999", False)):
        verdict = PPrivacy(target="uniform", tolerance=tolerance).check(groups)
        assert (verdict.observed, verdict.holds) == ({"tolerance": Fraction(1, 5)}, holds)


def test_merging_keeps_every_promise_that_the_parts_kept():
    rng = np.random.default_rng(17)
    passes = 0
    for _ in range(400):
        target = random_target(rng, depth=2)
        rows = []
        for _ in range(4):
            row = np.zeros(len(target.parent), dtype=np.int64)
            drop(rng, target, row, 0, int(rng.integers(4, 20)))
            reachable = [n for n, p in enumerate(probabilities(target)) if p]
            row[rng.choice(reachable)] += int(rng.integers(0, 2))
            rows.append(row)
        groups = groups_of_copies(target, rows)
        merged = merge(groups, np.unique(rng.integers(0, 3, 4), return_inverse=True)[1])
        for tolerance in ("0", "0.3", "0.9"):
            promise = PPrivacy(target="uniform", tolerance=tolerance)
            if promise.check(groups).holds:
                passes += 1
                assert promise.check(merged).holds
    assert passes > 150


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


@pytest.mark.parametrize(
    "document",
    [
        {"target": "normal"},
        {"target": {"normal": {"mean": 3}}},
        {"target": {"normal": {"mean": 3, "variance": 0}}},
        {"target": {"normal": {"mean": 3, "variance": 2, "sd": 1}}},
        {"target": {"zipf": -1}},
        {"target": {"zipf": 1, "file": "p.csv"}},
        {"target": {"file": ""}},
        {"target": "uniform", "tolerance": -1},
        {"target": "uniform", "tolerance": 1},
        {"target": "uniform", "tolerance": "nan"},
        {},
    ],
)
def test_a_target_that_means_nothing_is_refused(document):
    with pytest.raises(ValidationError):
        TypeAdapter(PPrivacy).validate_python({"model": "p-privacy"} | document)
