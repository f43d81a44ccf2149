"""Promises over people are judged as the guide words them, and as who lists all worlds finds."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import merge
from tests.expectations.people_by_definition import (
    DISTANCES,
    belief,
    chances_of_person,
    discloses_less,
    gain,
    groups_in,
    households_found,
    is_as_uncertain,
    least_alike,
    least_faced_by_insiders,
    least_without_one_person,
    masses,
    of_all_groups,
    people_in,
    recursive_sides,
    shares_of_people,
    values_faced,
    values_in,
)
from tests.expectations.test_over_people import groups_of, promise

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=10
)
FEW = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6
)
ONE_GROUP = st.lists(
    st.tuples(st.just(0), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=6
)
SHARES = st.sampled_from(["0.2", "0.25", "0.3", "0.5", "0.6", "0.75", "1"]).map(Decimal)


def require_verdict(model, rows, passes, observed=None):
    """The product's verdict is this one, group by group and in sum."""
    groups = groups_of(rows)
    verdict = model.check(groups)
    assert model.failing_over_people(groups.people).tolist() == [not passed for passed in passes]
    assert (verdict.failing, verdict.groups) == (passes.count(False), len(passes))
    assert observed is None or verdict.observed == observed
    return verdict


@given(ROWS, st.integers(1, 4))
def test_k_people_counts_the_owners_of_rows(rows, k):
    people = [len(people_in(group_rows)) for group_rows in groups_in(rows)]
    passes = [number >= k for number in people]
    require_verdict(promise(model="people", k=k), rows, passes, {"k": min(people)})


@given(ONE_GROUP)
def test_a_published_value_may_be_of_any_of_k_people(rows):
    """By all ways to give a group's values to its rows: whose each published value may be."""
    whose = [person for _, person, _ in rows]
    by_worlds = [set() for _ in rows]
    for order in permutations(range(len(rows))):
        for value, place in enumerate(order):
            by_worlds[value].add(whose[place])
    observed = promise(model="people", k=2).check(groups_of(rows)).observed
    assert observed == {"k": min(map(len, by_worlds))}


@given(ROWS, SHARES, st.integers(1, 4))
def test_alpha_k_counts_people_who_have_a_value_in_any_row(rows, alpha, k):
    model = promise(model="alpha-k", alpha=alpha, k=k, sensitive="s")
    seen = [
        (max(shares_of_people(group_rows).values()), len(people_in(group_rows)))
        for group_rows in groups_in(rows)
    ]
    passes = [most <= Fraction(alpha) and people >= k for most, people in seen]
    worst = {"alpha": max(most for most, _ in seen), "k": min(people for _, people in seen)}
    require_verdict(model, rows, passes, worst)


@given(ROWS, st.sampled_from([0, 2]), SHARES)
def test_alpha_k_of_one_value(rows, value, alpha):
    """A bound on one value leaves the others to anybody."""
    model = promise(model="alpha-k", alpha=alpha, k=1, sensitive="s", values=[str(value)])
    most = [shares_of_people(group_rows).get(value, Fraction(0)) for group_rows in groups_in(rows)]
    people = min(len(people_in(group_rows)) for group_rows in groups_in(rows))
    passes = [share <= Fraction(alpha) for share in most]
    require_verdict(model, rows, passes, {"alpha": max(most), "k": people})


@given(ROWS, st.integers(1, 4))
def test_households_are_alike_in_all_their_members(rows, k):
    """Nobody is alone by whole households who is not by groups: the former asks for more."""
    model = promise(model="k-anonymity", k=k, members="linkable")
    like, groups = least_alike(rows), groups_of(rows)
    require_verdict(model, rows, [count >= k for count in like], {"k": min(like)})
    plain = promise(model="k-anonymity", k=k)
    broken = plain.failing_over_people(groups.people)
    assert not (broken & ~model.failing_over_people(groups.people)).any()
    assert model.worst(groups) == plain.worst(groups), "over rows it asks for nothing more"


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.just(0)), min_size=1, max_size=7)
)
def test_who_knows_all_members_finds_so_many_households(rows):
    model = promise(model="k-anonymity", k=1, members="linkable")
    fewest = min(households_found(rows, person) for person in people_in(rows))
    assert model.check(groups_of(rows)).observed == {"k": fewest}


def test_two_couples_and_a_widow():
    """Each group has three households or two; one household is like no other."""
    rows = [(0, 1, 0), (1, 1, 0), (0, 2, 0), (1, 2, 0), (0, 3, 0)]
    groups = groups_of(rows)
    assert promise(model="k-anonymity", k=2).check(groups).observed == {"k": 2}
    whole = promise(model="k-anonymity", k=2, members="linkable")
    assert whole.check(groups).observed == {"k": 1}
    assert whole.failing_over_people(groups.people).tolist() == [True, False]
    merged = merge(groups, np.zeros(2, dtype=np.int64))
    assert whole.check(merged).observed == {"k": 1}, "no other household is of one"


def test_no_households_are_alike():
    household_groups = groups_of([(0, 1, 0)]).people
    nobody = replace(
        household_groups,
        group=household_groups.group[:0],
        person=household_groups.person[:0],
        rows=household_groups.rows[:0],
        groups=0,
    )
    model = promise(model="k-anonymity", k=1, members="linkable")
    assert model.worst_over_people(nobody) == ({"k": None}, 0)


@given(ROWS, st.integers(1, 4), st.sampled_from(["0", "1", "1.5", "3"]).map(Decimal))
def test_ranges_are_left_after_any_one_persons_rows_are_taken_away(rows, k, e):
    model = promise(model="ke-anonymity", k=k, e=e, sensitive="s")
    seen = [
        (
            min(len(people_in(group_rows)), len(values_in(group_rows))),
            least_without_one_person(group_rows),
        )
        for group_rows in groups_in(rows)
    ]
    passes = [among >= k and apart >= e for among, apart in seen]
    require_verdict(
        model, rows, passes, {"k": min(a for a, _ in seen), "e": min(b for _, b in seen)}
    )


@given(ONE_GROUP)
def test_the_range_that_one_of_the_group_leaves_to_anybody_else_by_all_worlds(rows):
    model = promise(model="ke-anonymity", k=1, e=0, sensitive="s")
    assert model.check(groups_of(rows)).observed["e"] == least_faced_by_insiders(rows)


@given(ROWS, st.integers(1, 4), st.sampled_from(["0.5", "1", "1.5", "2", "3"]).map(Decimal))
def test_recursive_diversity_of_masses(rows, l, c):
    model = promise(model="l-diversity", variant="recursive", l=l, c=c, sensitive="s")
    sides = [recursive_sides(masses(group_rows), l) for group_rows in groups_in(rows)]
    bounded = all(rest for _, rest in sides)
    worst = {
        "c": max(most / rest for most, rest in sides) if bounded else None,
        "l": min(len(values_in(group_rows)) for group_rows in groups_in(rows)),
    }
    require_verdict(model, rows, [most < Fraction(c) * rest for most, rest in sides], worst)


@given(ROWS, st.integers(1, 4))
def test_entropy_of_masses(rows, l):
    model = promise(model="l-diversity", variant="entropy", l=l, sensitive="s")
    require_verdict(
        model,
        rows,
        [is_as_uncertain(chances_of_person(group_rows), l) for group_rows in groups_in(rows)],
    )


@pytest.mark.parametrize("distance", DISTANCES)
@given(rows=ROWS, t=SHARES)
def test_closeness_of_masses(distance, rows, t):
    model = promise(model="t-closeness", t=t, distance=distance, sensitive="s")
    everybody = of_all_groups(rows, "weight-one")
    far = [
        DISTANCES[distance](chances_of_person(group_rows), everybody)
        for group_rows in groups_in(rows)
    ]
    require_verdict(
        model, rows, [distance_found <= Fraction(t) for distance_found in far], {"t": max(far)}
    )


@given(ROWS, SHARES)
def test_likeness_of_shares_and_of_masses(rows, beta):
    """Each reading is compared with its own of all groups, and the worse one counts."""
    model = promise(model="beta-likeness", variant="basic", beta=beta, sensitive="s")
    people, mass = (of_all_groups(rows, reading) for reading in ("any-of", "weight-one"))
    gains = [
        max(gain(shares_of_people(group_rows), people), gain(chances_of_person(group_rows), mass))
        for group_rows in groups_in(rows)
    ]
    require_verdict(model, rows, [gain <= Fraction(beta) for gain in gains])


@given(ROWS, SHARES)
def test_disclosure_by_masses(rows, delta):
    model = promise(model="delta-disclosure", delta=delta, sensitive="s")
    everybody = of_all_groups(rows, "weight-one")
    require_verdict(
        model,
        rows,
        [
            discloses_less(chances_of_person(group_rows), everybody, delta)
            for group_rows in groups_in(rows)
        ],
    )


@given(FEW, st.integers(2, 3))
def test_who_faces_values_in_each_group_faces_no_fewer_in_several(rows, l):
    """By all worlds of all groups together, where some people have rows in several of them."""
    model = promise(model="l-diversity", variant="distinct", l=l, sensitive="s")
    alone = [
        values_faced(group_rows, person)
        for group_rows in groups_in(rows)
        for person in people_in(group_rows)
    ]
    keeps = all(len(possible) >= l and not sure for possible, sure in alone)
    assert model.check(groups_of(rows)).holds == keeps
    for person in people_in(rows) if keeps else []:
        possible, sure = values_faced(rows, person)
        assert len(possible) >= l and not sure


MIXED = [
    {"model": "l-diversity", "variant": "recursive", "l": 2, "c": Decimal("1.5")},
    {"model": "l-diversity", "variant": "entropy", "l": Decimal(2)},
    {"model": "t-closeness", "t": Decimal("0.4"), "distance": "equal"},
    {"model": "t-closeness", "t": Decimal("0.4"), "distance": "ordered"},
    {"model": "delta-disclosure", "delta": Decimal("1.2")},
]


def keeps(keys, shares_found, everybody):
    """One of these promises, of masses."""
    if "distance" in keys:
        return DISTANCES[keys["distance"]](shares_found, everybody) <= Fraction(keys["t"])
    if "delta" in keys:
        return discloses_less(shares_found, everybody, keys["delta"])
    if keys["variant"] == "entropy":
        return is_as_uncertain(shares_found, int(keys["l"]))
    most, rest = recursive_sides(shares_found, keys["l"])
    return most < Fraction(keys["c"]) * rest


@pytest.mark.parametrize("keys", MIXED, ids=lambda keys: keys.get("variant", keys["model"]))
@given(rows=ROWS)
def test_whoever_adds_masses_of_groups_up_finds_none_of_these_broken(keys, rows):
    groups, everybody = groups_in(rows), of_all_groups(rows, "weight-one")
    verdict = promise(**keys, sensitive="s").check(groups_of(rows))
    assert verdict.holds == all(
        keeps(keys, chances_of_person(group_rows), everybody) for group_rows in groups
    )
    several = (
        [some_groups for size in (2, 3) for some_groups in combinations(groups, size)]
        if verdict.holds
        else []
    )
    for some in several:
        mixed = of_all_groups([row for group_rows in some for row in group_rows], "weight-one")
        assert keeps(keys, mixed, everybody)


def test_shares_of_people_add_up():
    """Four people in two groups: half of them have 0 in each, three quarters in either."""
    first = [(0, 1, 0), (0, 2, 0), (0, 3, 1), (0, 4, 1)]
    second = [(1, 1, 2), (1, 2, 0), (1, 3, 0), (1, 4, 2)]
    model = promise(model="alpha-k", alpha=Decimal("0.5"), k=4, sensitive="s")
    groups = groups_of(first + second)
    assert model.check(groups).holds
    together = model.check(merge(groups, np.zeros(2, dtype=np.int64)))
    assert together.observed["alpha"] == Fraction(3, 4) and not together.holds


def test_who_has_more_rows_is_believed_to_have_a_value_more_often_than_a_share_of_people():
    """Half of the people have 0; of who has three of six rows it is believed with 4/5."""
    rows = [(0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 2, 0), (0, 3, 1), (0, 4, 2)]
    model = promise(model="alpha-k", alpha=Decimal("0.5"), k=4, sensitive="s")
    assert model.check(groups_of(rows)).holds
    assert shares_of_people(rows)[0] == Fraction(1, 2)
    assert belief(rows, 1, 0) == Fraction(4, 5)
    assert belief(rows, 2, 0) == Fraction(1, 3)


def test_the_guides_second_table():
    """The rows of the guide, as it prints them."""
    flu = [(0, 1, 0)] * 3 + [(0, 2, 0), (0, 2, 1), (0, 3, 1), (0, 4, 2)]
    assert shares_of_people(flu)[0] == Fraction(1, 2)
    assert chances_of_person(flu)[0] == Fraction(3, 8)
    pay = [(0, 1, 0), (0, 1, 100), (0, 2, 50), (0, 3, 55)]
    assert least_without_one_person(pay) == least_faced_by_insiders(pay) == 5
