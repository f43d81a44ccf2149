"""The objectives of the (k,e) partition on the salaries and small multisets of their vectors."""

import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.largest import minimum_max
from sfumato.tasks.partitions.ke.overlapping import minimum_max_overlapping
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.ke.weighted import minimum_weighted
from tests.adult import records

SALARIES = [54, 55, 56, 65, 70, 75, 75, 80, 85]


def cut_values(method, values, k, e):
    distinct, counts = np.unique(values, return_counts=True)
    return method(distinct, counts, k, e)


def members(values, bounds, group=None):
    pieces = [sorted(values)[i:j] for i, j in itertools.pairwise(bounds)]
    group = range(len(pieces)) if group is None else group.tolist()
    return [
        [
            value
            for piece, number in zip(pieces, group, strict=True)
            if number == g
            for value in piece
        ]
        for g in sorted(set(group))
    ]


@pytest.mark.parametrize(
    ("k", "e", "weighted", "largest", "overlapping", "sizes"),
    [(3, 2, 66, 10, 10, [3, 3, 3]), (3, 5, 119, 15, None, [4, 5]), (2, 10, 119, 15, 11, [4, 5])],
)
def test_salaries(k, e, weighted, largest, overlapping, sizes):
    bounds, cost = cut_values(minimum_weighted, SALARIES, k, e)
    assert (cost, np.diff(bounds).tolist()) == (weighted, sizes)
    bounds, width = cut_values(minimum_max, SALARIES, k, e)
    assert (width, np.diff(bounds).tolist()) == (largest, sizes)
    chain = cut_values(minimum_max_overlapping, SALARIES, k, e)
    assert chain.apart == largest
    if overlapping is not None:
        assert chain.largest == overlapping


def test_groups_that_overlap():
    chain = cut_values(minimum_max_overlapping, [1, 2, 3, 4], 2, 2)
    assert (chain.apart, chain.largest) == (3, 2)
    assert members([1, 2, 3, 4], chain.bounds, chain.group) == [[1, 3], [2, 4]]
    assert cut_values(minimum_max, [1, 2, 3, 4], 2, 2)[1] == 3


def test_the_worst_known_ratio():
    values = [0, 6, 9, 9, 10, 12, 14, 15, 19, 19]
    chain = cut_values(minimum_max_overlapping, values, 4, 8)
    assert (chain.largest, chain.apart) == (10, 19)


@pytest.mark.parametrize(
    ("values", "k", "e", "of_runs", "of_any"),
    [([0, 1, 4, 6], 2, 4, 24, 18), ([1, 3, 6, 6], 2, 0, 20, 16), ([1, 2, 3, 4], 2, 2, 12, 8)],
)
def test_the_weighted_sum_is_least_among_runs_only(values, k, e, of_runs, of_any):
    assert cut_values(minimum_weighted, values, k, e)[1] == of_runs
    pairs = [
        [[values[0], values[i]], [v for j, v in enumerate(values) if j not in (0, i)]]
        for i in (1, 2, 3)
    ]
    valid = [p for p in pairs if all(len(set(g)) >= k and max(g) - min(g) >= e for g in p)]
    assert min(sum(len(g) * (max(g) - min(g)) for g in p) for p in valid) == of_any


METHODS = (minimum_weighted, minimum_max, minimum_max_overlapping)


@pytest.mark.parametrize("method", METHODS)
def test_values_with_copies(method):
    parts = cut_values(method, [0, 0, 0, 10, 10, 10], 2, 5)
    largest = 60 if method is minimum_weighted else 10
    assert (parts[1] if method is not minimum_max_overlapping else parts.largest) == largest


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("values", "k", "e"), [([1, 1, 1], 2, 0), ([1, 2, 3], 2, 3)])
def test_infeasible(method, values, k, e):
    assert cut_values(method, values, k, e) is None


@pytest.mark.parametrize("method", METHODS)
def test_one_value_is_a_group_where_nothing_is_asked(method):
    parts = cut_values(method, [5], 1, 0)
    assert parts[0].tolist() == [0, 1]
    assert (parts[1] if method is not minimum_max_overlapping else parts.largest) == 0


def test_the_random_baseline_is_refused_where_no_group_closes():
    table = Microdata((encode("loss", "sensitive", pa.array([1, 1, 1])),), 3)
    promise = KEAnonymity(k=2, e=Decimal(0), sensitive="loss")
    parameters = KEParameters.model_construct(method="ke", objective="random")
    with pytest.raises(PromiseError, match="cannot be kept"):
        ke.partition(table, [], [promise], parameters, seeded_keys(0))


def test_capital_losses_of_adult():
    """The data of the experiments: 1,427 people with a loss and no missing values."""
    losses = [int(row[11]) for row in records() if int(row[11]) and "?" not in row]
    assert (len(losses), len(set(losses)), min(losses), max(losses)) == (1427, 89, 155, 4356)
    chain = cut_values(minimum_max_overlapping, losses, 5, 100)
    assert chain.largest <= chain.apart <= 2 * chain.largest
    assert chain.bound == chain.largest
    for group in members(losses, chain.bounds, chain.group):
        assert len(set(group)) >= 5
        assert 100 <= max(group) - min(group) <= chain.largest
