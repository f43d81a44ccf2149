import math
from datetime import UTC, date, datetime
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.query.bounds.bounds import Bounds, above, below

NUMBERS = st.one_of(
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**38), max_value=10**38),
    st.builds(Fraction, st.integers(), st.integers(1, 10**40)),
)


@given(NUMBERS)
def test_floats_are_the_nearest_on_the_safe_side(number):
    low, high = below(number), above(number)
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
