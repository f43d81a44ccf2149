"""The partition of least sum of ranges on the salaries and small multisets of its vectors."""

import numpy as np
import pytest

from sfumato.tasks.partitions.ke.ke import minimum_sum

SALARIES = [54, 55, 56, 65, 70, 75, 75, 80, 85]


def cut(values, k, e):
    distinct, counts = np.unique(values, return_counts=True)
    return minimum_sum(distinct, counts, k, e)


@pytest.mark.parametrize(
    ("k", "e", "cost", "sizes"),
    [(3, 2, 22, [3, 3, 3]), (3, 5, 26, [4, 5]), (2, 10, 26, [4, 5])],
)
def test_salaries(k, e, cost, sizes):
    bounds, total = cut(SALARIES, k, e)
    assert (total, np.diff(bounds).tolist()) == (cost, sizes)


@pytest.mark.parametrize(
    ("values", "k", "e", "cost"),
    [([1, 2, 3, 4], 2, 2, 3), ([0, 0, 0, 10, 10, 10], 2, 5, 10), ([5], 1, 0, 0)],
)
def test_small_multisets(values, k, e, cost):
    assert cut(values, k, e)[1] == cost


@pytest.mark.parametrize(("values", "k", "e"), [([1, 1, 1], 2, 0), ([1, 2, 3], 2, 3)])
def test_infeasible(values, k, e):
    assert cut(values, k, e) is None
