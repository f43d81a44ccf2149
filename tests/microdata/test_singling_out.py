"""The smallest sets of columns that single people out, against all sets."""

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.microdata.singling_out import Subset, singling_out
from sfumato.tasks.microdata.table import Microdata, encode

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


def names(rows):
    return [f"q{i}" for i in range(len(rows[0]))]


def alone(rows, places):
    times = Counter(tuple(row[i] for i in places) for row in rows)
    return sum(n == 1 for n in times.values())


@given(ROWS)
def test_all_minimal_sets_and_no_others(rows):
    result = singling_out(microdata(rows), names(rows))
    assert {subset.columns: subset.rows for subset in result.minimal} == by_hand(rows)
    assert result.complete_up_to == len(rows[0])
    assert [len(s.columns) for s in result.minimal] == sorted(
        len(s.columns) for s in result.minimal
    )


def by_hand(rows):
    """The minimal sets and the worst of each size, from all sets."""
    every = range(len(rows[0]))
    counts = {
        places: alone(rows, places)
        for size in range(1, len(rows[0]) + 1)
        for places in combinations(every, size)
    }
    singling = {places for places, n in counts.items() if n}
    return {
        tuple(f"q{i}" for i in places): counts[places]
        for places in singling
        if not any(set(other) < set(places) for other in singling)
    }


@pytest.mark.parametrize("copies", [(1, 3), (2, 3)])
def test_many_values_that_are_seldom_combined(copies):
    rng = np.random.default_rng(11)
    found_some = 0
    for _ in range(25):
        pairs = rng.integers(0, int(rng.integers(100, 400)), (int(rng.integers(100, 300)), 2))
        rows = [(int(a), int(b), c) for a, b in pairs for c in range(rng.integers(*copies))]
        result = singling_out(microdata(rows), names(rows))
        assert {s.columns: s.rows for s in result.minimal} == by_hand(rows)
        found_some += bool(result.minimal)
    assert found_some >= 20


def test_nobody_is_alone_among_many_combinations():
    rows = [(i % 50, (7 * (i % 50) + i // 50) % 60, c) for i in range(100) for c in range(2)]
    assert not alone(rows, (0, 1))
    minimal = singling_out(microdata(rows), names(rows)).minimal
    assert {s.columns: s.rows for s in minimal} == by_hand(rows)


def test_keys_beyond_int64():
    rng = np.random.default_rng(3)
    columns = [rng.permutation(1500) for _ in range(7)]
    rows = [tuple(int(v) for v in row) for row in zip(*columns, strict=True)] * 2
    assert singling_out(microdata(rows), names(rows)).minimal == ()
    rows.append((*rows[0][:6], rows[1][6]))
    single = singling_out(microdata(rows), names(rows)).minimal
    assert [(s.columns, s.rows) for s in single] == [((f"q{i}", "q6"), 1) for i in range(6)]


@pytest.mark.timeout(20)
def test_a_wide_table_of_which_every_column_singles_out_is_no_search():
    rows = [(i,) * 60 for i in range(5)]
    result = singling_out(microdata(rows), names(rows))
    assert result.complete_up_to == 60
    assert result.minimal == tuple(Subset((name,), 5) for name in sorted(names(rows)))


@pytest.mark.timeout(20)
def test_a_wide_table_ends_with_its_budget():
    rows = [(0,) * 200, (0,) * 200]
    result = singling_out(microdata(rows), names(rows), budget=300)
    assert (result.minimal, result.complete_up_to) == ((), 1)


def test_a_null_is_a_category():
    rows = [(None, 1), (1, 1), (1, 2), (1, 2)]
    result = singling_out(microdata(rows), ["q0", "q1"])
    assert result.minimal == (Subset(("q0",), 1),)


def test_columns_of_many_values():
    rows = [(i * 7919 % 100_003, i % 3) for i in range(300)] * 2
    assert singling_out(microdata(rows), ["q0", "q1"]).minimal == ()
    rows.append((5, 2))
    minimal = singling_out(microdata(rows), ["q0", "q1"]).minimal
    assert [(s.columns, s.rows) for s in minimal] == [(("q0",), 1)]


def test_a_budget_is_told():
    rows = [(0,) * 8, (0,) * 8]
    result = singling_out(microdata(rows), [f"q{i}" for i in range(8)], budget=40)
    assert (result.minimal, result.complete_up_to) == ((), 2)
    within = [singling_out(microdata(rows), names(rows), n).complete_up_to for n in (7, 8, 35, 36)]
    assert within == [0, 1, 1, 2]


def test_no_columns_and_no_rows():
    assert singling_out(microdata([(1,)]), []).minimal == ()
    nobody = Microdata((encode("q0", "insensitive", pa.array([], pa.int64())),), 0)
    assert singling_out(nobody, ["q0"]).minimal == ()
