"""The codebook of pages: every value that the files show is counted, once, and nothing else is."""

from collections import Counter
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.report.codebook import marginal, published_values
from sfumato.tasks.report.page import page
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


def bars(values, kind, type_, name="x"):
    table = {"microdata": pa.table({name: pa.array(values, type_)})}
    marginals = marginal(published_values(name, table), kind)
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
    counts, marginals = bars(values, "integer", pa.int64())
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
    assert [(b.label, b.count) for b in marginal(both, "string").bars] == [
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
    assert [(b.label, b.count) for b in marginal(values_shown, "integer").bars] == [
        ("1 to 3", 7),
        ("3", 1),
    ]
    assert marginal(values_shown, "integer").extent == "2 different ranges"


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
