"""Each coding against a few lines of plain Python."""

import unicodedata
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, nan

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.codings import CODINGS, FINDERS, code_column
from sfumato.tasks.schema.codings import KEYS
from tests.codings.coded import TYPES, VALUES, code_values, column_of, declare_coded, rows_of

_ORDERED = sorted(TYPES.keys() - {"string"})
_NUMBERS = ["integer", "decimal"]


def _text(value):
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def nearest(value, step, ties):
    """The multiple of a step that is nearest, in fractions."""
    times = Fraction(value) / Fraction(step)
    below, rest = floor(times), times - floor(times)
    even = below + below % 2
    half = {"even": even, "up": below + 1, "down": below}[ties]
    whole = below if rest < Fraction(1, 2) else below + 1 if rest > Fraction(1, 2) else half
    return whole * Fraction(step)


def test_every_coding_acts_and_in_the_order_that_is_told():
    assert tuple(CODINGS) == KEYS
    assert set(FINDERS) == {"bottom", "top", "fold"}


@pytest.mark.parametrize("kind", _ORDERED)
@given(data=st.data())
def test_ends(kind, data):
    values = data.draw(rows_of(kind))
    first, second = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    assert code_values(kind, values, top=_text(first)) == [
        None if v is None else min(v, first) for v in values
    ]
    low, high = sorted([first, second])
    assert code_values(kind, values, bottom=_text(low), top=_text(high)) == [
        None if v is None else max(low, min(v, high)) for v in values
    ]


def test_what_is_no_number_stands_beyond_no_threshold():
    column = column_of("float", [nan, 1.0, 9.0, None])
    coded_column, _ = code_column(column, declare_coded(top="3", bottom="2"), {})
    assert str(coded_column.array().to_pylist()) == "[nan, 2.0, 3.0, None]"


@pytest.mark.parametrize("kind", _ORDERED)
@given(data=st.data(), share=st.decimals("0.001", "0.499", places=3))
def test_thresholds_leave_the_share(kind, data, share):
    values = data.draw(rows_of(kind))
    values_known = sorted(v for v in values if v is not None)
    assume(values_known)
    count = ceil(Fraction(share) * len(values_known))
    column = column_of(kind, values)
    for key, limit in (("top", values_known[-count]), ("bottom", values_known[count - 1])):
        coded_column = code_column(column, declare_coded(**{key: {"share": share}}), {})
        assert coded_column[1] == {key: _text(limit)}
        cut = min if key == "top" else max
        assert coded_column[0].array().to_pylist() == [
            None if v is None else cut(v, limit) for v in values
        ]
        assert sum(v == limit for v in coded_column[0].array().to_pylist()) >= count


def test_a_share_of_no_rows_is_refused():
    with pytest.raises(InputError, match=r"column 'x': top: no row has a value"):
        code_values("float", [nan, None], top={"share": "0.1"})


@pytest.mark.parametrize("ties", ["even", "up", "down"])
@given(values=rows_of("integer"), step=st.integers(1, 2**62))
def test_integers_are_rounded_exactly(values, step, ties):
    expected = [None if v is None else nearest(v, step, ties) for v in values]
    fits = all(v is None or -(2**63) <= v < 2**63 for v in expected)
    if fits:
        assert code_values("integer", values, round={"to": str(step), "ties": ties}) == expected
    else:
        with pytest.raises(
            InputError, match=("column 'x': round: rounding would give a number that")
        ):
            code_values("integer", values, round={"to": str(step), "ties": ties})


@pytest.mark.parametrize("ties", ["even", "up", "down"])
@given(values=rows_of("decimal"), step=st.decimals("0.001", 1000, places=3))
def test_decimals_are_rounded_exactly_also_to_more_digits(values, step, ties):
    expected = [None if v is None else nearest(v, step, ties) for v in values]
    assert code_values("decimal", values, round={"to": str(step), "ties": ties}) == expected


@pytest.mark.parametrize(
    "codings", [{"top": "0.0005"}, {"bottom": "-0.0005"}, {"round": {"to": "0.0005"}}]
)
def test_a_decimal_with_too_many_digits_is_refused_without_its_value(codings):
    with pytest.raises(InputError, match="too many digits") as failed:
        code_values("decimal", [Decimal(10**35)], **codings)
    assert "1000" not in str(failed.value)


def test_a_threshold_that_the_type_cannot_hold_is_refused():
    for kind, text in (("decimal", "1e40"), ("integer", "1e30")):
        with pytest.raises(
            InputError, match=("column 'x': the threshold or step has too many digits")
        ):
            code_values(kind, [Decimal(1) if kind == "decimal" else 1], top=text)


SPELLED = st.text(alphabet="aB\u00df\u0130\u00e9e\u0301\uff21 \u00a0\t\u200b", max_size=6)


@given(values=st.lists(st.none() | SPELLED, min_size=1))
def test_spellings_become_one(values):
    """By definition, letter by letter: no invisible ones, single spaces, NFKC without case."""

    def plain(text):
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
        while (folded := unicodedata.normalize("NFKC", text).casefold()) != text:
            text = folded
        return " ".join(text.split())

    coded_values = code_values("string", values, unite="spellings")
    assert coded_values == [None if text is None else plain(text) for text in values]


@given(values=rows_of("string"), length=st.integers(1, 5))
def test_prefixes_are_of_characters(values, length):
    expected = [None if v is None else v[:length] for v in values]
    assert code_values("string", values, prefix=length) == expected


@given(values=rows_of("string"), below=st.integers(2, 8), later=rows_of("string"))
def test_rare_values_fold_and_later_ones_by_what_was_frequent_first(values, below, later):
    wish = {"below": below, "into": "other"}
    times = Counter(values)
    frequent = {v for v in times if v is not None and times[v] >= below}
    column, codings = code_column(column_of("string", values), declare_coded(fold=wish), {})
    assert codings == {"fold": sorted(frequent, key=str.encode)}
    assert column.array().to_pylist() == [
        v if v is None or v in frequent else "other" for v in values
    ]
    assert code_values("string", later, codings, fold=wish) == [
        v if v is None or v in frequent else "other" for v in later
    ]


@pytest.mark.parametrize("kind", ["date", "timestamp"])
@given(data=st.data())
def test_dates_move_by_whole_days(kind, data):
    values = data.draw(rows_of(kind))
    days = data.draw(st.lists(st.integers(-400, 400), min_size=len(values), max_size=len(values)))
    codings = {"shift": np.array(days, dtype=np.int64)}
    assert code_values(kind, values, codings, shift={"days": 400}) == [
        None if v is None else v + timedelta(days=n) for v, n in zip(values, days, strict=True)
    ]


@pytest.mark.parametrize(("value", "days"), [(date(1, 1, 5), -5), (date(9999, 12, 30), 2)])
def test_a_date_that_leaves_the_calendar_is_refused(value, days):
    whole = datetime(value.year, value.month, value.day, 23)  # noqa: DTZ001
    for kind, value_ in (("date", value), ("timestamp", whole)):
        beyond = {"shift": np.array([days])}
        with pytest.raises(
            InputError,
            match=(
                r"shift: a moved date would be outside the years 1 to "
                r"9999\."
            ),
        ):
            code_values(kind, [value_], beyond, shift={"days": 9})
        within = {"shift": np.array([days - (1 if days > 0 else -1)])}
        assert len(code_values(kind, [value_], within, shift={"days": 9})) == 1


@given(values=rows_of("decimal"), share=st.decimals("0.01", "0.4", places=2))
def test_codings_act_one_after_another_in_a_fixed_order(values, share):
    """A threshold that was computed is rounded, too: nobody's own value is shown."""
    values_known = sorted(v for v in values if v is not None)
    assume(values_known)
    limit = values_known[-ceil(Fraction(share) * len(values_known))]
    coded_values = code_values("decimal", values, round={"to": "5"}, top={"share": share})
    assert coded_values == [
        None if v is None else nearest(min(v, limit), 5, "even") for v in values
    ]
    text = code_values(
        "string", ["abc", "abd", "xyz"], fold={"below": 2, "into": "other"}, prefix=2
    )
    assert text == ["ab", "ab", "other"]
