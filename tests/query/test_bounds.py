import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.query.bounds.bounds import Bounds, json_above, json_below
from sfumato.tasks.query.bounds.extremes import Counting
from sfumato.tasks.query.bounds.quantiles import quantiles

NUMBERS = st.one_of(
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**38), max_value=10**38),
    st.builds(Fraction, st.integers(), st.integers(1, 10**40)),
)


@given(NUMBERS)
def test_floats_are_the_nearest_on_the_safe_side(number):
    low, high = json_below(number), json_above(number)
    assert Fraction(low) <= Fraction(number) <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))
    assert (low == high) == (Fraction(float(number)) == Fraction(number))


def test_other_values_are_written_as_they_are():
    day = date(2020, 2, 29)
    assert Bounds(2**70, None, Fraction(1, 3)).document() == {
        "lower": 2**70,
        "upper": None,
        "estimate": 1 / 3,
    }
    assert Bounds(day, datetime(2020, 1, 1, 12, tzinfo=UTC), None).document() == {
        "lower": "2020-02-29",
        "upper": "2020-01-01T12:00:00+00:00",
        "estimate": None,
    }
    assert Bounds("a", True).document() == {"lower": "a", "upper": True, "estimate": None}


@pytest.mark.parametrize("share", ["0.3333333333333333", "1e-400", f"0.{'7' * 300}", "0.5"])
def test_shares_of_many_digits_do_not_overflow(share):
    units, share = np.arange(5_000), Fraction(Decimal(share))
    counting = Counting(np.full(5_000, 1), np.full(5_000, 0))
    place = share * 4_999
    between = quantiles(units, counting, counting, share, between=True)
    assert between == (place, place), "the values are their own places"
    below = Fraction(max(math.ceil(share * 5_000), 1) - 1)
    assert quantiles(units, counting, counting, share, between=False) == (below, below)
