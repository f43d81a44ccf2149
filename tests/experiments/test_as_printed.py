"""The papers' algorithms as printed give what is printed, errors included."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.tasks.experiments.as_printed import (
    printed_clusters,
    printed_costs,
    printed_count,
    printed_groups,
    printed_presence,
)
from sfumato.tasks.partitions.cell_suppression.decompose import decompose, largest
from sfumato.tasks.partitions.targets.distribution import uniform
from sfumato.tasks.partitions.targets.fakes import costs
from sfumato.tasks.partitions.targets.tree import balanced_tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate
from tests.house.survey import arrows
from tests.papers.test_ambiguity import PEOPLE

PRINTED = "sfumato.tasks.experiments.as_printed"
DISEASES = sorted({row[3] for row in PEOPLE})


def code_people():
    """The sensitive values and the cells of the paper's people."""
    columns = list(zip(*PEOPLE, strict=True))
    codes = [np.unique(column, return_inverse=True)[1] for column in columns]
    return codes[3].astype(np.int64), np.column_stack(codes[:3])


def test_example_6_1_by_the_printed_algorithm():
    """Diabetes, 50 or older, zip 23000: printed 11/6, in the text 7/18."""
    counts = np.array([1, 1])
    shares = np.array([[2 / 4, 1 / 3], [2 / 3, 1 / 3]])
    assert Fraction(printed_count(counts, shares)).limit_denominator(100) == Fraction(11, 6)
    text = float((counts * shares.prod(axis=1)).sum())
    assert Fraction(text).limit_denominator(100) == Fraction(7, 18)


def test_one_attribute_is_estimated_alike():
    assert printed_count(np.array([3]), np.array([[0.5]])) == 1.5


def test_the_second_group_has_the_presence_of_its_diseases_and_not_of_its_people():
    values, cells = code_people()
    assert printed_presence(values[:4], cells[:4]) == pytest.approx(4 / 12)
    assert printed_presence(values[4:], cells[4:]) == pytest.approx(3 / 9)  # and not 4/9


def test_printed_groups_begin_with_one_row_too_many():
    """⌈1/β⌉ + 1 of them, of different values."""
    rng = np.random.default_rng(1)
    values = np.repeat(np.arange(6), 20)
    cells = rng.integers(0, 30, (120, 4))
    partition = printed_groups(values, cells, alpha=0.9, beta=0.5, rng=rng)
    placed = partition.group >= 0
    sizes = np.bincount(partition.group[placed])
    assert sizes.min() >= 3
    for group_number in range(len(sizes)):
        inside = values[partition.group == group_number]
        assert len(set(inside.tolist())) == len(inside)


def test_printed_groups_take_the_row_that_covers_least():
    """After one of the first value, the row of the second that is like it, and not the other."""
    values = np.array([0, 0, 0, 1, 1])
    cells = np.array([[0, 0], [0, 0], [0, 0], [1, 1], [0, 0]])
    partition = printed_groups(values, cells, alpha=5.0, beta=1.0, rng=np.random.default_rng(1))
    assert partition.group[3:].tolist() == [1, 0]


def test_printed_groups_that_would_grow_for_ever_are_left():
    values = np.arange(4)
    partition = printed_groups(
        values, np.zeros((4, 2), dtype=int), alpha=0.1, beta=0.5, rng=np.random.default_rng(1)
    )
    assert partition.endless == 1
    assert (partition.group == -1).all()


@pytest.mark.parametrize("seed", range(20))
def test_fakes_by_the_printed_recurrence_are_wrong_and_right_with_the_missing_term(seed):
    rng = np.random.default_rng(seed)
    domain = int(2 ** rng.integers(2, 5))
    tree = balanced_tree(domain, 2)
    ranges, target = tree.ranges(np.arange(domain)), annotate(tree, uniform(domain)).target
    values = rng.integers(0, domain, rng.integers(3, 12))
    counts = tree.at_leaves(np.bincount(values, minlength=domain))
    least = costs(target, counts, ranges, 4)
    printed = printed_costs(tree, counts, ranges, 4)
    assert printed[0] == least[0], "without fakes nothing is missing"
    assert printed[1:] != least[1:]
    assert printed_costs(tree, counts, ranges, 4, mended=True) == least


def test_the_papers_vector_of_fakes():
    """Values 1, 3, 5 of 1 to 8: 13, 4 and 11 with none, one and two fakes."""
    tree = balanced_tree(8, 2)
    ranges = tree.ranges(np.arange(1, 9))
    counts = tree.at_leaves(np.bincount([0, 2, 4], minlength=8))
    assert printed_costs(tree, counts, ranges, 2, mended=True) == [13, 4, 11]
    assert printed_costs(tree, counts, ranges, 2)[0] == 13


def test_a_centre_with_four_branches_of_two_is_cut_at_its_copy():
    """k = 3: a branch with the centre is cut off, then one with the copy, which is two rows."""
    centre_and_branches = np.array([-1, 0, 1, 0, 3, 0, 5, 0, 7])
    sizes = np.bincount(printed_clusters(centre_and_branches, 3))
    assert sorted(sizes.tolist()) == [2, 3, 4]
    weight = np.ones(9, dtype=np.int64)
    assert np.bincount(decompose(centre_and_branches, weight, 3)).min() >= 3


@pytest.mark.parametrize("seed", range(20))
def test_trees_that_are_cut_at_rows_alone_have_clusters_of_k_to_the_largest(seed):
    """A path is only ever cut at its edges."""
    rng = np.random.default_rng(seed)
    rows, k = int(rng.integers(8, 60)), int(rng.integers(2, 8))
    names = rng.permutation(rows)
    to = np.full(rows, -1, dtype=np.int64)
    to[names[:-1]] = names[1:]
    sizes = np.bincount(printed_clusters(to, min(k, rows)))
    assert sizes.sum() == rows
    assert k <= sizes.min() <= sizes.max() <= largest(k)


@pytest.mark.parametrize("seed", range(20))
def test_every_row_is_in_one_printed_cluster(seed):
    rng = np.random.default_rng(seed)
    rows, k = int(rng.integers(8, 60)), int(rng.integers(2, 8))
    to = np.array([-1, *(rng.integers(0, vertex) for vertex in range(1, rows))])
    sizes = np.bincount(printed_clusters(to, k), minlength=1)
    assert sizes.sum() == rows
    assert sizes.min() >= 1


def test_nothing_but_experiments_imports_what_is_printed():
    importing = {
        module
        for module, imported in arrows(with_types=True).items()
        if any(other.startswith(PRINTED) for other in imported)
    }
    assert importing
    assert all(module.startswith("sfumato.tasks.experiments.") for module in importing)
