"""The table of verdicts by enumeration alone: worlds decide, whatever any theorem says."""

from fractions import Fraction
from itertools import combinations, product

import pytest

from tests.composition.oracle import (
    candidates,
    keeps_distinct,
    keeps_entropy,
    keeps_ke,
    persistent,
    posterior,
    read,
    worlds,
)
from tests.composition.vectors import (
    T1,
    T2,
    T3,
    T4,
    T5,
    T6,
    T7,
    T8,
    T9,
    T10,
    T11A,
    T11B,
    T13,
    T14,
    T15A,
    T15B,
    T16,
    T17,
)

THIRD = Fraction(1, 3)


def shares_of(shares):
    return sorted(shares.values())


def test_t1_one_leaves_and_one_joins():
    possible = candidates(read(T1))
    assert (possible["C"], possible["D"]) == ({"3"}, {"4"})


def test_t1_is_the_same_in_the_other_order():
    line = read(T1)
    assert posterior(line) == posterior(line[::-1])


def test_t2_equal_multisets_are_no_signature():
    beta = posterior(read(T2))
    assert beta["A"]["2"] == Fraction(2, 5)
    assert beta["C"]["1"] == Fraction(4, 5)
    assert keeps_distinct(read(T2), 2)
    assert keeps_ke(read(T2), 2, 1)
    assert not keeps_entropy(read(T2), 2)


@pytest.mark.parametrize("line", [T3, T4, T11A, T11B])
def test_signatures_that_are_sets_stay_uniform(line):
    assert all(b == dict.fromkeys("123", THIRD) for b in posterior(read(line)).values())
    assert keeps_entropy(read(line), 3)


def test_t5_vacant_values_stay():
    beta = posterior(read(T5))
    for person in "ABCD":
        assert beta[person] == {"1": Fraction(1, 2), "2": Fraction(1, 4), "3": Fraction(1, 4)}
    for person in "EFG":
        assert beta[person] == dict.fromkeys("125", THIRD)
    assert keeps_distinct(read(T5), 3)
    assert not keeps_entropy(read(T5), 3)


@pytest.mark.parametrize(
    ("line", "exposed_people"), [(T6, "D"), (T7, "D"), (T14, "DE"), (T13, "ABCDEF")]
)
def test_someone_is_known(line, exposed_people):
    possible = candidates(read(line))
    assert {person for person, c in possible.items() if len(c) == 1} == set(exposed_people)


def test_t13_has_one_world():
    assert len(list(worlds(read(T13)))) == 1


@pytest.mark.parametrize("line", [T8, T9])
def test_batches_come_and_leave(line):
    beta = posterior(read(line))
    assert all(beta[person] == dict.fromkeys("123", THIRD) for person in "ABC")
    assert all(beta[person] == dict.fromkeys("345", THIRD) for person in "DEF")


def test_t10_leaves_two_of_four():
    possible = candidates(read(T10))
    assert all(possible[person] == {"1", "2"} for person in "AB")
    assert min(map(len, possible.values())) == 2


def holders(line, first, other):
    worlds_found = list(worlds(read(line)))
    return Fraction(sum(world[first] == world[other] for world in worlds_found), len(worlds_found))


def test_t11_who_fills_a_place_is_told_by_who_left_it():
    assert holders(T11A, "A", "D") == 1
    assert holders(T11B, "A", "D") == Fraction(1, 2)


def boxes(*sides):
    return [set(product(side, side)) for side in sides]


def present(versions, vector):
    """The share of the sets of four vectors, two in each box of each version, that have it."""
    vectors = sorted(set().union(*(box for version in versions for box in version)))
    worlds_found = [
        rows
        for rows in combinations(vectors, 4)
        if all(len(box & set(rows)) == 2 for version in versions for box in version)
    ]
    return Fraction(sum(vector in rows for rows in worlds_found), len(worlds_found))


def test_t12_a_cover_is_drawn_anew():
    first, then = boxes((1, 2), (3, 4)), boxes((1, 3), (2, 4))
    assert present([first], (1, 1)) == present([then], (1, 1)) == Fraction(1, 2)
    assert present([first, then], (1, 1)) == 1


def test_t15_a_changed_value_is_told_where_signatures_overlap():
    weight = persistent("U", "V", Fraction(9, 10), 6)
    overlapping, apart = (posterior(read(line), weight) for line in (T15A, T15B))
    assert overlapping["V"]["3"] == Fraction(94, 106)
    assert shares_of(apart["U"]) == shares_of(apart["V"]) == [THIRD] * 3


def test_t16_whole_groups_are_merged():
    assert posterior(read(T16)) == posterior(read(T16)[:1])
    assert keeps_distinct(read(T16), 3)


def test_t17_a_whole_group_and_a_part():
    possible = candidates(read(T17))
    assert [possible[person] for person in "ADF"] == [set("123"), set("12"), set("45")]
    assert keeps_distinct(read(T17), 2)
    assert not keeps_distinct(read(T17), 3)
