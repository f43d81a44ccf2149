"""The running table of the distribution paper, and the vectors of its two algorithms."""

from itertools import combinations

import numpy as np
import pytest

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import generalizes, imbalance
from sfumato.tasks.partitions.targets.distribution import uniform, weights_of_counts
from sfumato.tasks.partitions.targets.fakes import costs, mean_width, with_fakes
from sfumato.tasks.partitions.targets.minimum import minimum
from sfumato.tasks.partitions.targets.tree import balanced_tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate

SALARIES = [30, 40, 50, 60]
PEOPLE = [
    ("91110", "F", 30),
    ("91110", "M", 40),
    ("91110", "M", 50),
    ("91130", "F", 60),
    ("91210", "F", 40),
    ("91220", "F", 30),
    ("91240", "F", 50),
    ("91310", "M", 40),
    ("91320", "M", 60),
    ("91330", "M", 60),
    ("91340", "F", 60),
]
SIXTEEN = [1, 1, 1, 2, 3, 4, 5, 6, 7, 9, 9, 11, 11, 13, 13, 15, 15]


class Even:
    """The balanced binary tree over some numbers, all as likely."""

    def __init__(self, domain):
        self.domain = list(domain)
        self.tree = balanced_tree(len(self.domain), 2)
        self.target = annotate(self.tree, uniform(len(self.domain))).target
        self.ranges = self.tree.ranges(np.array(self.domain))

    def counts(self, values):
        return self.tree.at_leaves(np.array([values.count(v) for v in self.domain]))

    def subdomains_of(self, copies):
        """The subdomains by their ends, ascending."""
        nodes = np.repeat(np.arange(len(copies)), copies)
        ends = zip(self.tree.first[nodes], self.tree.last[nodes], strict=True)
        return sorted((self.domain[low], self.domain[high]) for low, high in ends)

    def minimum(self, values):
        return self.subdomains_of(minimum(self.target, self.counts(values)))


def ones(*values):
    return [(v, v) for v in values]


@pytest.mark.parametrize(
    ("values", "subdomains"),
    [
        ([30, 30, 40, 40, 50, 60], [*ones(30, 40, 50, 60), (30, 60), (30, 60)]),
        ([30, 40, 50], [(30, 40), (50, 60), (30, 60)]),
        ([40, 60, 60, 60], [(30, 40), (50, 60), (30, 60), (30, 60)]),
        ([30, 40, 50, 60], ones(30, 40, 50, 60)),
    ],
)
def test_least_ranges_of_the_paper(values, subdomains):
    assert Even(SALARIES).minimum(values) == sorted(subdomains)


@pytest.mark.parametrize(
    ("zips", "alone"),
    [
        ("911", [[(30, 40), (50, 60)], [(30, 40), (50, 60)]]),
        ("912", [[(30, 60)], [(30, 60)], [(30, 60)]]),
        ("913", [[(30, 60)], [(30, 40), (50, 60), (30, 60)]]),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_the_running_table(zips, alone, whole):
    """Each owner's group as a whole, then by gender in 911 and 913, and by zip in 912."""
    salaries = Even(SALARIES)
    group = [row for row in PEOPLE if row[0].startswith(zips)]
    part = {"911": 1, "912": 0, "913": 1}[zips]
    subgroups = [
        [s for *key, s in group if key[part] == key_value]
        for key_value in sorted({r[part] for r in group})
    ]
    if whole:
        subdomains = salaries.minimum([row[2] for row in group])
        expected = {
            "911": ones(30, 40, 50, 60),
            "912": [(30, 40), (30, 60), (50, 60)],
            "913": [(30, 40), (30, 60), (30, 60), (50, 60)],
        }
        assert subdomains == expected[zips]
    else:
        subdomains_apart = [salaries.minimum(group_salaries) for group_salaries in subgroups]
        assert sorted(subdomains_apart) == sorted(sorted(ranges) for ranges in alone)


@pytest.mark.parametrize(("budget", "passed"), [(15, [2, 4, 4, 2]), (5, [0, 0, 0, 0])])
def test_the_allocation_vector(budget, passed):
    """Four parts with 3, 8, 6, 9 values and the weights 1, 2, 2, 1, below a node with a budget."""
    target = Target(np.array([-1, 0, 0, 1, 1, 1, 1]), np.array([1, budget, 1, 1, 2, 2, 1]))
    copies = minimum(target, np.array([0, 0, 1, 3, 8, 6, 9]))
    assert copies[3:].tolist() == passed
    assert copies[1:3].tolist() == [budget - sum(passed), 1]


@pytest.mark.parametrize(
    ("domain", "values", "expected"),
    [
        (range(1, 9), [1, 3, 5], [13, 4, 11]),
        (range(1, 9), [1, 3, 5, 7], [4, 11, 10, 17, 0]),
        (range(1, 9), [1, 2, 3, 5, 6, 7, 7], [17, 2, 7]),
        (range(1, 17), SIXTEEN, [47, 38]),
        (SALARIES, [40, 60, 60, 60], [80, 50, 40, 50, 20, 30, 20, 50, 0]),
    ],
)
def test_least_ranges_with_exactly_so_many_fakes(domain, values, expected):
    even = Even(domain)
    counts = even.counts(values)
    most = len(expected) - 1
    assert costs(even.target, counts, even.ranges, most) == expected
    assert (minimum(even.target, counts) * even.ranges).sum() == expected[0]
    result = with_fakes(even.target, counts, even.ranges, most)
    assert result.cost == min(expected) == (result.copies * even.ranges).sum()
    assert result.fakes.sum() == expected.index(min(expected))
    assert imbalance(even.target, result.copies) == 0
    assert generalizes(even.target, result.copies, counts + result.fakes)


@pytest.mark.parametrize(
    ("fake", "cost"), [(8, 38), (9, 46), (10, 44), (11, 46), (12, 44), (14, 44), (16, 44)]
)
def test_one_chosen_fake_among_sixteen_values(fake, cost):
    even = Even(range(1, 17))
    copies = minimum(even.target, even.counts([*SIXTEEN, fake]))
    assert (copies * even.ranges).sum() == cost


def test_the_best_single_fake_is_found():
    even = Even(range(1, 17))
    result = with_fakes(even.target, even.counts(SIXTEEN), even.ranges, 1)
    assert result.fakes[even.tree.leaf].tolist() == [v == 8 for v in even.domain]
    wide = [(1, 16), (9, 10), (11, 12), (13, 14), (15, 16)]
    assert even.subdomains_of(result.copies) == sorted([*wide, *wide, *ones(*range(1, 9))])


def test_two_chosen_fakes_that_are_a_local_optimum():
    even = Even(range(1, 9))
    subdomains = even.minimum([1, 3, 5, 7, 1, 5])
    assert subdomains == [(1, 2), (1, 4), (3, 4), (5, 6), (5, 8), (7, 8)]
    assert sum(high - low for low, high in subdomains) == 10
    result = with_fakes(even.target, even.counts([1, 3, 5, 7]), even.ranges, 2)
    assert (result.cost, result.fakes.sum()) == (4, 0)


def test_eight_fakes_make_three_of_each():
    even = Even(SALARIES)
    result = with_fakes(even.target, even.counts([40, 60, 60, 60]), even.ranges, 8)
    assert even.subdomains_of(result.copies) == sorted(ones(*SALARIES) * 3)
    assert result.fakes[even.tree.leaf].tolist() == [3, 2, 3, 0]


def test_a_groups_own_distribution_costs_nothing():
    """One group, P its own exact distribution: a permutation, though no ratio is round."""
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 40, 89)
    tree = balanced_tree(89, 2)
    target = annotate(tree, weights_of_counts(counts)).target
    copies = minimum(target, tree.at_leaves(counts))
    assert copies[tree.leaf].tolist() == counts.tolist()


def test_exact_ratios_leave_small_groups_at_the_root_and_rounded_ones_do_not():
    rng = np.random.default_rng(5)
    values = rng.integers(0, 89, 1427)
    tree = balanced_tree(89, 2)
    weights = weights_of_counts(np.bincount(values, minlength=89))
    groups = [
        tree.at_leaves(np.bincount(part, minlength=89)) for part in np.array_split(values, 20)
    ]
    at_root = {}
    for denominator in (None, 16):
        annotated = annotate(tree, weights, denominator)
        copies = [minimum(annotated.target, group) for group in groups]
        assert all(imbalance(annotated.target, group_copies) == 0 for group_copies in copies)
        at_root[denominator] = sum(int(group_copies[0]) for group_copies in copies)
    assert at_root[None] == 1427
    assert at_root[16] < 1427 // 2


def test_the_number_of_fakes_by_the_width_of_the_mean():
    """Of 0 to 8 fakes for {40, 60, 60, 60}: the width of the sum of four of the values."""
    even = Even(SALARIES)
    counts = even.counts([40, 60, 60, 60])
    low, high = (np.array(SALARIES)[ends] for ends in (even.tree.first, even.tree.last))
    widths = []
    for fakes in range(9):
        exactly = with_fakes(
            even.target, counts, even.ranges, 8, lambda c, n=fakes: abs(c.sum() - 4 - n)
        )
        subdomains = even.subdomains_of(exactly.copies)
        sums = [
            (sum(ends[0] for ends in four), sum(ends[1] for ends in four))
            for four in combinations(subdomains, 4)
        ]
        widths.append(max(top for _, top in sums) - min(bottom for bottom, _ in sums))
    result = with_fakes(
        even.target, counts, even.ranges, 8, lambda copies: mean_width(low, high, copies, 4)
    )
    assert widths[0] == 80
    assert result.fakes.sum() == widths.index(min(widths))
    assert mean_width(low, high, result.copies, 4) == (min(widths), result.fakes.sum())
