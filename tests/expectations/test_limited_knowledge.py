"""LKC-privacy and kᵐ-anonymity, against who knows a few quasi-identifiers."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sfumato.expectations.groups.counting import count_people
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.ranks import groups_of_rows
from sfumato.expectations.models.limited_knowledge import KMAnonymity, LKCPrivacy
from sfumato.expectations.shared.errors import PromiseError

# Mohammed et al. (KDD 2009), tables 1 and 2: job, sex, age, surgery
PATIENTS = [
    ("Janitor", "M", "34", "Transgender"),
    ("Doctor", "M", "58", "Plastic"),
    ("Mover", "M", "34", "Transgender"),
    ("Lawyer", "M", "24", "Vascular"),
    ("Mover", "M", "58", "Urology"),
    ("Janitor", "M", "44", "Plastic"),
    ("Doctor", "M", "24", "Urology"),
    ("Lawyer", "F", "58", "Plastic"),
    ("Doctor", "F", "44", "Vascular"),
    ("Carpenter", "F", "63", "Vascular"),
    ("Technician", "F", "63", "Plastic"),
]
JOBS = {
    **dict.fromkeys(("Janitor", "Mover"), "Non-Technical"),
    **dict.fromkeys(("Carpenter", "Technician"), "Technical"),
    **dict.fromkeys(("Doctor", "Lawyer"), "Professional"),
}
NAMES = ("job", "sex", "age")


def age_group(age):
    return "[1-30)" if int(age) < 30 else "[30-60)" if int(age) < 60 else "[60-99)"


def groups_of(rows, names=NAMES):
    """The groups of rows whose last value is sensitive."""
    *columns, values = (pa.array(column) for column in zip(*rows, strict=True))
    return groups_of_rows(dict(zip(names, columns, strict=True)), {"s": values})


def lkc(l, k, c, **more):
    return LKCPrivacy(l=l, k=k, c=Decimal(c), sensitive="s", **more)


class TestTheBloodTransfusionService:
    """The paper's patients: who knows at most two of job, sex and age."""

    def test_raw_a_mover_of_34_is_alone_and_men_of_34_had_the_same_surgery(self):
        verdict = lkc(2, 2, "0.5", values=("Transgender",)).check(groups_of(PATIENTS))
        assert verdict.observed == {"k": 1, "c": 1}
        assert not verdict.holds

    def test_published_with_labels_it_is_private_though_not_2_anonymous(self):
        published = [(JOBS[job], sex, age_group(age), s) for job, sex, age, s in PATIENTS]
        groups = groups_of(published)
        assert lkc(2, 2, "0.5", values=("Transgender",)).check(groups).holds
        assert lkc(2, 2, "0.5", values=("Transgender",)).check(groups).observed == {
            "k": 2,
            "c": Fraction(1, 2),
        }

    def test_of_all_values_the_share_is_larger(self):
        published = [(JOBS[job], sex, age_group(age), s) for job, sex, age, s in PATIENTS]
        assert lkc(2, 2, "0.5").check(groups_of(published)).observed["c"] == Fraction(2, 3)


def test_merging_some_groups_breaks_what_a_coarser_column_keeps():
    once = KMAnonymity(k=2, m=1)
    rows = [(1, 1, "x"), (2, 1, "x"), (1, 2, "x"), (2, 2, "x")]
    assert once.check(groups_of(rows, "ab")).holds
    merged = [(0, 1, "x"), (0, 1, "x"), (1, 2, "x"), (2, 2, "x")]
    assert once.check(groups_of(merged, "ab")).observed == {"k": 1}
    coarser = [(0, b, s) for _, b, s in rows]
    assert once.check(groups_of(coarser, "ab")).holds


def test_shares_are_not_promised_over_people():
    fault = lkc(1, 2, "0.5").fault_over_people
    assert fault is not None
    assert "km-anonymity" in fault
    assert KMAnonymity(k=2, m=1).fault_over_people is None


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.sampled_from("xyz")),
    min_size=1,
    max_size=14,
)


def by_definition(rows, knowledge, values="xyz"):
    """The fewest rows and the largest share of any combination of at most `known` columns."""
    fewest, share = len(rows), Fraction(0)
    columns = range(len(rows[0]) - 1)
    for size in range(knowledge + 1):
        for chosen in combinations(columns, min(size, len(columns))):
            seen = Counter(tuple(row[c] for c in chosen) for row in rows)
            with_value = Counter((tuple(row[c] for c in chosen), row[-1]) for row in rows)
            fewest = min(fewest, *seen.values())
            shares = (
                Fraction(n, seen[vector]) for (vector, s), n in with_value.items() if s in values
            )
            share = max(share, *shares, Fraction(0))
    return fewest, share


@given(rows=ROWS, knowledge=st.integers(1, 4), values=st.sampled_from(["xyz", "x", "yz"]))
def test_verdicts_are_those_of_every_subset(rows, knowledge, values):
    groups = groups_of(rows)
    fewest, share = by_definition(rows, knowledge, values)
    listed = None if values == "xyz" else tuple(values)
    verdict = lkc(knowledge, 2, "0.5", values=listed).check(groups)
    assert verdict.observed == {"k": fewest, "c": share}
    assert verdict.holds == (fewest >= 2 and share <= Fraction(1, 2))
    assert KMAnonymity(k=2, m=knowledge).check(groups).observed == {"k": fewest}


@given(rows=ROWS, knowledge=st.integers(1, 3), k=st.integers(1, 4))
def test_groups_fail_that_show_a_broken_combination(rows, knowledge, k):
    groups = groups_of(rows)
    vectors = sorted({row[:-1] for row in rows})
    failing = [
        any(
            sum(all(row[c] == vector[c] for c in chosen) for row in rows) < k
            for chosen in combinations(range(3), min(knowledge, 3))
        )
        for vector in vectors
    ]
    promise = KMAnonymity(k=k, m=knowledge)
    assert promise.failing(groups).tolist() == failing
    assert (promise.measure(groups)["k"] < k).tolist() == failing
    assert lkc(knowledge, k, "1").failing(groups).tolist() == failing


@given(
    rows=ROWS, knowledge=st.integers(1, 3), column=st.integers(0, 2), c=st.sampled_from([".5", "1"])
)
def test_what_breaks_is_found_with_the_column_that_breaks_it(rows, knowledge, column, c):
    """Whatever holds with a column hidden breaks, once it is shown, in combinations with it."""
    promise = lkc(knowledge, 2, c)
    hidden = [tuple(0 if i == column else v for i, v in enumerate(row)) for row in rows]
    groups = groups_of(rows)
    if promise.check(groups_of(hidden)).holds:
        assert promise.breaks_with(NAMES[column], groups) != promise.check(groups).holds


LABELS = st.lists(
    st.tuples(
        *([st.sets(st.integers(0, 3), min_size=1).map(frozenset)] * 2), st.sampled_from("xy")
    ),
    min_size=1,
    max_size=10,
)


@given(labels=LABELS, knowledge=st.integers(1, 2), data=st.data())
def test_who_knows_exact_values_sees_no_fewer_rows_and_no_larger_share(labels, knowledge, data):
    """Labels may overlap: known values match the rows whose labels admit them."""
    rows = [(str(sorted(a)), str(sorted(b)), s) for a, b, s in labels]
    groups = groups_of(rows, "ab")
    fewest = KMAnonymity(k=1, m=knowledge).check(groups).observed["k"]
    share = lkc(knowledge, 1, "1").check(groups).observed["c"]
    exact = [
        tuple(data.draw(st.sampled_from(sorted(label))) for label in row[:2]) for row in labels
    ]
    for person in exact:
        for size in range(knowledge + 1):
            for chosen in combinations(range(2), size):
                matched = [row[2] for row in labels if all(person[c] in row[c] for c in chosen)]
                assert len(matched) >= fewest
                assert max(Fraction(matched.count(s), len(matched)) for s in "xy") <= share


@given(rows=ROWS, knowledge=st.integers(1, 3), data=st.data())
def test_people_are_counted_once(rows, knowledge, data):
    person = [data.draw(st.integers(0, 5)) for _ in rows]
    groups = groups_of(rows)
    vectors = sorted({row[:-1] for row in rows})
    group = np.array([vectors.index(row[:-1]) for row in rows])
    people = count_people(group, np.array(person), groups, {})
    promise = KMAnonymity(k=2, m=knowledge)
    verdict = promise.check(replace(groups, people=people))
    owners = {}
    for row, owner in zip(rows, person, strict=True):
        for chosen in combinations(range(3), min(knowledge, 3)):
            owners.setdefault((chosen, tuple(row[c] for c in chosen)), set()).add(owner)
    assert verdict.observed == {"k": min(map(len, owners.values()))}
    assert verdict.holds == (min(map(len, owners.values())) >= 2)


def test_a_person_in_two_groups_of_a_combination_is_one_person():
    groups = groups_of([(1, 1, "x"), (1, 2, "x"), (2, 1, "x"), (2, 2, "x")], "ab")
    people = count_people(np.arange(4), np.array([0, 0, 1, 2]), groups, {})
    verdict = KMAnonymity(k=2, m=1).check(replace(groups, people=people))
    assert verdict.observed == {"k": 1}
    assert KMAnonymity(k=2, m=1).failing_over_people(people).tolist() == [True, True, False, False]


def test_a_share_of_the_people_of_two_combinations_is_larger_than_in_each():
    """Why it is refused: {1: s, 2: t} and {2: t, 3: s} have s in half, of all three two do."""
    first, second = {1: "s", 2: "t"}, {2: "t", 3: "s"}
    for people in (first, second):
        assert Fraction(list(people.values()).count("s"), len(people)) == Fraction(1, 2)
    both = first | second
    assert Fraction(list(both.values()).count("s"), len(both)) == Fraction(2, 3)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"l": 0, "k": 2, "c": 1}, "l"),
        ({"l": 1, "k": 0, "c": 1}, "k"),
        ({"l": 1, "k": 2, "c": 0}, "c"),
        ({"l": 1, "k": 2, "c": "1.01"}, "c"),
        ({"l": 1, "k": 2, "c": 1, "values": ()}, "values"),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(keys, named):
    with pytest.raises(ValidationError) as caught:
        LKCPrivacy(**keys)
    assert caught.value.errors()[0]["loc"] == (named,)


def test_more_rows_than_there_are_can_never_look_alike():
    groups = groups_of(PATIENTS)
    assert not KMAnonymity(k=12, m=1).feasible(groups).holds
    assert KMAnonymity(k=11, m=1).feasible(groups).holds
    assert lkc(1, 2, "0.36").feasible(groups).observed == {"k": 11, "c": Fraction(4, 11)}
    assert not lkc(1, 2, "0.36").feasible(groups).holds


def test_values_that_no_row_has_are_told():
    groups = groups_of(PATIENTS)
    assert lkc(1, 2, "0.5", values=("Urology", "Plastic")).fault_among(groups) is None
    fault = lkc(1, 2, "0.5", values=("Urology", "plastic", "Nose")).fault_among(groups)
    assert fault.startswith("values: no row of 's' has 2 of these 3 values")
    assert KMAnonymity(k=2, m=1).fault_among(groups) is None


def test_without_labels_nothing_is_promised():
    bare = Groups(np.array([5, 5]), {})
    promise = KMAnonymity(k=2, m=1)
    assert promise.check(bare).observed == {"k": None}
    assert promise.failing(bare).all()
    with pytest.raises(PromiseError, match="do not show the label"):
        promise.measure(bare)


def test_columns_of_many_labels_are_counted_without_a_table_of_all_pairs():
    rng = np.random.default_rng(1)
    columns = {name: pa.array(rng.permutation(5000)) for name in "abc"}
    groups = groups_of_rows(columns, {"s": pa.array(rng.integers(0, 4, 5000))})
    assert lkc(2, 1, "1").check(groups).observed == {"k": 1, "c": 1}
    columns["a"] = columns["b"] = columns["c"] = pa.array([7] * 5000)
    alike = groups_of_rows(columns, {"s": pa.array([1] * 5000)})
    assert lkc(2, 1, "1").check(alike).observed == {"k": 5000, "c": 1}
