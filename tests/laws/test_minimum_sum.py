"""The partition of least sum of ranges is optimal, and keeps the promise everywhere."""

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.parameters import KEParameters


def cut(values, k, e):
    distinct, counts = np.unique(np.array(values), return_counts=True)
    return ke.minimum_sum(distinct, counts, k, e)


def valid(group, k, e):
    return len(set(group)) >= k and max(group) - min(group) >= e


def least_over_all_partitions(values, k, e):
    """By enumeration of all set partitions; None where none is valid."""
    best = None

    def place(i, groups):
        nonlocal best
        if i == len(values):
            if all(valid(group, k, e) for group in groups):
                cost = sum(max(group) - min(group) for group in groups)
                best = cost if best is None else min(best, cost)
            return
        for group in groups:
            group.append(values[i])
            place(i + 1, groups)
            group.pop()
        place(i + 1, [*groups, [values[i]]])

    place(0, [])
    return best


def least_by_recurrence(values, k, e):
    """The paper's dynamic program over runs, in O(n²)."""
    ordered = sorted(values)
    least = [0] + [None] * len(ordered)
    for end in range(1, len(ordered) + 1):
        for start in range(end):
            if least[start] is not None and valid(ordered[start:end], k, e):
                cost = least[start] + ordered[end - 1] - ordered[start]
                least[end] = cost if least[end] is None else min(cost, least[end])
    return least[-1]


def assert_is_valid_cut(values, k, e, cut_found):
    ordered = sorted(values)
    bounds, cost = cut_found
    groups = [ordered[i:j] for i, j in itertools.pairwise(bounds)]
    assert list(itertools.chain(*groups)) == ordered
    assert all(valid(group, k, e) for group in groups)
    assert sum(max(group) - min(group) for group in groups) == cost


def test_optimal_among_all_partitions():
    rng = random.Random(2007)
    feasible = 0
    for _ in range(3000):
        values = [rng.randint(0, 8) for _ in range(rng.randint(1, 6))]
        k, e = rng.randint(1, 4), rng.randint(0, 5)
        cut_found = cut(values, k, e)
        best = least_over_all_partitions(values, k, e)
        assert (None if cut_found is None else cut_found[1]) == best
        if cut_found is not None:
            feasible += 1
            assert_is_valid_cut(values, k, e, cut_found)
    assert feasible > 1000


@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=50), st.integers(1, 5), st.integers(0, 12)
)
def test_equals_the_recurrence(values, k, e):
    cut_found = cut(values, k, e)
    assert (None if cut_found is None else cut_found[1]) == least_by_recurrence(values, k, e)
    if cut_found is not None:
        assert_is_valid_cut(values, k, e, cut_found)


@pytest.mark.parametrize("scale", [1, 2**70])
def test_compiled_interpreted_and_big_integers_agree(monkeypatch, scale):
    values = np.random.default_rng(1).integers(0, 2000, 3000)
    distinct, counts = np.unique(values, return_counts=True)
    expected = ke.minimum_sum(distinct, counts, 4, 25)
    monkeypatch.setattr(ke, "_WORTH_COMPILING", 1)
    big = np.array([int(v) * scale for v in distinct], dtype=np.int64 if scale == 1 else object)
    bounds, cost = ke.minimum_sum(big, counts, 4, 25 * scale)
    assert bounds.tolist() == expected[0].tolist()
    assert cost == expected[1] * scale


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab")), min_size=20, max_size=80),
    st.integers(0, 99),
)
def test_every_group_keeps_the_promise_within_its_stratum(rows, seed):
    values, strata = zip(*rows, strict=True)
    microdata = Microdata(
        (
            encode("region", "quasi-identifier", pa.array(strata)),
            encode("loss", "sensitive", pa.array(values)),
        ),
        len(rows),
    )
    promise = KEAnonymity(k=3, e=5, sensitive="loss")
    parameters = KEParameters(method="ke")
    per_stratum = [[v for v, s in rows if s == name] for name in set(strata)]
    if not all(valid(part, 3, 5) for part in per_stratum):
        with pytest.raises(PromiseError):
            ke.partition(microdata, ["region"], [promise], parameters, seeded_keys(seed))
        return
    group = ke.partition(microdata, ["region"], [promise], parameters, seeded_keys(seed)).group
    assert sorted(set(group)) == list(range(max(group) + 1))
    for number in set(group):
        members = [rows[i] for i in np.flatnonzero(group == number)]
        assert valid([value for value, _ in members], 3, 5)
        assert len({stratum for _, stratum in members}) == 1
