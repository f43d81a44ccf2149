"""Every value becomes the integer that it is, or is refused."""

import datetime as dt
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import numbers_of
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.exact import Exact, exact, is_number, is_ordered

INT64 = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=6).filter(
    lambda d: abs(d) < 10**20
)


def fractions(numbers: Exact) -> list[Fraction]:
    return [numbers.fraction(unit) for unit in numbers.units]


@given(st.lists(INT64))
def test_integers_are_themselves_to_the_ends_of_int64(values):
    seen = exact(pa.array(values, pa.int64()), "s")
    assert seen.digits == 0
    assert [int(unit) for unit in seen.units] == values


@given(st.lists(INT64, min_size=2))
def test_differences_never_overflow(values):
    units = exact(pa.array(values, pa.int64()), "s").units
    assert int(units.max() - units.min()) == max(values) - min(values)


@pytest.mark.parametrize("largest", [2**62 - 1, 2**62, 2**63 - 1])
def test_units_are_int64_while_differences_fit(largest):
    units = exact(pa.array([-largest, largest]), "s").units
    assert units.dtype == (np.int64 if 2 * largest <= 2**63 - 1 else object)
    assert int(units[1] - units[0]) == 2 * largest


def test_unsigned_integers_beyond_int64():
    assert fractions(exact(pa.array([0, 2**64 - 1], pa.uint64()), "s")) == [0, 2**64 - 1]


@given(st.lists(DECIMALS, min_size=1))
def test_decimals_are_exact(values):
    seen = exact(pa.array(values, pa.decimal128(38, 6)), "s")
    assert fractions(seen) == [Fraction(value) for value in values]


@given(
    st.lists(st.integers(-(2**65), 2**65), min_size=1),
    st.integers(0, 38),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_decimals_in_one_word_or_two_have_no_more_digits_than_they_need(units, scale, zeros, cut):
    """Whole words are read where all numbers fit, as parts of longer arrays, too."""
    values = [Decimal(unit * 10**zeros).scaleb(-scale, Context(prec=60)) for unit in units]
    array = pa.array([Decimal(0)] * cut + values, pa.decimal128(38, scale)).slice(cut)
    seen = exact(array, "s")
    assert fractions(seen) == [Fraction(value) for value in values]
    needed = [Fraction(value).denominator for value in values]
    assert seen.digits == next(n for n in range(39) if all(10**n % d == 0 for d in needed))


@pytest.mark.parametrize("type_", [pa.decimal32(7, 2), pa.decimal64(9, 2), pa.decimal256(40, 2)])
def test_decimals_of_every_width_are_exact(type_):
    seen = exact(pa.array([Decimal("1.50"), Decimal("-20.25"), Decimal("1.50")], type_), "s")
    assert fractions(seen) == [Fraction(3, 2), Fraction(-81, 4), Fraction(3, 2)]


def test_thirty_eight_digits_are_not_rounded():
    text = "0.12345678901234567890123456789012345678"
    seen = exact(pa.array([Decimal(text), Decimal("0.5")], pa.decimal128(38, 38)), "s")
    assert fractions(seen) == [Fraction(text), Fraction(1, 2)]
    assert seen.digits == 38


def test_trailing_zeros_are_no_digits():
    assert exact(pa.array([Decimal("1.500")], pa.decimal128(10, 3)), "s").digits == 1


@given(st.lists(st.floats(-1e15, 1e15).map(lambda x: round(x, 4)), min_size=1))
def test_floats_are_the_decimals_that_python_prints(values):
    seen = exact(pa.array(values, pa.float64()), "s")
    assert fractions(seen) == [Fraction(str(value)) for value in values]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(InputError, match="column 's': not every value is a finite number"):
        exact(pa.array([1.0, value]), "s")


@pytest.mark.parametrize("value", [1e-39, 1e38, 123456.0])
def test_a_value_beyond_38_digits_is_refused_without_being_named(value):
    column = pa.array([1e-37, value])
    with pytest.raises(InputError) as error:
        exact(column, "s")
    assert "38" in str(error.value)
    assert "1e" not in str(error.value)
    assert "123456" not in str(error.value)


@given(st.lists(st.dates(), min_size=1))
def test_dates_are_days(values):
    epoch = dt.date(1970, 1, 1)
    for type_ in (pa.date32(), pa.date64()):
        seen = exact(pa.array(values, type_), "s")
        assert fractions(seen) == [(value - epoch).days for value in values]


@given(
    st.lists(st.integers(-(10**17), 10**17), min_size=1), st.sampled_from(["s", "ms", "us", "ns"])
)
def test_timestamps_are_seconds_whatever_their_unit(values, unit):
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    seen = exact(pa.array(values, pa.timestamp(unit)), "s")
    assert fractions(seen) == [Fraction(value, per_second) for value in values]


@pytest.mark.parametrize("values", [["a"], [True], [b"x"]])
def test_what_has_no_order_is_refused(values):
    column = pa.array(values)
    assert not is_ordered(column.type)
    assert not is_number(column.type)
    with pytest.raises(InputError, match="have no order"):
        exact(column, "s")


@given(st.integers(0, 38), DECIMALS)
def test_at_least_is_the_smallest_number_of_units_not_below(digits, bound):
    numbers = Exact(np.array([], dtype=np.int64), digits)
    units = numbers.at_least(bound)
    assert numbers.fraction(units) >= Fraction(bound) > numbers.fraction(units - 1)


@pytest.mark.parametrize("numbers", [[1e300, 0.1], [1e39], [float("nan")]])
@pytest.mark.parametrize("missing", [[], [None]])
def test_numbers_that_are_refused_are_refused_beside_missing_ones(numbers, missing):
    with pytest.raises(InputError, match=r"more than 38 digits|is a finite number"):
        numbers_of(pa.array([*missing, *numbers]), bool(missing), "s")


def test_numbers_beside_missing_ones_have_no_order():
    assert numbers_of(pa.array([None, 0.5]), True, "s") is None


@pytest.mark.parametrize(
    "type_", [pa.int8(), pa.uint64(), pa.float64(), pa.date32(), pa.decimal128(5, 2)]
)
def test_nothing_is_exact(type_):
    assert len(exact(pa.array([], type_), "s").units) == 0
