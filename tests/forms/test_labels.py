"""Labels that are written are read; what is no label is refused."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.label_readers import levels, reader, reader_of_suppressed
from sfumato.tasks.forms.labels import Anything, Between, ListedValues, admits, interval, value_set
from sfumato.tasks.schema.hierarchy import from_dates, from_intervals, from_prefixes
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes
from sfumato.tasks.schema.published import DeclaredColumn

TEXTS = st.text(alphabet='ab ,"{}[]*\\é', max_size=6) | st.sampled_from(
    ["*", "a or null", " or null", "[1, 2]", "{a}", "", '"', "\n"]
)
KIND = (("kind", "cat", "pet", "*"), ("kind", "dog", "pet", "*"), ("kind", "wolf", "wild", "*"))


def column(type_="string", **more):
    return DeclaredColumn(role="quasi-identifier", type=type_, **more)


@pytest.mark.parametrize("text", ["1.5", "1.500", "2", "[1.00, 2.5]", "1.0E-1"])
def test_a_label_of_a_decimal_column_has_its_decimals(text):
    declared = column("decimal", scale=2)
    assert reader("size", declared)("1.50") == ListedValues((Decimal("1.50"),))
    with pytest.raises(PromiseError, match="not one of its labels"):
        reader("size", declared)(text)
    with pytest.raises(PromiseError, match="not one of its labels"):
        reader_of_suppressed("size", declared)(text)


@pytest.mark.parametrize("text", ["1999-Q4", "1999"])
def test_a_period_of_another_hierarchy_is_no_label(text):
    read = reader("born", column("date", hierarchy=Dates(dates=("month", "decade"))))
    assert read("1990s") == Between(date(1990, 1, 1), date(1999, 12, 31))
    with pytest.raises(PromiseError, match="not one of its labels"):
        read(text)


@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True).map(sorted), st.booleans())
def test_a_set_of_texts_reads_as_it_was_written(texts, null):
    read = reader("town", column(nulls=True))
    label = value_set(texts, null)
    assert label != "*"
    assert read(label) == ListedValues(tuple(texts), null)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("string", "{b, a}"),
        ("string", "{a, a}"),
        ("string", '{"a", b}'),
        ("string", "{a, }"),
        ("string", "{}"),
        ("string", ""),
        ("integer", "1_000"),
        ("integer", " 7"),
        ("integer", "+7"),
        ("integer", "\uff17"),
        ("integer", "[1, 7"),
        ("decimal", "1_0.5"),
        ("float", "[1, infinity]"),
        ("date", "20240131"),
        ("date", "2024-W05-3"),
        ("timestamp", "2024-01-31T10:00:00"),
        ("timestamp", "2024-01-31 10:00:00"),
        ("float", "1.0"),
        ("float", "1.50"),
        ("float", "100000000000"),
        ("float", "nan"),
    ],
)
def test_another_way_to_write_the_same_is_no_label(type_, text):
    with pytest.raises(PromiseError, match="not one of its labels"):
        reader("town", column(type_))(text)


@given(
    st.sampled_from(
        [
            ("integer", pa.int64(), [-5, 0, 7, 10**12]),
            ("decimal", pa.decimal128(38, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("7.25")]),
            ("float", pa.float64(), [-1e300, -0.5, 1e-9, 3.0]),
            ("date", pa.date32(), [date(1, 1, 1), date(1987, 3, 9), date(9999, 12, 31)]),
            (
                "timestamp",
                pa.timestamp("us"),
                [datetime(1987, 3, 9, 1, 2, 3, 4), datetime(2020, 1, 1)],  # noqa: DTZ001
            ),
        ]
    ),
    st.booleans(),
    st.data(),
)
def test_an_interval_reads_as_it_was_written(kind, null, data):
    type_, arrow, values = kind
    low, high = sorted(data.draw(st.lists(st.sampled_from(values), min_size=2, max_size=2)))
    texts = pc.cast(pa.array([low, high], arrow), pa.string()).to_pylist()
    admitted = reader("x", column(type_, nulls=True, scale=2))(interval(*texts, null=null))
    assert admitted == (ListedValues((low,), null) if low == high else Between(low, high, null))


@given(st.integers(-200, 200))
def test_labels_of_intervals_admit_their_values(value):
    hierarchy = from_intervals("age", [5, 10, 20], [value])
    declared = column("integer", hierarchy=Intervals(intervals=(5, 10, 20)))
    read = reader("age", declared)
    labels = hierarchy.rows[0]
    assert levels(declared, labels, [read(label) for label in labels]) == ([0, 1, 2, 3, 4], 4)
    for number, label in enumerate(labels):
        admitted = read(label)
        if number == 0:
            assert admitted == ListedValues((value,))
        elif number < 4:
            assert admitted.low <= value <= admitted.high
            assert admitted.high - admitted.low + 1 == (5, 10, 20)[number - 1]
        else:
            assert admitted == Between(None, None)


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_labels_of_dates_admit_their_values(value):
    steps = ("month", "quarter", "year", "decade", "century")
    declared = column("date", hierarchy=Dates(dates=steps))
    read = reader("born", declared)
    labels = from_dates("born", steps, [value]).rows[0]
    assert levels(declared, labels, [read(label) for label in labels])[0] == [0, 1, 2, 3, 4, 5, 6]
    for number, label in enumerate(labels[1:-1], start=1):
        admitted = read(label)
        assert admitted.low <= value <= admitted.high
        before = value.replace(day=1) if number == 1 else None
        assert before is None or admitted.low == before
        following = admitted.high + timedelta(days=1) if admitted.high < date.max else None
        assert following is None or following.day == 1


@given(st.text(alphabet="012*", min_size=1, max_size=6))
def test_labels_of_prefixes_admit_their_values(value):
    declared = column(hierarchy=Prefixes(prefixes=(4, 2)))
    read = reader("zip", declared)
    labels = from_prefixes("zip", [4, 2], [value]).rows[0]
    reached, height = levels(declared, labels, [read(label) for label in labels])
    assert all(admits(read(label), value) for label in labels)
    assert max(reached) <= height
    assert read("*") == Anything()


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_intervals_at_the_edges_admit_integers_of_64_bits_alone(value):
    label = from_intervals("x", [10], [value]).level(1)[0]
    admitted = reader("x", column("integer", hierarchy=Intervals(intervals=(10,))))(label)
    assert admits(admitted, value)
    assert -(2**63) <= admitted.low <= admitted.high < 2**63


def test_leaves_that_no_value_can_be_are_left_out():
    rows = (("7", "*"), ("9" * 20, "*"), ("many", "*"))
    assert reader("x", column("integer", hierarchy=rows))("*") == ListedValues((7,))
    rows = (("7.5", "*"), ("7.25", "*"), ("9e40", "*"))
    read = reader("x", column("decimal", scale=1, hierarchy=rows))
    assert read("*") == ListedValues((Decimal("7.5"),))


def test_a_label_of_several_nodes_admits_the_leaves_of_all():
    rows = (("pet", "pet", "*"), ("dog", "pet", "*"), ("wolf", "wild", "*"))
    read = reader("kind", column(hierarchy=rows))
    assert read("pet") == ListedValues(("pet", "dog"))
    assert read("wolf") == ListedValues(("wolf",))
    assert read("*") == ListedValues(("pet", "dog", "wolf"))
    labels = ["pet", "wolf", "wild", "*"]
    reached, height = levels(column(hierarchy=rows), [*labels, None], [read(n) for n in labels])
    assert (reached, height) == ([0, 0, 1, 2, 0], 2)


def test_stars_and_nulls_are_different():
    read = reader_of_suppressed("age", column("integer", nulls=True))
    assert read("*") == Between(None, None, null=True)
    assert read(None) == ListedValues((), null=True)
    assert read("7") == ListedValues((7,))
    assert reader_of_suppressed("town", column())("*") == Anything(null=False)
    assert reader_of_suppressed("town", column())("{a") == ListedValues(("{a",))


@pytest.mark.parametrize(
    ("declared", "label"),
    [
        (column("integer"), "[20, 10]"),
        (column("integer"), "[10, 10]"),
        (column("integer"), "[1, x]"),
        (column("integer"), "ten"),
        (column("integer"), "7 or null"),
        (column("integer"), None),
        (column("integer", hierarchy=Intervals(intervals=(5,))), "10-19"),
        (column("integer", hierarchy=Intervals(intervals=(5,))), "11-15"),
        (column("date", hierarchy=Dates(dates=("year",))), "1987-13"),
        (column("date", hierarchy=Dates(dates=("year",))), "soon"),
        (column(hierarchy=(("a", "*"), ("b", "*"))), "c"),
        (column("boolean"), "maybe"),
    ],
)
def test_what_is_no_label_is_refused(declared, label):
    with pytest.raises(PromiseError, match=r"^column 'x': (a |has a )") as refused:
        reader("x", declared)(label)
    assert label is None or str(label) not in str(refused.value).replace("column 'x'", "")
