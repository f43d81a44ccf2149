"""People by numbers: equal for equal names alone, also where half a name is not enough."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import dense
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.store import count_of, person_numbers

HALVES = st.sampled_from([b"\0" * 8, b"a" * 8, b"b" * 8, b"a" * 7 + b"\0", b"\0" * 7 + b"a"])
NAMES = st.lists(st.builds(bytes.__add__, HALVES, HALVES), max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_numbers_are_equal_for_equal_names_alone(names):
    numbers = person_numbers(*(np.array(some, dtype=NAME) for some in names))
    pairs = {
        (name, int(number))
        for some, own in zip(names, numbers, strict=True)
        for name, number in zip(some, own, strict=True)
    }
    assert len(pairs) == len({name for name, _ in pairs}) == len({number for _, number in pairs})
    assert sorted(number for _, number in pairs) == list(range(count_of(numbers)))


@given(st.lists(st.integers(-3, 40) | st.sampled_from([2**62, -(2**62)]), max_size=30))
def test_keys_are_renumbered_in_their_order(keys):
    place, number = dense(np.array(keys, dtype=np.int64))
    ordered = sorted(set(keys))
    assert place.dtype == np.int64
    assert number == len(ordered)
    assert place.tolist() == [ordered.index(key) for key in keys]
