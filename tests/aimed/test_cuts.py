"""Cuts that are decided by expected width: exact ones against all others, greedy ones in two."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.aimed import contiguous, hybrid
from sfumato.tasks.partitions.aimed.contiguous import best_ends
from sfumato.tasks.partitions.aimed.parameters import ContiguousParameters, HybridParameters
from tests.aimed.tables import promise, sets, table, wages_of, windows


def make_partition(microdata, method="hybrid", k=2, e=1, aims=None, seed=1, strata=()):
    room, kind = {
        "hybrid": (hybrid, HybridParameters),
        "contiguous": (contiguous, ContiguousParameters),
    }[method]
    parameters = kind(method=method, aims=aims or (windows(1),))
    return room.partition(microdata, list(strata), [promise(k, e)], parameters, seeded_keys(seed))


@given(st.integers(1, 7), st.data())
@settings(max_examples=60)
def test_the_best_runs_are_the_best_of_all_contiguous_partitions(last, data):
    cost = st.one_of(st.integers(0, 20), st.just(np.inf))
    costs = np.full((last + 1, last + 1), np.inf)
    for start in range(last):
        for end in range(start + 1, last + 1):
            costs[start, end] = data.draw(cost)
    costs[0, last] = 25.0
    ends = best_ends(costs, last).tolist()
    every = [c for n in range(last) for c in combinations(range(1, last), n)]
    sums = [sum(costs[a, b] for a, b in zip((0, *c), (*c, last), strict=True)) for c in every]
    total_cost = sum(costs[a, b] for a, b in zip((0, *ends), (*ends, last), strict=True))
    assert total_cost == min(sums)
    assert len(ends) == min(
        len(c) for c, total in zip(every, sums, strict=True) if total == total_cost
    )


@pytest.fixture(scope="module")
def spread():
    """Ages and wages that have nothing to do with each other."""
    rng = np.random.default_rng(4)
    return table(rng.integers(20, 60, 400), rng.integers(0, 1000, 400))


@pytest.mark.parametrize("method", ["hybrid", "contiguous"])
def test_ranges_are_answered_more_narrowly_within_cuts(spread, method):
    cut, uncut = (
        make_partition(spread, method, k=3, e=100),
        make_partition(spread, method, aims=(windows(1), sets(200))),
    )
    assert cut.facts["parts"] > 5
    assert uncut.facts["parts"] <= cut.facts["parts"]
    ages = np.array(spread["age"].values.to_pylist())[spread["age"].codes]
    wages = wages_of(spread)
    for group in range(int(cut.group.max()) + 1):
        rows = cut.group == group
        assert len(set(wages[rows])) >= 3
        assert np.ptp(wages[rows]) >= 100
        assert np.ptp(ages[rows]) < 30


@pytest.mark.parametrize("method", ["hybrid", "contiguous"])
def test_one_value_of_a_quasi_identifier_is_not_cut(method):
    alike = table([30] * 12, range(12))
    assert make_partition(alike, method).facts["parts"] == 1


@pytest.mark.parametrize("method", ["hybrid", "contiguous"])
def test_nothing_is_cut_that_might_leave_a_side_without_groups(method):
    few = table(range(20, 28), [1, 1, 1, 1, 2, 2, 2, 2])
    assert make_partition(few, method).facts["parts"] == 1


@pytest.mark.parametrize("method", ["hybrid", "contiguous"])
def test_a_side_that_cannot_keep_the_promise_refuses_all(method):
    """No cut is taken back: that would tell what was found."""
    rng = np.random.default_rng(2)
    ages = np.repeat(np.arange(20, 40), 40)
    wages = np.where(ages < 21, 500, rng.integers(0, 1000, len(ages)))
    with pytest.raises(PromiseError, match="use a partition without cuts"):
        make_partition(table(ages, wages), method, k=2, e=50)


def test_a_quasi_identifier_that_no_window_is_over_is_not_cut(spread):
    hours = np.random.default_rng(3).integers(0, 40, 400)
    two = table(np.array(spread["age"].values)[spread["age"].codes], wages_of(spread), hours=hours)
    cut = make_partition(two, k=3, e=100)
    spans = [np.ptp(hours[cut.group == group]) for group in range(int(cut.group.max()) + 1)]
    assert np.mean(spans) > 10
    both = make_partition(two, k=3, e=100, aims=(windows(1), windows(2, over="hours")))
    assert both.facts["parts"] > 1


@pytest.mark.parametrize("method", ["hybrid", "contiguous"])
def test_strata_are_cut_each_by_itself(method):
    rng = np.random.default_rng(5)
    microdata = table(rng.integers(20, 60, 300), rng.integers(0, 99, 300), town=[0, 1] * 150)
    cut = make_partition(microdata, method, strata=["town"])
    town = microdata["town"].codes
    assert all(len(set(town[cut.group == g])) == 1 for g in range(int(cut.group.max()) + 1))


def test_rows_without_a_value_stay_with_the_least():
    ages = [None] * 4 + list(range(20, 40)) * 8
    cut = make_partition(table(ages, range(len(ages))), k=2, e=60)
    assert (cut.group >= 0).all()
    assert cut.facts["parts"] > 1
