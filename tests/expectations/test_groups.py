"""Counting rows is counting rows: compared with dictionaries of Python tuples."""

import copy
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded, count, dense, pack
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.suites.groups import from_frame, to_frame

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(-4, 4)), min_size=1, max_size=60)


def counts_by_group(groups: Groups, name: str = "s") -> list[dict[int, int]]:
    counts = groups.sensitive[name]
    counts_found: list[dict[int, int]] = [{} for _ in range(len(groups))]
    for group, value, times in zip(counts.group, counts.value, counts.count, strict=True):
        counts_found[group][int(value)] = int(times)
    return counts_found


def same(a: Groups, b: Groups) -> bool:
    if not np.array_equal(a.sizes, b.sizes) or a.sensitive.keys() != b.sensitive.keys():
        return False
    for name, first_counts in a.sensitive.items():
        right = b.sensitive[name]
        if counts_by_group(a, name) != counts_by_group(b, name) or not np.array_equal(
            first_counts.starts, right.starts
        ):
            return False
        if (first_counts.numbers is None) != (right.numbers is None):
            return False
        if first_counts.numbers is not None:
            fractions = [
                [numbers.fraction(numbers.units[v]) for v in c.value]
                for c in (first_counts, right)
                for numbers in (c.numbers,)
            ]
            if fractions[0] != fractions[1]:
                return False
    return True


@st.composite
def code_tables(draw):
    """Columns of codes with cardinalities whose product may be far beyond 2^63."""
    cardinalities = draw(st.lists(st.integers(1, 2**62), min_size=1, max_size=8))
    rows = draw(st.integers(0, 30))
    pools = [draw(st.lists(st.integers(0, c - 1), min_size=1, max_size=3)) for c in cardinalities]
    columns = [
        np.array(
            draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows)), dtype=np.int64
        )
        for pool in pools
    ]
    return columns, cardinalities


@given(code_tables())
def test_a_packed_key_never_merges_and_never_splits(codes):
    columns, cardinalities = codes
    key, bound = pack(columns, cardinalities)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert len(set(key.tolist())) == len(set(rows))
    assert len(set(zip(key.tolist(), rows, strict=True))) == len(set(rows))
    assert all(0 <= k < bound for k in key.tolist())
    assert bound <= 2**63


def test_thirty_columns_of_a_thousand_values_do_not_wrap():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 1000, 5000).astype(np.int16) for _ in range(30)]
    for column in columns[1:]:
        column[:2500] = column[2500:]  # each row but for its first column has a twin
    columns[0][:100] = columns[0][2500:2600]
    key, _ = pack(columns, [1000] * 30)
    assert len(np.unique(key)) == len(set(zip(*(c.tolist() for c in columns), strict=True)))


def test_sparse_codes_of_huge_cardinality_do_not_wrap():
    first = np.array([0, 1, 2, 3, 4, 4], dtype=np.int64)
    second = np.array([0, 0, 0, 0, 0, 2**62 - 1], dtype=np.int64)
    key, bound = pack([first, second], [5, 2**62])
    assert len(set(key.tolist())) == 6
    assert bound <= 2**63


def test_a_key_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one column"):
        pack([], [])


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_dense_keeps_order(values):
    renumbered, distinct = dense(np.array(values, dtype=np.int64))
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    assert renumbered.tolist() == [ranks[value] for value in values]
    assert distinct == len(ranks)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 3))),
    st.sampled_from([10, 2**40, 2**62]),
)
def test_count_is_a_counter_of_pairs(rows, bound):
    spread = (bound - 1) // 9
    key = np.array([k * spread for k, _, _ in rows], dtype=np.int64)
    first, second = (np.array([r[i] for r in rows], dtype=np.int32) for i in (1, 2))
    groups = count(key, bound, {"a": Coded(first, 6), "b": Coded(second, 4)})
    keys = sorted({k for k, _, _ in rows})
    assert groups.sizes.tolist() == [sum(k == other for k, _, _ in rows) for other in keys]
    assert groups.rows == len(rows)
    for column, name in ((1, "a"), (2, "b")):
        expected = [dict(Counter(r[column] for r in rows if r[0] == k)) for k in keys]
        assert counts_by_group(groups, name) == expected
        order = list(zip(groups.sensitive[name].group, groups.sensitive[name].value, strict=True))
        assert order == sorted(set(order))


def test_count_without_sensitive_columns():
    groups = count(np.array([3, 1, 3]), 4, {})
    assert groups.sizes.tolist() == [1, 2]
    assert groups.sensitive == {}


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_free(groups_of, rows, random):
    def group_contents(groups: Groups) -> Counter:
        return Counter(
            (size, tuple(sorted(values.items())))
            for size, values in zip(groups.sizes.tolist(), counts_by_group(groups), strict=True)
        )

    assert group_contents(groups_of(rows)) == group_contents(
        groups_of(random.sample(rows, len(rows)))
    )


def test_a_number_is_found_however_it_is_written(groups_of):
    counts = groups_of([("g", 1), ("g", 20)]).counts_of("s")
    assert counts.numbers_written(["1.0"]).tolist() == [0]
    assert counts.numbers_written(["2e1", "nan", "x"]).tolist() == [1]


def test_a_frame_hands_groups_on(groups_of):
    groups = groups_of([(0, 1), (0, 2), (1, 1)])
    frame = to_frame(groups)
    assert frame.squeeze(axis=1).tolist() == [2, 1]
    assert from_frame(frame.copy()) is groups
    assert from_frame(copy.deepcopy(frame)) is groups


def test_a_frame_of_no_groups():
    assert len(from_frame(to_frame(count(np.array([], dtype=np.int64), 1, {})))) == 0


def test_a_frame_that_lost_a_group_is_refused(groups_of):
    frame = to_frame(groups_of([(0, 1), (1, 1)]))
    for lost in (frame.iloc[:1], pd.DataFrame({"rows": [1, 1]})):
        with pytest.raises(PromiseError, match="changed after its groups were counted"):
            from_frame(lost)


def test_groups_that_leave_one_out_are_refused(groups_of):
    groups, fewer = groups_of([(0, 1), (1, 1)]), groups_of([(0, 1)])
    for part in (
        {"sensitive": fewer.sensitive},
        {"live": fewer.sizes},
        {"covers": {"q": Cover(np.array([1]), np.array([0]), 1)}},
    ):
        with pytest.raises(PromiseError, match="some groups have no"):
            from_frame(to_frame(replace(groups, **part)))
