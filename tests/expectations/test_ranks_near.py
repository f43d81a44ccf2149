"""Ranks of whole numbers by a table of them all: those that a sort finds."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.ranks import rank

TYPES = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64}


@st.composite
def arrays(draw):
    """Whole numbers near each other or not, at the ends of their type, too."""
    name = draw(st.sampled_from(list(TYPES)))
    bits = TYPES[name] - (not name.startswith("u"))
    least = 0 if name.startswith("u") else -(2**bits)
    near = draw(st.integers(least, 2**bits - 1))
    within = st.integers(max(least, near - 9), min(2**bits - 1, near + 9))
    numbers = draw(st.lists(within | st.integers(least, 2**bits - 1), max_size=9))
    near_alone = draw(st.lists(within, max_size=9))
    return pa.array(draw(st.sampled_from([numbers, near_alone])), getattr(pa, name)())


@given(arrays())
def test_ranks_are_those_of_a_sort(array):
    values, codes = rank(array)
    values_found, places = np.unique(np.array(array.to_pylist(), dtype=object), return_inverse=True)
    assert values.type == array.type
    assert values.to_pylist() == values_found.tolist()
    assert codes.dtype == np.int32
    assert codes.tolist() == places.tolist()


@pytest.mark.parametrize("place", [0, 3])
def test_a_slice_is_ranked_from_where_it_begins(place):
    values, codes = rank(pa.array([9, 5, 7, 5, 8])[place:])
    values_found = [values[code].as_py() for code in codes.tolist()]
    assert values_found == [9, 5, 7, 5, 8][place:]
