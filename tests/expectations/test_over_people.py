"""Promises over people who have several rows, held against their definitions and all worlds."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded, count, count_people, merge
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.of_people import any_of, weight_one
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.promises import PROMISE, models
from sfumato.expectations.shared.exact import exact

VALUES = st.integers(0, 4)
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), VALUES), min_size=1, max_size=12)
FEW = st.lists(st.tuples(st.just(0), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6)
PROMISES = [
    {"model": "k-anonymity", "k": 3},
    {"model": "k-anonymity", "k": 2, "members": "linkable"},
    {"model": "people", "k": 2},
    {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "s"},
    {"model": "l-diversity", "variant": "entropy", "l": 2, "sensitive": "s"},
    {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 1.5, "sensitive": "s"},
    {"model": "t-closeness", "t": 0.3, "distance": "equal", "sensitive": "s"},
    {"model": "t-closeness", "t": 0.3, "distance": "ordered", "sensitive": "s"},
    {"model": "beta-likeness", "beta": 1, "sensitive": "s"},
    {"model": "delta-disclosure", "delta": 1, "sensitive": "s"},
    {"model": "alpha-k", "alpha": 0.5, "k": 2, "sensitive": "s"},
]


def promise(**keys):
    return PROMISE.validate_python({"quasi-identifiers": ["q"], **keys})


def groups_of(rows):
    """Groups of (group, person, value), numbered anew, with whose the rows are."""
    _, group = np.unique([row[0] for row in rows], return_inverse=True)
    numbers = sorted({row[2] for row in rows})
    codes = np.array([numbers.index(row[2]) for row in rows])
    values = pa.array(numbers)
    coded = {"s": Coded(codes, len(numbers), exact(values, "s"), values)}
    groups = count(group, int(group.max()) + 1, coded)
    person = np.array([row[1] for row in rows])
    people = count_people(group, person, groups, {"s": codes})
    return Groups(groups.sizes, groups.sensitive, people=people)


def by_group(rows):
    return [
        [row for row in rows if row[0] == number] for number in sorted({row[0] for row in rows})
    ]


def values_of(rows):
    """The values of each person."""
    return {person: [v for _, p, v in rows if p == person] for person in {p for _, p, _ in rows}}


def faced_in_worlds(rows):
    """By enumeration: the fewest values that anybody may have; 1 where somebody surely has one."""
    whose, values = [p for _, p, _ in rows], [v for *_, v in rows]
    worlds = [values_of(list(zip(whose, whose, w, strict=True))) for w in permutations(values)]
    faced = []
    for person in set(whose):
        sets = [set(world[person]) for world in worlds]
        certain = set.intersection(*sets)
        faced.append(1 if certain else len(set.union(*sets)))
    return min(faced)


def shares(rows):
    """The mass of each value where everybody has the mass 1."""
    counts_found = Counter()
    for values in values_of(rows).values():
        for value in values:
            counts_found[value] += Fraction(1, len(values))
    return counts_found


def distances(rows):
    """Half the differences of each group's shares of masses from those of all groups."""
    parts = by_group(rows)
    everybody = sum(len(values_of(part)) for part in parts)
    whole = Counter()
    for part in parts:
        whole.update(shares(part))
    distances_found = []
    for part in parts:
        own, people = shares(part), len(values_of(part))
        distances_found.append(
            sum(abs(Fraction(own[v]) / people - whole[v] / everybody) for v in whole) / 2
        )
    return distances_found


@given(FEW)
def test_what_people_surely_have_by_all_worlds(rows):
    people = groups_of(rows).people
    model = promise(model="l-diversity", variant="distinct", l=2, sensitive="s")
    worst, failing = model.worst_over_people(people)
    assert worst["l"] == faced_in_worlds(rows)
    assert failing == model.failing_over_people(people).sum() == (faced_in_worlds(rows) < 2)


def test_three_stays_of_one_patient_among_four():
    """Four stays, three diagnoses: who has three of the stays surely has the common one."""
    rows = [(0, 1, "a"), (0, 1, "a"), (0, 1, "b"), (0, 2, "c")]
    numbered = [(g, p, "abc".index(v)) for g, p, v in rows]
    groups = groups_of(numbered)
    model = promise(model="l-diversity", variant="distinct", l=3, sensitive="s")
    assert model.worst(groups) == ({"l": 3}, 0)
    assert model.check(groups).observed == {"l": 1} and not model.check(groups).holds
    assert promise(model="k-anonymity", k=3).check(groups).observed == {"k": 2}


def test_the_shares_of_people():
    """Six stays of four people: two have a, half of the people; a is 4 of 6 rows, mass 3/2 of 4."""
    rows = [(0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 2, 0), (0, 2, 1), (0, 3, 1), (0, 4, 2)]
    groups = groups_of(rows)
    seen = promise(model="alpha-k", alpha=0.5, k=4, sensitive="s").check(groups)
    assert seen.observed == {"alpha": Fraction(1, 2), "k": 4} and seen.holds
    masses = weight_one(groups.people, "s", alike=True)
    assert masses.counts_of("s").count.tolist() == [9, 9, 6] and masses.sizes.tolist() == [24]


@given(ROWS)
def test_readings_are_what_they_say(rows):
    people = groups_of(rows).people
    counted, whole = any_of(people, "s"), weight_one(people, "s", alike=False)
    numbers = people.held["s"].like.labels.to_pylist()
    for number, of_group in enumerate(by_group(rows)):
        have = Counter(v for values in values_of(of_group).values() for v in set(values))
        is_here = counted.counts_of("s").group == number
        counts_found = counted.counts_of("s").count[is_here].tolist()
        named = [numbers[v] for v in counted.counts_of("s").value[is_here]]
        assert dict(zip(named, counts_found, strict=True)) == have
        assert counted.sizes[number] == len(values_of(of_group))
        is_here, size = whole.counts_of("s").group == number, int(whole.sizes[number])
        counts_found = [
            Fraction(int(c) * len(values_of(of_group)), size)
            for c in whole.counts_of("s").count[is_here]
        ]
        named = [numbers[v] for v in whole.counts_of("s").value[is_here]]
        assert dict(zip(named, counts_found, strict=True)) == shares(of_group)


@given(ROWS, st.integers(1, 4), st.integers(0, 4))
def test_ranges_without_any_one_person(rows, k, e):
    groups = groups_of(rows)
    model = promise(model="ke-anonymity", k=k, e=Decimal(e), sensitive="s")
    expected = []
    for of_group in by_group(rows):
        values_of_person = values_of(of_group)
        remaining = [
            [v for p, values in values_of_person.items() if p != gone for v in values] or [0]
            for gone in values_of_person
        ]
        among = min(len(values_of_person), len({v for *_, v in of_group}))
        expected.append((among, min(max(values) - min(values) for values in remaining)))
    broken = [among < k or apart < e for among, apart in expected]
    assert model.failing_over_people(groups.people).tolist() == broken
    verdict = model.check(groups)
    assert verdict.observed == {"k": min(a for a, _ in expected), "e": min(b for _, b in expected)}
    assert verdict.failing == sum(broken)


@pytest.mark.parametrize("keys", PROMISES, ids=lambda keys: keys.get("variant", keys["model"]))
@given(rows=ROWS)
def test_where_everybody_has_one_row_people_are_rows(keys, rows):
    rows = [(group, number, value) for number, (group, _, value) in enumerate(rows)]
    groups, model = groups_of(rows), promise(**keys)
    assert model.failing_over_people(groups.people).tolist() == model.failing(groups).tolist()
    worst, failing = model.worst(groups)
    over, failing_over = model.worst_over_people(groups.people)
    assert failing_over == failing
    assert over == worst or keys.get("variant") == "distinct"  # 1 of 1 is surely known, too


@given(ROWS)
def test_recursive_diversity_of_masses(rows):
    model = promise(model="l-diversity", variant="recursive", l=2, c=1.5, sensitive="s")
    broken = []
    for of_group in by_group(rows):
        masses = sorted(shares(of_group).values(), reverse=True)
        broken.append(not masses[0] < Fraction(3, 2) * sum(masses[1:]))
    assert model.failing_over_people(groups_of(rows).people).tolist() == broken


@given(ROWS)
def test_closeness_of_masses(rows):
    model = promise(model="t-closeness", t=0.3, distance="equal", sensitive="s")
    far = distances(rows)
    groups = groups_of(rows)
    assert model.check(groups).observed == {"t": max(far)}
    assert model.failing_over_people(groups.people).tolist() == [t > Fraction(3, 10) for t in far]


@pytest.mark.parametrize("keys", PROMISES, ids=lambda keys: keys.get("variant", keys["model"]))
def test_masses_that_no_machine_integer_holds(keys):
    """Somebody with n rows for each n up to 60: their common multiple has 25 digits."""
    random = np.random.default_rng(7)
    rows = [(n % 3, 100 + n, int(random.integers(4))) for n in range(1, 61) for _ in range(n)]
    groups, model = groups_of(rows), promise(**keys)
    verdict = model.check(groups)
    halved = groups_of([row for row in rows if row[1] < 116])  # fits, and is judged alike
    assert all(value is not None for value in verdict.observed.values())
    assert model.failing_over_people(groups.people).sum() == verdict.failing
    if model.readings == ("weight-one",) and keys.get("distance") == "equal":
        assert verdict.observed == {"t": max(distances(rows))}
    assert weight_one(groups.people, "s", alike=True).sizes.dtype == object
    assert weight_one(halved.people, "s", alike=True).sizes.dtype == np.int64


@given(ROWS, st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_merging_cannot_break_what_says_so(rows, chosen):
    groups = groups_of(rows)
    _, into = np.unique(chosen[: len(groups)], return_inverse=True)
    merged = merge(groups, into.astype(np.int64))
    for keys in [*PROMISES, {"model": "ke-anonymity", "k": 2, "e": 1, "sensitive": "s"}]:
        model = promise(**keys)
        if model.merges_over_people and not model.failing_over_people(groups.people).any():
            assert not model.failing_over_people(merged.people).any()
    again = groups_of(
        [(int(into[sorted({r[0] for r in rows}).index(g)]), p, v) for g, p, v in rows]
    )
    for name in ("group", "person", "rows"):
        assert np.array_equal(getattr(merged.people, name), getattr(again.people, name))


UNDEFINED = {
    "k-map": {"k": 2, "weight": "s"},
    "alpha-beta": {"alpha": 1, "beta": 1},
    "p-privacy": {"target": "uniform"},
    "lkc-privacy": {"l": 1, "k": 2, "c": 0.5},
    "delta-presence": {"min": 0, "max": 1, "reference": "r.csv"},
    "bayes-optimal": {"rho1": 0.1, "rho2": 0.9, "reference": "r.csv"},
    "related-l-diversity": {"l": 2},
    "related-alpha": {"alpha": 0.5},
}


def test_what_is_not_defined_says_so():
    assert {model.name for model in models() if not model.readings} == set(UNDEFINED)


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_not_defined_says_why_and_what_is(name):
    """A reason of its own, and names of promises that are defined over people."""
    model = promise(model=name, **UNDEFINED[name])
    why = type(model).why_not_over_people
    assert why != PrivacyModel.why_not_over_people
    assert model.fault_over_people == f"is not defined over people or households, because {why}"
    _, _, instead = why.rpartition("; promise ")
    named = [name for part in instead.split(" and ") for name in part.split(" or ")]
    defined = {model.name for model in models() if model.readings}
    assert named and set(named) <= defined


@pytest.mark.parametrize("keys", PROMISES, ids=lambda keys: keys.get("variant", keys["model"]))
def test_what_is_defined_has_no_fault_unless_values_are_known(keys):
    assert promise(**keys).fault_over_people is None
    if keys["model"] == "l-diversity":
        assert "leave `known` out" in promise(**keys, known=["other"]).fault_over_people
