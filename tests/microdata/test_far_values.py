"""Values that lie far from all others of their column."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.suspect_values import far_values
from sfumato.tasks.microdata.table import encode

AGES = [*range(18, 91)] * 3


def far(values):
    """Those of some values that lie far from the others."""
    column = encode("x", "drop", pa.array(values))
    return column.values.filter(pa.array(far_values(column))).to_pylist()


@pytest.mark.parametrize(
    "codes", [[], [-99], [999], [-99, 999], [997, 998, 999, -1000], [999] * 40]
)
def test_codes_for_what_is_missing_are_far_from_ages(codes):
    assert far(AGES + codes) == sorted(set(codes))


def test_dates_may_be_far():
    never = date(9999, 12, 31)
    assert far([date(1950 + n, 1, 1) for n in range(60)] + [never]) == [never]


@pytest.mark.parametrize(
    "values", [["a", "b"] * 9, [1, 2, 1000], [True, False] * 9, [], [7] * 9, [1, 2, 3, 999] * 9]
)
def test_of_texts_and_of_few_values_none_is_far(values):
    assert far(values) == []


def test_of_skewed_amounts_few_are_far():
    rng = np.random.default_rng(1)
    counts = [far(np.round(rng.lognormal(10, 1, 2000), 2).tolist()) for _ in range(20)]
    assert sum(map(len, counts)) <= 5


@given(st.lists(st.integers(-1000, 1000), max_size=40))
def test_what_is_left_is_most_and_near(values):
    remaining = sorted(set(values) - set(far(values)))
    near_values = [value for value in values if value in remaining]
    assert not values or near_values
    for value in far(values):
        nearest = min(abs(value - other) for other in remaining)
        assert nearest > remaining[-1] - remaining[0]
