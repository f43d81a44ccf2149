"""The smallest sets of columns that single people out, against all sets."""

from collections import Counter
from itertools import combinations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.singling_out import singling_out
from tasks.microdata.table import Microdata, encode

ROWS = st.integers(1, 4).flatmap(
    lambda m: st.lists(st.tuples(*[st.integers(0, 2) | st.none()] * m), min_size=1, max_size=25)
)


def microdata(rows):
    columns = zip(*rows, strict=True)
    return Microdata(
        tuple(
            encode(f"q{i}", "insensitive", pa.array(column, pa.int64()))
            for i, column in enumerate(columns)
        ),
        len(rows),
    )


def alone(rows, places):
    times = Counter(tuple(row[i] for i in places) for row in rows)
    return sum(n == 1 for n in times.values())


@given(ROWS)
def test_all_minimal_sets_and_no_others(rows):
    table = microdata(rows)
    every = range(len(rows[0]))
    singling = {
        places: alone(rows, places)
        for size in range(1, len(rows[0]) + 1)
        for places in combinations(every, size)
        if alone(rows, places)
    }
    minimal = {
        places: n
        for places, n in singling.items()
        if not any(set(other) < set(places) for other in singling)
    }
    found = singling_out(table, [c.name for c in table.columns])
    assert {subset.columns: subset.rows for subset in found.minimal} == {
        tuple(f"q{i}" for i in places): n for places, n in minimal.items()
    }
    assert found.complete_up_to == len(rows[0])
    assert [len(s.columns) for s in found.minimal] == sorted(len(s.columns) for s in found.minimal)


def test_columns_of_many_values():
    rows = [(i * 7919 % 100_003, i % 3) for i in range(300)] * 2
    assert singling_out(microdata(rows), ["q0", "q1"]).minimal == ()
    rows.append((5, 2))
    found = singling_out(microdata(rows), ["q0", "q1"]).minimal
    assert [(s.columns, s.rows) for s in found] == [(("q0",), 1)]


def test_a_budget_is_told():
    rows = [(0,) * 8, (0,) * 8]
    found = singling_out(microdata(rows), [f"q{i}" for i in range(8)], budget=40)
    assert (found.minimal, found.complete_up_to) == ((), 2)


def test_no_columns_and_no_rows():
    assert singling_out(microdata([(1,)]), []).minimal == ()
