"""The codebook of pages: every value that the files show is counted, once, and nothing else is."""

from collections import Counter
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.publication.compared_pages import is_passive
from sfumato.tasks.report.codebook import marginal, published_values
from sfumato.tasks.report.page import page
from sfumato.tasks.schema.formats import LAYOUT
from tests.report.content import losses
from tests.report.html import Read

TIMES = st.integers(-(10**15), 10**15)  # microseconds since 1970
TYPES = {
    "integer": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40)),
    "float": (pa.float64(), st.floats()),
    "decimal": (pa.decimal128(38, 2), st.decimals(-999, 999, places=2)),
    "date": (pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    "timestamp": (pa.timestamp("us"), TIMES),
    "string": (pa.string(), st.text(max_size=3)),
    "boolean": (pa.bool_(), st.booleans()),
}


def bars(values, kind, type_, name="x", *, separates=True):
    table = {"microdata": pa.table({name: pa.array(values, type_)})}
    marginals = marginal(published_values(name, table), kind, name, separates=separates)
    return {bar.label: bar.count for bar in marginals.bars}, marginals


@pytest.mark.parametrize("kind", sorted(TYPES))
@given(data=st.data())
def test_every_value_is_counted_once(kind, data):
    type_, values = TYPES[kind]
    column = data.draw(st.lists(st.none() | values, max_size=60))
    counts, marginals = bars(column, kind, type_)
    assert sum(bar.count for bar in marginals.bars) == len(column)
    assert len(marginals.bars) <= 13
    assert counts.get("missing", 0) >= column.count(None)
    assert all(0 <= float(bar.length) <= 100 for bar in marginals.bars)
    assert bars(column[::-1], kind, type_)[0] == counts


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=80))
def test_intervals_hold_what_lies_in_them(values):
    counts, marginals = bars(values, "integer", pa.int64(), separates=False)
    for label, count in counts.items():
        low, _, high = label.partition(" to ")
        assert count == sum(int(low) <= value <= int(high or low) for value in values)
    assert marginals.extent.endswith(f"from {min(values)} to {max(values)}")


@given(st.lists(st.sampled_from([f"{n:02}" for n in range(30)]), max_size=200))
def test_texts_that_are_seldom_are_counted_together(values):
    counts, marginals = bars(values, "string", pa.string())
    truth = Counter(values)
    together = [bar for bar in marginals.bars if "other value" in bar.label]
    alone = {bar.label: bar.count for bar in marginals.bars if bar not in together}
    assert alone.items() <= truth.items()
    assert sum(bar.count for bar in together) == len(values) - sum(alone.values())
    assert min(alone.values(), default=0) >= max(
        (count for value, count in truth.items() if value not in alone), default=0
    )
    assert counts == {**alone, **{bar.label: bar.count for bar in together}}


def test_counts_vacant_values_and_ranges_are_seen():
    counted = pa.table({"group_id": [0, 0, 1], "job": ["a", "b", "a"], "count": [2, 1, 4]})
    vacant = pa.table({"group_id": [1], "job": ["c"]})
    both = published_values("job", {"st": counted, "vacant": vacant})
    assert [(b.label, b.count) for b in marginal(both, "string", separates=True).bars] == [
        ("a", 6),
        ("b", 1),
        ("c", 1),
    ]
    assert (both.tables, both.counted) == (("st", "vacant"), True)
    ranges = pa.table(
        {"group_id": [0, 0, 1], "lower": [1, 3, 1], "upper": [3, 3, 3], "count": [5, 1, 2]}
    )
    targets = pa.table({"target": [0], "lower": [1], "upper": [9], "weight": [1]})
    values_shown = published_values("job", {"st": ranges, "targets": targets})
    assert [(b.label, b.count) for b in marginal(values_shown, "integer", separates=True).bars] == [
        ("1 to 3", 7),
        ("3", 1),
    ]
    assert marginal(values_shown, "integer", separates=True).extent == "2 different ranges"


def test_what_a_page_shows_is_in_the_tables_alone():
    content = losses([2, 3])
    names = content.declared.columns
    tables = {
        "microdata": pa.table(
            {
                name: pa.array(["<b>", "x", "x", "x", "x"])
                if column.type == "string"
                else pa.array([7, 7, 7, 7, 8])
                for name, column in names.items()
            }
        )
    }
    seen = Read(page(replace(content, tables=tables)))
    assert seen.faults == []
    assert "2 different values, from 7 to 8" in seen.text
    assert "<b>" in seen.text
    assert {f"column-{n + 1}" for n in range(len(names))} <= {
        heading.get("id") for heading in seen.all("h3")
    }
    without = Read(page(content))
    assert "Codebook" in seen.text
    assert "Codebook" not in without.text


def chart_of(values, kind, type_, *, separates=True):
    _, marginals = bars(values, kind, type_, separates=separates)
    return marginals.chart


def labels(ticks):
    return [tick.label for tick in ticks]


def boxes(chart, class_):
    return sum(path.count("M") for name, path in chart.shapes if name == class_)


def test_a_chart_has_an_axis_of_numbers_and_a_bar_for_each_interval_with_values():
    chart = chart_of([*range(1000, 61_000, 1000)] * 3, "integer", pa.int64())
    assert labels(chart.x_ticks) == ["0", "20,000", "40,000", "60,000"]
    assert chart.words.x_title == "x"
    assert labels(chart.y_ticks)[0] == "0"
    assert chart.words.y_title == "rows"
    assert boxes(chart, "inner") == 7
    assert boxes(chart, "body") == 0


def test_dates_have_an_axis_of_months_or_years():
    days = [date(2020, 1, 1 + n % 28) for n in range(40)] + [date(2023, 5, 6)]
    chart = chart_of(days, "date", pa.date32())
    assert labels(chart.x_ticks) == ["2020", "2021", "2022", "2023"]
    assert "from 2020-01-01 to 2023-05-06" in chart.words.summary


def test_missing_values_have_a_bar_beside_the_axis():
    chart = chart_of([1, 2, 2, None], "integer", pa.int64())
    assert labels(chart.x_ticks) == ["1", "2", "missing"]
    assert (boxes(chart, "inner"), boxes(chart, "body")) == (2, 1)


def test_texts_have_bars_and_no_axis_of_values():
    _, marginals = bars(["a", "b", "b"] * 40, "string", pa.string())
    assert marginals.chart is None
    assert marginals.end == "100"
    assert [bar.length for bar in marginals.bars] == ["80", "40"]


@pytest.mark.parametrize(
    ("values", "separates", "extent"),
    [
        ([1200, 45_000], True, "from 1,200 to 45,000"),
        ([1200, 45_000], False, "from 1200 to 45000"),
        ([1950, 2023], True, "from 1950 to 2023"),
    ],
    ids=["now", "before layout 9", "years"],
)
def test_large_values_have_separators_and_years_have_none(values, separates, extent):
    _, marginals = bars(values, "integer", pa.int64(), separates=separates)
    assert marginals.extent == f"2 different values, {extent}"


@given(st.data())
def test_every_axis_lies_within_its_chart(data):
    kind = data.draw(st.sampled_from(["integer", "decimal", "date", "timestamp"]))
    type_, values = TYPES[kind]
    column = data.draw(st.lists(st.none() | values, min_size=1, max_size=60))
    chart = chart_of(column, kind, type_)
    if chart is None:
        assert not any(value is not None for value in column)
        return
    assert all(chart.left <= float(tick.at) <= chart.right for tick in chart.x_ticks)
    assert all(0 <= float(tick.at) <= chart.bottom for tick in chart.y_ticks)
    assert boxes(chart, "inner") >= 1


def page_of(software):
    content = losses([2, 3])
    tables = {
        "microdata": pa.table(
            {
                name: pa.array([70_000 + n for n in range(5)])
                if column.type == "integer"
                else pa.array(list("aabbb"))
                for name, column in content.declared.columns.items()
            }
        )
    }
    declared = content.declared.model_copy(update={"software": software})
    return page(replace(content, declared=declared, tables=tables))


def test_pages_of_earlier_layouts_keep_their_numbers():
    now, before = page_of({LAYOUT: "9"}), page_of({LAYOUT: "8"})
    assert "from 70,000 to 70,004" in Read(now).text
    assert "from 70000 to 70004" in Read(before).text
    assert "70,000" not in before.partition('<svg class="plot"')[0]
    for html in (now, before):
        assert Read(html).faults == []
        assert 'style="' not in html
        assert is_passive(html, html)
