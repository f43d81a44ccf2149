"""Orders of arrays are those of NumPy, whatever way they are come by."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from sfumato.expectations.shared import sorting
from sfumato.expectations.shared.sorting import count_common, distinct, positions, stable_order

KEYS = st.one_of(
    npst.arrays(np.int64, st.integers(0, 30), elements=st.integers(-5, 5)),
    npst.arrays(np.int64, st.integers(0, 30)),
    npst.arrays(np.int8, st.integers(0, 30)),
    npst.arrays(np.uint64, st.integers(0, 30)),
    npst.arrays(np.float64, st.integers(0, 30), elements=st.floats(allow_nan=False)),
)


@given(KEYS)
def test_the_order_is_that_of_a_stable_sort(keys):
    before = keys.copy()
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    assert keys.tolist() == before.tolist()


WIDTHS = st.sampled_from([1, 15, 16, 17, 31, 32, 33, 48, 49, 62])


@given(WIDTHS, st.integers(-(2**61), 2**61), st.lists(st.integers(0), min_size=1, max_size=30))
def test_keys_are_sorted_digit_by_digit_in_the_same_order(bits, low, numbers):
    keys = low + np.array([0, 2**bits - 1, *(number % 2**bits for number in numbers)])
    expected = np.argsort(keys, kind="stable").tolist()
    for room in (
        63,
        4,
    ):  # where positions do not fit beside keys, keys of 48 bits are in digits too
        with patch.object(sorting, "_MANY", 1), patch.object(sorting, "_BITS", room):
            assert stable_order(keys).tolist() == expected


def test_many_keys_are_sorted_as_few_are():
    keys = np.random.default_rng(1).integers(-40_000, 40_000, 5_000)
    for narrow in (np.int32, np.int64):
        assert (stable_order(keys.astype(narrow)) == np.argsort(keys, kind="stable")).all()


@given(KEYS)
def test_distinct_values_are_those_of_unique(keys):
    assert distinct(keys).tolist() == np.unique(keys).tolist()


NAMES = st.lists(st.sampled_from([b"", b"a", b"ab", b"b", b"b" * 16]), max_size=8)


@given(NAMES, NAMES)
def test_what_names_have_in_common_is_counted_once(first, other):
    both = [distinct(np.array(names, dtype="S16")) for names in (first, other)]
    assert count_common(*both) == len({*first} & {*other})


@pytest.mark.parametrize("names", [[], [b"b", b"a", b"b", b""]])
def test_names_are_sorted_too(names):
    assert distinct(np.array(names, dtype="S16")).tolist() == sorted(set(names))


def test_keys_that_leave_no_room_for_positions_are_sorted_all_the_same():
    keys = np.array([2**62, -(2**62), 2**62, 0])
    assert stable_order(keys).tolist() == [1, 3, 0, 2]


@given(st.lists(st.integers(-9, 9)), st.lists(st.integers(-10, 10)))
def test_positions_are_those_of_searchsorted(numbers, numbers_asked):
    ordered, numbers_array = (
        np.sort(np.array(numbers, dtype=np.int64)),
        np.array(numbers_asked, dtype=np.int64),
    )
    assert (
        positions(ordered, numbers_array).tolist()
        == np.searchsorted(ordered, numbers_array).tolist()
    )
