"""Rows and people are compared once for all attacks, as every attack by itself compared them."""

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.ranks import rank
from sfumato.tasks.attacks.from_files import _MIXED, shuffle_numbers
from sfumato.tasks.attacks.group.background import rule_out, share_certain
from sfumato.tasks.attacks.records import shuffled
from sfumato.tasks.attacks.records.shuffled import ShuffledValues, only_rows
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.query.accuracy import vectors
from sfumato.tasks.query.accuracy.vectors import RowsTogether, rank_together
from tests.attacks.test_attacks import QUASI, make_release

TEXTS = st.lists(st.sampled_from(["", "a", "b", "ab"]) | st.none(), max_size=8)
NUMBERS = st.lists(st.integers(-3, 3) | st.none(), max_size=8)
ROWS = st.lists(st.tuples(st.integers(0, 2) | st.none(), st.sampled_from("ab")), max_size=8)


@given(
    st.tuples(TEXTS, TEXTS, st.just(pa.string())) | st.tuples(NUMBERS, NUMBERS, st.just(pa.int64()))
)
def test_a_column_is_ranked_as_all_its_values_one_after_another(lists):
    published, people, type_ = lists
    own = encode("", "insensitive", pa.array(people, type_))
    both = rank_together(pa.array(published, type_), own, type_)
    values, expected = rank(pa.array([*published, *people], type_))
    assert both.values.to_pylist() == values.to_pylist()
    assert both.codes.tolist() == expected.tolist()


def test_values_that_nobody_has_are_not_ranked():
    own = encode("", "insensitive", pa.array(["a", "b", "c"]))
    some = replace(own, codes=own.codes[1:2])
    assert rank_together(pa.array(["d"]), some, pa.string()).values.to_pylist() == ["b", "d"]


def compare_rows(rows, people):
    """Rows and people of two columns, compared."""
    types = pa.int64(), pa.string()
    tables = [
        pa.table({n: pa.array([r[i] for r in lines], types[i]) for i, n in enumerate("xy")})
        for lines in (rows, people)
    ]
    columns = tuple(encode(name, "insensitive", tables[1][name]) for name in "xy")
    return RowsTogether(tables[0], Microdata(columns, len(people)), "xy")


@given(ROWS, ROWS, st.integers(1, 4))
def test_vectors_of_rows_are_numbered_in_their_order_and_those_of_people_by_them(
    rows, people, most
):
    both = compare_rows(rows, people)
    order = sorted({*rows}, key=lambda row: (row[0] is not None, row[0] or 0, row[1]))
    published, own = (vector.tolist() for vector in both.vectors)
    assert published == [order.index(row) for row in rows]
    assert own == [order.index(row) if row in order else -1 for row in people]
    assert compare_rows(rows, people).has_more_vectors_than(most) == (len(order) > most)
    with patch.object(vectors, "_BITS", 1):  # where hashes do not decide
        assert compare_rows(rows, people).has_more_vectors_than(most) == (len(order) > most)


@pytest.mark.parametrize(("form", "columns"), [("split", 3), ("permuted", 4)])
@pytest.mark.parametrize("sensitive", [["s"], ["s", "s"]])
def test_columns_are_ranked_once_whatever_is_attacked(form, columns, sensitive, tmp_path):
    """Published columns are ranked once for all attacks and all sensitive columns."""
    rng = np.random.default_rng(1)
    people = {name: rng.integers(0, 4, 200) for name in (*QUASI, "s")}
    release = make_release(tmp_path, people, form)
    declared, ranked, named = release.declared, Counter(), type(release.declared).names_with_roles

    def counting(array):
        ranked[len(array)] += 1
        return rank(array)

    def names(declared, *roles):
        return sensitive if roles == ("sensitive",) else named(declared, *roles)

    with (
        patch.object(vectors, "rank", counting),
        patch.object(type(declared), "names_with_roles", names),
    ):
        scores = attack_release(targets_of(declared, release.tables, release.people))
    assert scores["s"]
    assert ranked[max(table.num_rows for table in release.tables.values())] == columns


GROUPED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=20)


@given(GROUPED, st.lists(st.tuples(st.integers(0, 2), st.integers(0, 7), st.integers(0, 7))))
def test_values_of_groups_are_counted_however_they_are_looked_for(grouped, questions):
    groups = sorted({group for group, _ in grouped})
    group, cells = np.array([(groups.index(group), cell) for group, cell in grouped]).T
    group_, low, high = (
        np.array([q for q in questions if q[0] < len(groups)], dtype=int).reshape(-1, 3).T
    )
    for steps in (0, 12):
        with patch.object(shuffled, "_MOST_STEPS", steps):
            values = ShuffledValues(group, cells.astype(np.int16))
            between = values.count_between(group_, low, np.maximum(low, high))
            times = values.times(group_, low)
        lines = list(zip(group.tolist(), cells.tolist(), strict=True))
        for g, first, end, counted, same in zip(
            group_.tolist(),
            low.tolist(),
            high.tolist(),
            between.tolist(),
            times.tolist(),
            strict=True,
        ):
            assert counted == sum(g == other and first <= cell < end for other, cell in lines)
            assert same == lines.count((g, first))


@given(st.lists(st.integers(-1, 4), min_size=1), st.lists(st.integers(0, 5)))
def test_only_rows_are_those_that_no_other_row_is_like(published, own):
    rows = only_rows(np.array(published), np.array(own, dtype=np.int64)).tolist()
    assert rows == [
        published.index(number) if published.count(number) == 1 else -1 for number in own
    ]


@given(GROUPED, st.integers(0, 4))
def test_whose_value_is_certain_needs_no_beliefs(grouped, ruled_out):
    times = Counter(grouped)
    groups = sorted({group for group, _ in times})
    entries = sorted((groups.index(group), value, n) for (group, value), n in times.items())
    group, value, number = np.array(entries).T
    counts = Counts(group, value, number, 5, None)
    assert share_certain(counts, ruled_out) == rule_out(counts, ruled_out).share_above(1.0)


def test_the_deal_is_the_same_where_the_first_half_of_two_numbers_is():
    """Of 200,000 numbers of 64 bits some have their first 32 bits in common."""
    mixed = np.arange(1, 200_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in _MIXED:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    assert len(np.unique(mixed >> np.uint64(32))) < len(mixed)
    assert (shuffle_numbers(len(mixed)) == np.argsort(mixed)).all()
