"""Published order is a function of what is published, and permutation keeps what it must."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.tasks.forms import permuted
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.forms.order import (
    ALONG,
    _content_ranks,
    canonical_apart,
    canonical_table,
    canonical_with,
    is_canonical,
)
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition

rows = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["x", "y", None]), st.integers(0, 5)),
    min_size=1,
    max_size=30,
)


def table(rows):
    a, b, group = zip(*rows, strict=True)
    return pa.table(
        {"a": pa.array(a), "b": pa.array(b, pa.string()), "group_id": pa.array(group, pa.int64())}
    )


def contents(table):
    """The multiset of groups, each as the multiset of its rows."""
    groups = {}
    for a, b, group in table.to_pandas().astype(object).itertuples(index=False):
        groups.setdefault(group, Counter())[(a, str(b))] += 1
    return Counter(frozenset(members.items()) for members in groups.values())


@given(rows)
def test_fixed_point_with_the_same_groups(rows):
    ordered = canonical_table(table(rows))
    assert is_canonical(ordered)
    assert contents(ordered) == contents(table(rows))
    first_seen = list(dict.fromkeys(ordered["group_id"].to_pylist()))
    assert first_seen == list(range(len(first_seen)))


@given(rows, st.randoms(use_true_random=False))
def test_blind_to_row_order_and_group_names(rows, rng):
    names = list(range(10, 16))
    rng.shuffle(names)
    renamed = [(a, b, names[group]) for a, b, group in rows]
    rng.shuffle(renamed)
    assert canonical_table(table(renamed)).equals(canonical_table(table(rows)))


@given(rows, st.integers(0, 99))
def test_permutation_keeps_quasi_identifiers_and_each_groups_values(rows, seed):
    numbers = np.arange(len(rows))
    group = np.array([g for _, _, g in rows])
    microdata = Microdata(
        (
            encode("a", "quasi-identifier", pa.array([a for a, _, _ in rows])),
            encode("loss", "sensitive", pa.array(numbers)),
        ),
        len(rows),
    )
    parameters = PermutedParameters(method="permuted")
    tables = permuted.publish(microdata, Partition(group), parameters, seeded_keys(seed))
    published = tables["microdata"]
    assert Counter(published["a"].to_pylist()) == Counter(a for a, _, _ in rows)
    seen = {}
    for loss, name in zip(
        published["loss"].to_pylist(), published["group_id"].to_pylist(), strict=True
    ):
        seen.setdefault(name, set()).add(loss)
    assert sorted(map(sorted, seen.values())) == sorted(
        sorted(numbers[group == g].tolist()) for g in set(group.tolist())
    )


@given(st.lists(st.lists(st.integers(0, 2), max_size=4).map(sorted), min_size=1, max_size=9))
def test_groups_are_ranked_by_their_ascending_lists_of_values(lists):
    group = np.repeat(np.arange(len(lists)), [len(values) for values in lists])
    rank = np.array([value for values in lists for value in values], dtype=np.int64)
    ranks = _content_ranks(rank, group, len(lists))
    smaller = [sum(other < values for other in lists) for values in lists]
    assert ranks.tolist() == smaller


def test_groups_that_a_table_has_no_rows_of_keep_their_place():
    first = pa.table({"age": [7, 8, 9], "group_id": [4, 5, 6]})
    other = pa.table({"wage": [2, 1], "group_id": [4, 5]})
    canonical = canonical_apart({"b": first, "a": other})
    assert canonical["b"].to_pydict() == {"age": [9, 8, 7], "group_id": [0, 1, 2]}
    assert canonical["a"].to_pydict() == {"wage": [1, 2], "group_id": [1, 2]}


def test_what_comes_along_decides_nothing():
    rows = pa.table({"age": [1, 1, 1], "group_id": [0, 1, 2]})
    same = pa.table({"wage": [5, 5, 5], "group_id": [0, 1, 2]})
    for name, decides in (("other", True), (ALONG, False)):
        along = pa.table({"mark": [3, 2, 1], "group_id": [0, 1, 2]})
        canonical = canonical_with({"rows": rows, "same": same, name: along}, "rows")
        marks = canonical[name].sort_by("group_id")["mark"].to_pylist()
        assert (marks == [1, 2, 3]) is decides


def lists_of(rows):
    """The ascending list of values of each group, by its id; nulls come first."""
    lists = {}
    for *values, group in sorted(rows, key=in_order):
        lists.setdefault(group, []).append(in_order([*values, 0]))
    return lists


def in_order(row):
    return [(value is not None, value) for value in row]


def table_of(rows, name):
    values, groups = zip(*rows, strict=True)
    return pa.table({name: pa.array(values, pa.int64()), "group_id": pa.array(groups, pa.int64())})


def is_in_order(rows):
    """The definition, for rows of a value and a group id."""
    lists = lists_of(rows)
    return (
        sorted(rows, key=in_order) == rows
        and sorted(lists) == list(range(len(lists)))
        and all(lists[g] <= lists[g + 1] for g in range(len(lists) - 1))
    )


few = st.one_of(st.none(), st.integers(0, 1))
grouped = st.lists(st.tuples(few, st.integers(0, 3)), min_size=1, max_size=12)


@given(grouped, st.booleans())
@example(rows=[(0, 1), (0, 0)], ordered=False)
@example(rows=[(0, 0), (0, 2)], ordered=True)
def test_order_is_decided_as_it_is_defined(rows, ordered):
    if ordered:
        rows = sorted(rows, key=in_order)
    assert is_canonical(table_of(rows, "age")) is is_in_order(rows)


@given(grouped, st.lists(few, min_size=12, max_size=12), st.permutations(range(12)))
def test_groups_equal_in_their_rows_are_ordered_by_their_other_table(rows, wages, order):
    rows = sorted(rows, key=in_order)
    theirs = [(wages[i], rows[i][1]) for i in order if i < len(rows)]
    tables = {"rows": table_of(rows, "age"), "other": table_of(theirs, "wage")}
    ages, values = lists_of(rows), lists_of(theirs)
    stands = (
        sorted(rows, key=in_order) == rows
        and sorted(ages) == list(range(len(ages)))
        and all((ages[g], values[g]) <= (ages[g + 1], values[g + 1]) for g in range(len(ages) - 1))
    )
    by_group = sorted(theirs, key=lambda row: (row[1], in_order(row)))
    canonical = canonical_with(tables, "rows")
    same = {name: table.equals(tables[name]) for name, table in canonical.items()}
    assert same["rows"] is stands
    assert same["other"] is (stands and by_group == theirs)


def test_long_groups_are_compared_as_a_whole():
    same = list(range(100))
    for first, second, stands in (
        ([*same, 101], [*same, 102], True),
        ([*same, 102], [*same, 101], False),
        (same, [*same, 101], True),
        ([*same, 101], same, False),
        (same, same, True),
    ):
        rows = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
        assert is_canonical(table_of(rows, "age")) is stands is is_in_order(rows)
