"""Counts behind the sliders, beside counting row by row."""

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.flows.workbench.counts import CountedTable, DeclaredTable
from sfumato.flows.workbench.hierarchies import rows_of_cuts
from sfumato.flows.workbench.worth import rows_breaking
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.hierarchy import Hierarchy

ROWS = st.lists(
    st.tuples(st.integers(0, 39), st.sampled_from("ab"), st.sampled_from(["x", "y", "z", None])),
    min_size=1,
    max_size=40,
)
COLUMNS = {
    "age": {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [5, 10]}},
    "sex": {"role": "quasi-identifier"},
    "ill": {"role": "sensitive", "nulls": "category"},
}


def table_of(rows, declared=None):
    """The table of some rows."""
    written = declared or COLUMNS
    specs = {name: ColumnSpec.model_validate(keys) for name, keys in written.items()}
    kinds = (pa.int64(), pa.string(), pa.string())
    values = zip(*rows, strict=True)
    columns = tuple(
        encode(name, specs[name].role, pa.array(list(column), kind))
        for name, column, kind in zip(written, values, kinds, strict=True)
    )
    table = DeclaredTable(Source(uri="x.csv"), specs, "refuse", Path())
    microdata = Microdata(columns, len(rows))
    return CountedTable(table, microdata, microdata, "")


def label(age, level):
    return age if level == 0 else age // (5 * level) if level < 3 else "*"


@given(ROWS, st.integers(0, 3), st.integers(1, 8))
def test_groups_are_those_of_counting_row_by_row(rows, level, size):
    sizes = Counter((label(age, level), sex) for age, sex, _ in rows)
    groups = table_of(rows).groups({"age": level})
    assert groups.sizes.tolist() == sorted(sizes.values())
    assert groups.rows_below(size) == sum(n for n in sizes.values() if n < size)
    assert groups.alone == sum(n for n in sizes.values() if n == 1)
    assert groups.smallest == min(sizes.values())


@given(ROWS, st.integers(1, 5), st.integers(1, 10))
def test_values_are_those_of_counting_row_by_row(rows, number, tenths):
    groups: dict = {}
    for age, sex, ill in rows:
        groups.setdefault((age, sex), Counter())[ill] += 1
    values = table_of(rows).values("ill")
    fewer = sum(sum(g.values()) for g in groups.values() if len(g) < number)
    assert values.rows_with_fewer(number) == fewer
    above = sum(
        sum(g.values()) for g in groups.values() if 10 * max(g.values()) > tenths * sum(g.values())
    )
    assert values.rows_above(Fraction(tenths, 10)) == above


def broken_by(promise, shares, common):
    """Decide from the shares of values in a group and in all rows whether a promise is broken."""
    model = promise["model"]
    if model == "t-closeness":
        apart = sum(abs(shares.get(v, 0) - common[v]) for v in common) / 2
        return apart > Fraction(str(promise["t"]))
    if model == "beta-likeness":
        gains = [shares[v] / common[v] - 1 for v in shares]
        return max(gains) > Fraction(str(promise["beta"]))
    lacking = any(v not in shares for v in common)
    logarithms = [abs(math.log(shares[v] / common[v])) for v in shares]
    return lacking or max(logarithms) > promise["delta"] + 1e-9


PROMISES = st.one_of(
    st.integers(0, 10).map(lambda n: {"model": "t-closeness", "distance": "equal", "t": n / 10}),
    st.integers(1, 30).map(
        lambda n: {"model": "beta-likeness", "variant": "basic", "beta": n / 10}
    ),
    st.integers(1, 30).map(lambda n: {"model": "delta-disclosure", "delta": n / 10}),
)


@given(ROWS, PROMISES)
def test_rows_of_broken_groups_are_those_of_the_definition(rows, promise):
    groups: dict = {}
    for age, sex, ill in rows:
        groups.setdefault((age, sex), Counter())[ill] += 1
    common = {v: Fraction(n, len(rows)) for v, n in Counter(row[2] for row in rows).items()}
    breaking = 0
    for group in groups.values():
        size = sum(group.values())
        shares = {value: Fraction(n, size) for value, n in group.items()}
        breaking += size if broken_by(promise, shares, common) else 0
    assert rows_breaking(table_of(rows), promise, "ill") == breaking


@given(ROWS, st.integers(1, 4), st.integers(0, 30))
def test_rows_without_the_range_of_ke_anonymity(rows, number, length):
    """The ages are the sensitive numbers here, in groups of equal sexes."""
    groups: dict = {}
    for age, sex, _ in rows:
        groups.setdefault(sex, []).append(age)
    breaking = sum(
        len(ages)
        for ages in groups.values()
        if len(set(ages)) < number or max(ages) - min(ages) < length
    )
    others = {name: COLUMNS[name] for name in ("sex", "ill")}
    columns = {"age": {"role": "sensitive", "type": "integer"}, **others}
    promise = {"model": "ke-anonymity", "k": number, "e": length}
    assert rows_breaking(table_of(rows, columns), promise, "age") == breaking


def test_what_counts_cannot_decide_is_left_to_a_draft():
    rows = [(1, "a", "x"), (2, "b", "y")]
    for promise in (
        {"model": "t-closeness", "distance": "nothing", "t": 0.2},
        {"model": "beta-likeness", "beta": -1},
        {"model": "delta-disclosure", "delta": "x"},
    ):
        assert rows_breaking(table_of(rows), promise, "ill") is None


@given(ROWS, st.integers(0, 3))
def test_every_row_has_one_label(rows, level):
    counts = table_of(rows).rows_by_label("age", level)
    assert sum(counts.values()) == len(rows)
    assert len(counts) == len({label(age, level) for age, _, _ in rows})


@given(
    st.integers(-50, 50),
    st.integers(0, 60),
    st.lists(st.integers(-60, 120), max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_cut_points_give_ranges_that_nest(low, length, cuts, marks):
    fine = sorted(set(cuts))
    coarse = [cut for cut, keep in zip(fine, marks, strict=False) if keep]
    rows = rows_of_cuts((low, low + length), [fine, coarse])
    Hierarchy("ranges", tuple(rows))  # nests, or is refused
    assert [int(row[0]) for row in rows] == list(range(low, low + length + 1))
    for row in rows:
        for text in row[1:-1]:
            first, _, last = text.partition(" to ")
            assert int(first) <= int(row[0]) <= int(last or first)
