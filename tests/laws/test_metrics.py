"""Losses of a generalized table: worked values, bounds, and that coarser is never better."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tasks.partitions.full_domain.metrics import METRICS, Generalized, Original, domain

# three quasi-identifiers of four values: the node above each value at each level
LEVELS = [
    np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]),
    np.array([[0, 1, 2, 3], [0, 0, 0, 0]]),
    np.array([[0, 1, 2, 3], [0, 1, 1, 1], [0, 0, 0, 0]]),
]
UNITS = [None, np.array([0, 1, 5, 30]), np.array([2, 2**70, 2**71, 2**72], dtype=object)]
TOPS = (2, 1, 2)

ROWS = st.integers(0, 2**32).map(
    lambda seed: np.random.default_rng(seed).integers(
        0, np.array([4, 4, 4, 3]), (np.random.default_rng(seed).integers(1, 30), 4)
    )
)


def generalize_table(rows, node, gone=(), levels=LEVELS, units=UNITS, k=1):
    """The table at a node; the last column is the sensitive value. Rows `gone` are suppressed."""
    domains = tuple(
        domain(rows[:, axis], nodes, of_axis)
        for axis, (nodes, of_axis) in enumerate(zip(levels, units, strict=True))
    )
    _, counts = np.unique(rows, axis=0, return_counts=True)
    gone = np.isin(np.arange(len(rows)), list(gone))
    raised = [
        nodes[level][rows[:, i]] for i, (nodes, level) in enumerate(zip(levels, node, strict=True))
    ]
    keys, group = np.unique(np.stack(raised, axis=1)[~gone], axis=0, return_inverse=True)
    pairs, count = np.unique(
        np.stack([group.ravel(), rows[~gone, -1]], axis=1), axis=0, return_counts=True
    )
    return Generalized(
        original=Original(domains, counts),
        node=tuple(node),
        nodes=list(keys.T),
        sizes=np.bincount(group.ravel()),
        group=pairs[:, 0],
        value=pairs[:, 1],
        count=count,
        suppressed=np.bincount(rows[gone, -1], minlength=3),
        k=k,
    )


def nodes():
    return itertools.product(*(range(top + 1) for top in TOPS))


def test_worked_divergence():
    rows = np.array([[0, 0], [0, 0], [1, 0], [2, 1]])  # a, a, b, c; b and c are merged
    table = generalize_table(
        rows, [1], levels=[np.array([[0, 1, 2], [0, 1, 1], [0, 0, 0]])], units=[None]
    )
    assert METRICS["kl"](table) == pytest.approx(0.34657, abs=5e-6)


def test_worked_sizes():
    rows = np.repeat([[0, 0], [1, 1], [2, 2]], 4, axis=0)
    table = generalize_table(
        rows, [0], levels=[np.array([[0, 1, 2], [0, 0, 0]])], units=[None], k=4
    )
    assert METRICS["discernibility"](table) == 48
    assert METRICS["average-class-size"](table) == 1


def test_worked_penalties():
    ages = np.array([20, 30, 60])
    tree = np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    rows = np.array([[0, 0], [1, 0], [2, 0], [2, 0]])
    numeric = generalize_table(rows, [1], levels=[tree], units=[ages])
    assert METRICS["ncp"](numeric) == Fraction(2 * 10, 4 * 40)
    categorical = generalize_table(rows, [1], levels=[tree], units=[None])
    assert METRICS["ncp"](categorical) == Fraction(2 * 2, 4 * 3)
    assert METRICS["precision"](categorical) == Fraction(1, 2)
    suppressed = generalize_table(rows, [1], gone=[2, 3], levels=[tree], units=[ages])
    assert METRICS["ncp"](suppressed) == Fraction(2 * 10 + 2 * 40, 4 * 40)
    assert METRICS["precision"](suppressed) == Fraction(3, 4)
    assert METRICS["discernibility"](suppressed) == 2**2 + 2 * 4
    expected = (2 * np.log(2) + 2 * np.log(2)) / 4  # of 20 and 30: 2 of 1; of 60: 4 of 2
    assert METRICS["entropy"](suppressed) == pytest.approx(expected)


def test_values_that_do_not_occur_have_no_influence():
    rows = np.array([[1, 0], [3, 0]])
    table = generalize_table(rows, [1], levels=LEVELS[:1], units=[None])  # {0, 1} and {2, 3}
    assert METRICS["ncp"](table) == METRICS["entropy"](table) == METRICS["kl"](table) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_coarser_is_never_better(metric):
    seen = Counter()

    @settings(max_examples=max(settings().max_examples // 3, 16))
    @given(ROWS)
    def law(rows):
        costs = {node: METRICS[metric](generalize_table(rows, node)) for node in nodes()}
        for node, axis in itertools.product(costs, range(3)):
            above = tuple(level + (i == axis) for i, level in enumerate(node))
            if above in costs:
                assert costs[above] >= costs[node]
                seen[costs[above] > costs[node]] += 1

    law()
    assert seen[True] > 20


@given(ROWS, st.data())
def test_bounds(rows, data):
    node = data.draw(st.sampled_from(list(nodes())))
    gone = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=len(rows) - 1))
    table, bottom = generalize_table(rows, node, gone), generalize_table(rows, (0, 0, 0))
    for metric in ("precision", "ncp"):
        assert METRICS[metric](bottom) == 0
        assert 0 <= METRICS[metric](table) <= 1
    for metric in ("height", "entropy", "kl"):
        assert METRICS[metric](bottom) == 0
        assert METRICS[metric](table) >= 0
    assert METRICS["precision"](generalize_table(rows, TOPS)) == 1
    several = [len(set(column)) > 1 for column in rows.T.tolist()[:3]]
    assert METRICS["ncp"](generalize_table(rows, TOPS)) == Fraction(sum(several), 3)
    sizes = table.sizes.tolist()
    assert METRICS["discernibility"](table) == sum(n * n for n in sizes) + len(rows) * len(gone)


def test_squares_do_not_overflow():
    original = Original((), np.array([2**32]))
    none = np.array([0])
    table = Generalized(original, (), [], np.array([2**32]), none, none, np.array([2**32]), none)
    assert METRICS["discernibility"](table) == 2**64
