"""Trees are made of runs, distributions are exact, annotations are as near as they can be."""

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import exp, gcd

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.subdomains import probabilities
from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.expectations.shared.exact import exact
from sfumato.tasks.partitions.distribution.with_targets import chances
from sfumato.tasks.partitions.targets import trees_with_weights
from sfumato.tasks.partitions.targets.distribution import (
    normal,
    uniform,
    weights_of_counts,
    whole,
    zipf,
)
from sfumato.tasks.partitions.targets.given import read_lines, weights_from_rows
from sfumato.tasks.partitions.targets.tree import balanced_tree, median_tree, taxonomy_tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate, nearest_ratios
from sfumato.tasks.schema.hierarchy import Hierarchy, from_order

WEIGHTS = st.lists(st.integers(0, 9), min_size=1, max_size=14).filter(any)


@given(weights=WEIGHTS)
def test_whole_weights_are_exact_chances(weights):
    chances_found = chances(np.array(weights))
    assert chances_found == tuple(Fraction(weight, sum(weights)) for weight in weights)


def families(tree):
    """The children of each inner node, in the order of the domain."""
    below = {}
    for node in np.argsort(tree.first, kind="stable").tolist():
        below.setdefault(int(tree.parent[node]), []).append(node)
    assert below.pop(-1) == [0]
    return below


def assert_is_tree(tree, n, arity=None):
    """Nodes are runs that their children cut up; there is one leaf for each position."""
    assert (tree.first[0], tree.last[0]) == (0, n - 1)
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    below = families(tree)
    for node, children in below.items():
        starts = [int(tree.first[child]) for child in children]
        ends = [int(tree.last[child]) for child in children]
        assert starts == [tree.first[node], *(end + 1 for end in ends[:-1])]
        assert ends[-1] == tree.last[node]
        assert 2 <= len(children) <= (arity or n)
    leaves = set(range(len(tree.parent))) - set(below)
    assert [leaves, len(leaves)] == [set(tree.leaf.tolist()), n]
    assert tree.first[tree.leaf].tolist() == tree.last[tree.leaf].tolist() == list(range(n))


def sizes(tree, nodes):
    return [int(tree.last[node] - tree.first[node]) + 1 for node in nodes]


@given(st.integers(1, 200), st.integers(2, 6))
def test_a_balanced_tree_is_even_and_low(n, arity):
    tree = balanced_tree(n, arity)
    assert_is_tree(tree, n, arity)
    for node, children in families(tree).items():
        parts = sizes(tree, children)
        assert parts == sorted(parts, reverse=True)
        assert parts[0] - parts[-1] <= 1
        assert len(parts) == min(arity, sizes(tree, [node])[0])
    depth = np.zeros(len(tree.parent), dtype=int)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + 1
    assert arity ** (int(depth.max()) - 1) < n <= arity ** int(depth.max()) or n == 1


@given(WEIGHTS, st.integers(2, 4))
def test_a_median_tree_is_cut_where_the_weights_are_nearest(weights, arity):
    tree = median_tree(weights, arity)
    assert_is_tree(tree, len(weights), arity)
    for children in families(tree).values():
        parts = [sum(weights[tree.first[c] : tree.last[c] + 1]) for c in children]
        assert len(parts) == min(arity, sum(sizes(tree, children)))
        if not sum(parts):
            assert max(sizes(tree, children)) - min(sizes(tree, children)) <= 1
        elif len(parts) == 2:
            first, last = tree.first[children[0]], tree.last[children[1]]
            cuts = [sum(weights[first:position]) for position in range(first + 1, last + 1)]
            assert abs(2 * parts[0] - sum(parts)) == min(abs(2 * c - sum(parts)) for c in cuts)


def test_a_median_tree_of_three_parts():
    tree = median_tree([1, 1, 1, 1, 1, 1, 6], 3)
    assert [(int(tree.first[n]), int(tree.last[n])) for n in (1, 2, 3)] == [(0, 3), (4, 5), (6, 6)]


def ancestors_of(hierarchy):
    levels = [hierarchy.level(level) for level in range(hierarchy.height + 1)]
    return np.array([np.unique(level, return_inverse=True)[1] for level in levels])


@given(
    st.lists(st.sampled_from(["ab", "ac", "ba", "bb", "bc", "ca"]), min_size=1, max_size=9),
    st.randoms(),
)
def test_a_taxonomy_has_a_node_for_each_set_of_leaves(groups, random):
    rows = [(f"{g}{i}", g, g[0], "*") for i, g in enumerate(groups)]
    random.shuffle(rows)
    hierarchy = Hierarchy("kind", tuple(rows))
    tree, order = taxonomy_tree(ancestors_of(hierarchy))
    assert_is_tree(tree, len(rows))
    assert sorted(order.tolist()) == list(range(len(rows)))
    leaf_sets = [
        frozenset(order[low : high + 1].tolist())
        for low, high in zip(tree.first, tree.last, strict=True)
    ]
    expected = {
        frozenset(i for i, row in enumerate(rows) if row[level] == label)
        for level in range(4)
        for label in hierarchy.level(level)
    }
    assert len(leaf_sets) == len(set(leaf_sets))
    assert set(leaf_sets) == expected


def test_a_taxonomy_of_ordered_runs_keeps_the_order():
    hierarchy = from_order("pain", [2, 4], ["0", "1", "2", "3", "4", "5"])
    tree, order = taxonomy_tree(ancestors_of(hierarchy))
    assert order.tolist() == [0, 1, 2, 3, 4, 5]
    assert sorted(sizes(tree, range(len(tree.parent)))) == [1] * 6 + [2, 2, 2, 4, 6]


def test_ranges_and_places():
    tree = balanced_tree(4, 2)
    assert tree.ranges(np.array([30, 40, 55, 60])).tolist() == [30, 10, 5, 0, 0, 0, 0]
    assert tree.steps.tolist() == [3, 1, 1, 0, 0, 0, 0]
    assert tree.at_leaves(np.array([5, 6, 7, 8]))[tree.leaf].tolist() == [5, 6, 7, 8]
    assert tree.at_leaves(np.array([5, 6, 7, 8]))[:3].tolist() == [0, 0, 0]


def shares(target):
    return {
        node: [int(target.weight[c]) for c in np.flatnonzero(target.parent == node)]
        for node in set(target.parent[1:].tolist())
    }


def weights_below(tree, weights):
    """The weight of the values below each node."""
    spans = zip(tree.first, tree.last, strict=True)
    return [sum(weights[low : high + 1]) for low, high in spans]


def difference(parts, weights_found):
    return sum(
        abs(Fraction(n, sum(weights_found)) - Fraction(part, sum(parts)))
        for n, part in zip(weights_found, parts, strict=True)
    )


def best_sums(parts, denominator):
    """The least difference of any positive weights that add up to so much, and the least sum."""
    return min(
        (difference(parts, weights_found), sum(weights_found))
        for weights_found in product(range(1, denominator + 1), repeat=len(parts))
        if sum(weights_found) <= denominator
    )


@given(WEIGHTS, st.integers(2, 4))
def test_exact_annotations_are_the_distribution(weights, arity):
    tree = balanced_tree(len(weights), arity)
    annotated = annotate(tree, np.array(weights))
    assert annotated.distance == 0
    chances = probabilities(annotated.target)
    assert [chances[leaf] for leaf in tree.leaf] == [Fraction(w, sum(weights)) for w in weights]
    assert all(gcd(*parts) in (0, 1) for parts in shares(annotated.target).values())


@given(WEIGHTS, st.integers(2, 3), st.integers(2, 9))
def test_rounded_annotations_are_as_near_as_the_denominator_allows(weights, arity, denominator):
    tree = balanced_tree(len(weights), arity)
    above = weights_below(tree, weights)
    most = max(
        (sum(above[c] > 0 for c in children) for children in families(tree).values()), default=0
    )
    if most > denominator:
        with pytest.raises(SpecError, match=f"a node has {most} possible parts"):
            annotate(tree, np.array(weights), denominator)
        return
    annotated = annotate(tree, np.array(weights), denominator)
    for node, shares_given in shares(annotated.target).items():
        parts = [above[c] for c in np.flatnonzero(tree.parent == node)]
        possible = [(part, n) for part, n in zip(parts, shares_given, strict=True) if part]
        assert all(n == 0 for part, n in zip(parts, shares_given, strict=True) if not part)
        if possible:
            exactly, rounded = zip(*possible, strict=True)
            assert (difference(exactly, rounded), sum(rounded)) == best_sums(exactly, denominator)
            assert min(rounded) >= 1
    chances = probabilities(annotated.target)
    pairs = zip(weights, tree.leaf, strict=True)
    gaps = [abs(Fraction(w, sum(weights)) - chances[leaf]) for w, leaf in pairs]
    assert annotated.distance == sum(gaps) / 2


def test_three_parts_are_told_by_the_smallest_of_equally_good_sums():
    for weights, denominator, expected in (
        ([50, 30, 20], 10, [5, 3, 2]),
        ([500, 300, 201], 10, [5, 3, 2]),
        ([98, 1, 1], 10, [8, 1, 1]),
        ([98, 1, 1], 3, [1, 1, 1]),
        ([1, 3, 6], 6, [1, 1, 3]),
        ([0, 7, 7], 2, [0, 1, 1]),
        ([0, 7, 0], 1, [0, 1, 0]),
    ):
        annotated = annotate(balanced_tree(3, 3), np.array(weights), denominator)
        assert annotated.target.weight[1:].tolist() == expected


def test_of_two_parts_none_is_rounded_away():
    for weights, expected in (([98, 1], [9, 1]), ([1, 98], [1, 9]), ([2, 1], [2, 1])):
        annotated = annotate(balanced_tree(2, 2), np.array(weights), 10)
        assert annotated.target.weight[1:].tolist() == expected


@pytest.mark.parametrize(
    ("weights", "arity", "denominator"),
    [([1, 2], 2, 1), ([1, 1, 2], 3, 2), ([5, 0, 1, 1, 9], 5, 3)],
)
def test_a_denominator_smaller_than_the_parts_is_refused(weights, arity, denominator):
    tree = balanced_tree(len(weights), arity)
    with pytest.raises(SpecError, match=r"target: a node has \d possible parts, .* larger"):
        annotate(tree, np.array(weights), denominator)


def test_weights_beyond_int64_are_annotated_exactly():
    weights = np.array([10**30, 3 * 10**30 + 1, 0], dtype=object)
    tree = balanced_tree(3, 2)
    chances = probabilities(annotate(tree, weights).target)
    total = sum(weights)
    assert [chances[leaf] for leaf in tree.leaf] == [Fraction(int(w), total) for w in weights]
    rounded = annotate(tree, weights, 4)
    assert rounded.target.weight.dtype == np.int64
    assert 0 < rounded.distance < Fraction(1, 10**29)


def test_distributions_of_counts():
    assert weights_of_counts(np.array([4, 0, 6])).tolist() == [2, 0, 3]
    assert uniform(3).tolist() == [1, 1, 1]
    assert whole([10**30, 1]).dtype == object
    with pytest.raises(SpecError, match="a probability above 0"):
        weights_of_counts(np.array([0, 0]))


@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=12, unique=True),
    st.integers(-50, 50),
    st.integers(1, 400),
)
def test_normal_weights_are_as_the_density(amounts, mean, variance):
    values = exact(pa.array([Decimal(a) / 4 for a in sorted(amounts)], pa.decimal128(9, 2)), "s")
    weights_found = normal(values, Decimal(mean) / 4, Decimal(variance) / 16)
    distances = [(a - mean) ** 2 for a in sorted(amounts)]
    expected = [exp((min(distances) - d) / (2 * variance)) for d in distances]
    shares_ = [int(n) / max(weights_found.tolist()) for n in weights_found]
    assert shares_ == pytest.approx(expected, abs=1e-11)
    assert weights_found.min() >= 1
    assert [n for _, n in sorted(zip(distances, weights_found.tolist(), strict=True))] == sorted(
        weights_found.tolist(), reverse=True
    )


def test_far_from_the_mean_of_a_normal_nothing_is_impossible():
    values = exact(pa.array([0, 10**6, 2 * 10**6]), "s")
    assert normal(values, Decimal(-5), Decimal("0.001")).tolist() == [10**12, 1, 1]
    assert normal(values, Decimal(10**6), Decimal(1)).tolist() == [1, 10**12, 1]


@pytest.mark.parametrize("s", ["0", "0.1", "1", "2.5", "60", "100000000"])
def test_zipf_weights_are_as_the_law(s):
    weights_found = zipf(50, Decimal(s))
    shares_ = [int(n) / int(weights_found[0]) for n in weights_found]
    assert shares_ == pytest.approx([float(rank) ** -float(s) for rank in range(1, 51)], abs=1e-11)
    assert weights_found.min() >= 1
    assert sorted(weights_found.tolist(), reverse=True) == weights_found.tolist()


def given_by(path, text, domain):
    path.write_text(text)
    rows = [line[:2] if line else None for line in read_lines(path, "p.csv")]
    return weights_from_rows(rows, domain, "p.csv")


@pytest.mark.parametrize(
    ("text", "domain", "weights"),
    [
        ("40,0.25\n60.0,0.75\n", pa.array([30, 40, 50, 60]), [0, 1, 0, 3]),
        ("1.50;1\n", pa.array([Decimal("1.5"), Decimal(2)]), [1, 0]),
        ("0.1,0.5\n\n1e1,.5", pa.array([0.1, 10.0]), [1, 1]),
        ('flu,1E-1\r\n"colds, bad",9e-1\r\n', pa.array(["colds, bad", "flu"]), [9, 1]),
        ("40,0e999999999\n30,1\n", pa.array([30, 40]), [1, 0]),
        ("\ufeff40,0.3333333333\n30,0.6666666666", pa.array([30, 40]), [2, 1]),
    ],
)
def test_files_give_distributions(tmp_path, text, domain, weights):
    assert given_by(tmp_path / "p", text, domain).tolist() == weights


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("40,0.5\n45,0.5\n", "row 2: the column does not have this value"),
        ("40,0.5\nforty,0.5\n", "row 2: the column does not have this value"),
        ("nan,1\n", "row 1: the column does not have this value"),
        ("40,0.5\n\n40.0,0.5\n", "row 3: an earlier line has the same value"),
        ("30,1.5\n40,-0.5\n", "row 1: not a probability from 0 to 1"),
        ("40,-0.5\n", "row 1: not a probability from 0 to 1"),
        ("40,nan\n", "row 1: not a probability from 0 to 1"),
        ("40,half\n", "row 1: not a probability from 0 to 1"),
        ("40,1e-999999999\n", "row 1: a probability with more than 38 decimals"),
        ("40,0.5\n30,0.49999\n", "the probabilities do not add up to 1"),
        ("", "the probabilities do not add up to 1"),
        ("40,1\n30\n", "row 2: 1 fields, 2 in the header"),
        ('"40,1\n', "row 1: cannot be parsed as CSV"),
    ],
)
def test_files_that_give_none_are_refused(tmp_path, text, rule):
    with pytest.raises(InputError) as refusal:
        given_by(tmp_path / "p", text, pa.array([30, 40]))
    assert str(refusal.value) == f"p.csv: {rule}"


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"p.csv: cannot be read \(No such file"):
        read_lines(tmp_path / "absent", "p.csv")
    (tmp_path / "p").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"p.csv: not UTF-8"):
        read_lines(tmp_path / "p", "p.csv")


@given(
    st.lists(st.tuples(st.integers(1, 400), st.integers(1, 400)), min_size=1, max_size=20),
    st.integers(2, 16),
)
def test_ratios_in_bulk_are_the_nearest(pairs, denominator):
    first, other = np.array(pairs).T
    fractions = {Fraction(a, b) for b in range(2, denominator + 1) for a in range(1, b)}
    for a, b, tied, pair in zip(*nearest_ratios(first, other, denominator), pairs, strict=True):
        share = Fraction(pair[0], sum(pair))
        off = abs(share - Fraction(int(a), int(a + b)))
        gaps = [abs(share - fraction) for fraction in fractions]
        assert off == min(gaps)
        assert tied == (gaps.count(off) > 1)


@given(st.integers(2, 14), st.integers(1, 60))
def test_ratios_in_bulk_are_those_one_by_one(denominator, most):
    rng = np.random.default_rng(most)
    weights = np.append(rng.integers(0, most + 1, 30), 1)
    tree = balanced_tree(len(weights), 2)
    in_bulk = annotate(tree, weights, denominator).target.weight.tolist()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trees_with_weights, "can_be_compared", lambda total, denominator: False)
        assert annotate(tree, weights, denominator).target.weight.tolist() == in_bulk
