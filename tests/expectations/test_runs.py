"""Sorting, counting and adding up runs: like plain Python, whichever way is taken."""

from collections import Counter
from itertools import accumulate, groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups import counts as module
from sfumato.expectations.groups.counting import Coded, count
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.measures import emd
from sfumato.expectations.measures.emd import ordered_distance
from sfumato.expectations.shared import sorting as runs
from sfumato.expectations.shared.exact import Exact
from sfumato.expectations.shared.sorting import lengths, number, sort, starts, tally

NUMBERS = st.lists(st.integers(0, 40), max_size=50)
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 11)), min_size=1, max_size=80)
WAYS = [{"_TABLE": 0}, {"_TABLE": 0, "_NARROW": 0}, {"_SPARSE": 10**6}]


def array(numbers):
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize("way", WAYS)
@given(NUMBERS, st.sampled_from([41, 2**31, 2**31 + 1, 2**62]))
def test_numbers_are_counted(way, numbers, bound):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in way.items():
            patch.setattr(runs, name, value)
        distinct, times = tally(array(numbers), bound)
        ordered = sort(array(numbers), bound)
    assert dict(zip(distinct.tolist(), times.tolist(), strict=True)) == Counter(numbers)
    assert distinct.tolist() == sorted(set(numbers))
    assert ordered.tolist() == sorted(numbers)
    assert {distinct.dtype, times.dtype, ordered.dtype} == {np.dtype(np.int64)}


@pytest.mark.parametrize("largest", [2**31 - 1, 2**31, 2**62])
def test_numbers_that_32_bits_hold_or_not(largest):
    distinct, times = tally(array([largest, 0, largest]), largest + 1)
    assert (distinct.tolist(), times.tolist()) == ([0, largest], [1, 2])


@given(NUMBERS)
def test_runs(numbers):
    of_runs = [len(list(run)) for _, run in groupby(numbers)]
    positions = starts(array(numbers))
    assert positions.tolist() == [0, *accumulate(of_runs)][: len(of_runs)]
    assert lengths(positions, len(numbers)).tolist() == of_runs
    assert number(array(numbers)).tolist() == [i for i, n in enumerate(of_runs) for _ in range(n)]


def counts_of(rows):
    key, value = (array(column) for column in zip(*rows, strict=True))
    return count(key, 7, {"s": Coded(value, 12, Exact(np.arange(12), 0))}).sensitive["s"]


@given(ROWS, st.integers(1, 13), st.integers(1, 40))
def test_tails_in_blocks_of_any_size(rows, rank, block):
    times = Counter(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        tails = counts_of(rows).tail(rank).tolist()
    for group, tail in zip(sorted({group for group, _ in rows}), tails, strict=True):
        ranked = sorted((n for (g, _), n in times.items() if g == group), reverse=True)
        assert tail == sum(ranked[rank - 1 :])


@given(ROWS, st.integers(1, 40))
def test_blocks_are_the_same_groups(rows, block):
    counts = counts_of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        blocks = list(counts.blocks)
    for name in ("group", "value", "count", "sizes", "largest", "up_to"):
        joined = np.concatenate([getattr(block, name) for block in blocks])
        assert joined.tolist() == getattr(counts, name).tolist()
    assert len(blocks) <= 1 + len(counts.group) // block


@given(ROWS)
def test_running_totals(rows):
    counts = counts_of(rows)
    totals = zip(counts.group.tolist(), counts.value.tolist(), counts.up_to.tolist(), strict=True)
    names = sorted({group for group, _ in rows})
    for group, value, up_to in totals:
        assert up_to == sum(g == names[group] and v <= value for g, v in rows)


@pytest.mark.parametrize("large", [2**61, 2**62])
def test_counts_that_a_key_holds_or_not(large):
    many = array([large, 5, 8, large + 1, 7])
    counts = Counts(array([0, 0, 1, 1, 1]), array([0, 1, 0, 1, 2]), many, 3, None)
    assert counts.tail(3).tolist() == [0, 7]
    assert counts.tail(2).tolist() == [5, 15]
    assert counts.sizes.tolist() == [large + 5, large + 16]


def test_no_groups():
    none = Counts(array([]), array([]), array([]), 0, None)
    assert list(none.blocks) == []
    for numbers in (none.sizes, none.up_to, none.distinct, none.tail(1), none.tail(3)):
        assert numbers.tolist() == []


@pytest.mark.parametrize("wide", [False, True])
@given(ROWS, st.integers(1, 40))
def test_the_ordered_distance_by_ranks_and_by_runs(wide, rows, block):
    counts, fractions = counts_of(rows), []
    for few in (0, 64):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_BLOCK", block)
            patch.setattr(emd, "_FEW", few)
            patch.setattr(emd, "_DENSE", 10**6)
            patch.setattr(emd, "INT64_MAX", 0 if wide else emd.INT64_MAX)
            distances = ordered_distance(counts, counts.sizes)
        fractions.append((distances.numerators.tolist(), distances.denominators.tolist()))
    assert fractions[0] == fractions[1]
