from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.report.charts import axis, nice_step

NUMBERS = st.one_of(
    st.integers(-(10**38), 10**38).map(Fraction),
    st.fractions(-1000, 1000, max_denominator=10**4),
    st.decimals(allow_nan=False, allow_infinity=False, places=20).map(Fraction),
)
DAYS = st.integers(-800_000, 5_000_000)


def days(*when: tuple[int, int, int]) -> list[Fraction]:
    return [Fraction((date(*day) - date(1970, 1, 1)).days) for day in when]


@given(NUMBERS, NUMBERS, st.sampled_from(["integer", "decimal", "float"]))
def test_few_ticks_enclose_the_numbers(first, other, kind):
    low, high = sorted((first, other))
    scale = axis(low, high, kind)
    values = [value for value, _ in scale.ticks]
    assert values[0] == scale.low <= low <= high <= scale.high == values[-1]
    assert 2 <= len(values) <= 8
    assert values == sorted(set(values))
    assert 0 <= scale.place(low) <= scale.place(high) <= 1


@given(DAYS, DAYS)
def test_few_ticks_enclose_the_days(first, other):
    low, high = sorted((first, other))
    scale = axis(Fraction(low), Fraction(high), "date")
    assert scale.low <= low <= high <= scale.high
    assert 2 <= len(scale.ticks) <= 8
    assert len({label for _, label in scale.ticks}) == len(scale.ticks)


@given(st.integers(-(10**10), 10**10), st.integers(0, 10**9))
def test_few_ticks_enclose_the_moments(start, length):
    scale = axis(Fraction(start), Fraction(start + length), "timestamp")
    assert scale.low <= start <= start + length <= scale.high
    assert 2 <= len(scale.ticks) <= 8


@given(st.fractions(Fraction(1, 10**9), 10**30))
def test_a_nice_step_is_near(raw):
    step = nice_step(raw)
    assert raw <= step < raw * Fraction(5, 2)
    assert str(step.numerator).strip("0") in {"1", "2", "5"}


@pytest.mark.parametrize(
    ("first", "last", "labels"),
    [
        ((1994, 3, 1), (1999, 2, 1), ["1994", "1996", "1998", "2000"]),
        (
            (2020, 1, 31),
            (2020, 9, 2),
            ["2020-01", "2020-03", "2020-05", "2020-07", "2020-09", "2020-11"],
        ),
        ((2020, 2, 28), (2020, 3, 1), ["2020-02-28", "2020-02-29", "2020-03-01"]),
    ],
)
def test_calendar_ticks(first, last, labels):
    low, high = days(first, last)
    assert [label for _, label in axis(low, high, "date").ticks] == labels


def test_large_and_small_numbers_share_a_factor():
    large = axis(Fraction(0), Fraction(3_100_000), "integer")
    assert [label for _, label in large.ticks] == ["0", "1", "2", "3", "4"]
    assert large.factor == "×10⁶"
    assert axis(Fraction(0), Fraction(1, 1000), "float").factor == "×10⁻³"
    assert axis(Fraction(0), Fraction(5000), "integer").factor == ""
