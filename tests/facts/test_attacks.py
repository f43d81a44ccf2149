"""Attacks on releases with facts of people: what they say, against all worlds of small groups."""

from collections import Counter
from fractions import Fraction
from itertools import product
from random import Random

import pyarrow as pa
import pytest

from sfumato.tasks.attacks.group import homogeneity, related_facts
from sfumato.tasks.attacks.group.related_rows import by_groups, truth_of
from sfumato.tasks.attacks.registry import attacks_on, targets_of
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.terms.tables import read_tables
from tests.facts.small_worlds import FACTS
from tests.facts.test_worlds import hospital_of, release_small
from tests.related.test_attacks import original_of

PEOPLE = 130


def small_target(tmp_path, seed, names, together=False, patients=PEOPLE, costs=(1, 2, 5)):
    """A small release, its targets by column, and everybody's age (which names them)."""
    result = release_small(tmp_path, seed, names, patients, costs, together=together)
    hospital = hospital_of(seed, patients, costs)
    original = original_of(hospital)
    facts = facts_by_hand(hospital, names)
    columns = [encode(name, "sensitive", pa.array(values)) for name, values in facts.items()]
    original = type(original)(
        (*original.columns, *columns), original.rows, related=original.related
    )
    tables = read_tables(result.release.declared, result.release.directory / "data")
    targets = targets_of(result.release.declared, tables, original)
    return result, {target.sensitive: target for target in targets}, hospital


def facts_by_hand(hospital, names):
    own = {name: [] for name in hospital.patients["patient"].to_pylist()}
    for stay in hospital.stays.to_pylist():
        own[stay["patient"]].append((stay["diagnosis"], stay["cost"], stay["day"].toordinal()))
    return {name: [FACTS[name](stays) for stays in own.values()] for name in names}


def people_with_stays(result):
    """Each person with stays of each small group: the group, and the place in it."""
    for number, group in result.groups.items():
        truth = result.truths[number]
        for place, _ in enumerate(group.ages):
            if truth.stays[place]:
                yield number, place


def places_of(hospital):
    """The row of each person in the source, by age."""
    return {age: place for place, age in enumerate(hospital.patients["age"].to_pylist())}


def is_certain(worlds, place):
    return bool(set.intersection(*(world.diagnoses(place) for world in worlds)))


@pytest.mark.parametrize(
    ("names", "level"),
    [(("times",), "numbers"), (("admitted",), "presence"), (("total_cost", "times"), "any")],
)
def test_who_knows_the_group_alone_is_sure_as_all_worlds_show(tmp_path, names, level):
    result, targets, hospital = small_target(tmp_path, 0, names)
    truth = truth_of(targets["diagnosis"])
    assert truth.facts == level
    people = truth.people.person.tolist()
    surely = dict(zip(people, truth.by_groups.tolist(), strict=True))
    at_most = dict(zip(people, truth.at_most_by_groups.tolist(), strict=True))
    places, compared, certain = places_of(hospital), 0, 0
    for number, group in result.groups.items():
        worlds = list(group.worlds())
        for own, place in people_with_stays(result):
            if own != number:
                continue
            person = places[group.ages[place]]
            expected = is_certain(worlds, place)
            if level != "any":
                assert surely[person] == expected, group
            assert surely[person] <= expected <= at_most[person], group
            compared, certain = compared + 1, certain + expected
    assert compared > 60
    assert certain > 3
    beside = by_groups(targets["diagnosis"])[1].references
    assert ("at most, with the facts of the group" in beside) is (level == "any")


@pytest.mark.parametrize(
    "names", [("flu_and_gout",), ("total_cost",), ("total_cost", "flu_and_gout", "times")]
)
def test_who_knows_numbers_and_reads_facts_is_sure_as_all_worlds_show(tmp_path, names):
    result, targets, hospital = small_target(tmp_path, 3, names)
    target = targets["diagnosis"]
    truth, facts = truth_of(target), related_facts._telling_facts(target)
    assert set(facts) == set(names)
    marked = related_facts.certain_by_facts(truth, facts, together=False)
    by_numbers = dict(zip(truth.people.person.tolist(), truth.by_numbers.tolist(), strict=True))
    places, more, compared = places_of(hospital), 0, 0
    for number, group in result.groups.items():
        truth_here = result.truths[number]
        worlds = [w for w in group.worlds() if w.numbers == truth_here.numbers]
        for own, place in people_with_stays(result):
            if own == number:
                person = places[group.ages[place]]
                assert marked[person] == is_certain(worlds, place), group
                more += marked[person] and not by_numbers[person]
                compared += 1
    assert compared > 60
    assert more > (5 if "total_cost" in names else 0)
    (score,) = related_facts.by_facts(target)
    assert (score.tally.number, score.tally.all_) == (sum(marked.values()), len(marked))


def test_facts_that_stand_together_tell_no_less(tmp_path):
    names = ("total_cost", "flu_and_gout")
    _, targets, _ = small_target(tmp_path, 4, names, together=True)
    target = targets["diagnosis"]
    truth, facts = truth_of(target), related_facts._telling_facts(target)
    apart, together = (
        related_facts.certain_by_facts(truth, facts, together=joined) for joined in (False, True)
    )
    assert apart.keys() == together.keys()
    assert all(apart[person] <= together[person] for person in apart)


def test_facts_of_columns_that_are_not_shown_rule_nothing_out(tmp_path):
    _, targets, _ = small_target(tmp_path, 5, ("readmitted",))
    target = targets["diagnosis"]
    assert related_facts._telling_facts(target) == {}
    assert attacks_on(target)["related-facts"](target) == ()


def test_beliefs_about_facts_are_shares_of_worlds(tmp_path):
    """Who knows nothing of anybody's stays: the group's share of a value is the belief in it."""
    names = ("times", "flu_and_gout")
    result, targets, _ = small_target(tmp_path, 6, names)
    compared = 0
    for name in names:
        counts, beliefs = targets[name].groups(), homogeneity.beliefs(targets[name])
        for number, group in result.groups.items():
            of_attack = beliefs.belief[counts.group == number].tolist()
            worlds = list(group.worlds())
            for place, _ in enumerate(group.ages):
                having = Counter(FACTS[name](world.stays[place]) for world in worlds)
                shares = [float(Fraction(times, len(worlds))) for times in having.values()]
                assert sorted(of_attack) == pytest.approx(sorted(shares))
                compared += len(shares)
    assert compared > 200


@pytest.mark.parametrize("together", [False, True])
def test_ways_are_those_that_give_the_published_facts_as_often(together):
    """Any facts of sets of rows, drawn at random: each value as often as published."""
    random, certain = Random(2), 0
    for _ in range(300):
        owners = [random.randrange(3) for _ in range(random.randint(2, 5))]
        values = [random.choice("abc") for _ in owners]
        people = sorted({*owners})
        own = [{place for place, whose in enumerate(owners) if whose == p} for p in people]
        facts = {
            chosen: (random.random() < 0.4, random.randint(0, 2))
            for chosen in range(1 << len(owners))
        }
        bits = [sum(1 << place for place in places) for places in own]
        group = related_facts._Group(
            tuple(range(len(owners))),
            tuple(people),
            tuple(bits),
            tuple(1 << "abc".index(value) for value in values),
        )
        ways = related_facts._Ways(group, {s: facts[s] for s in group.sets()}, together=together)
        surely = [bool(common) for common in ways.common_values()]
        expected = _certain_in_all_ways(owners, values, facts, together)
        assert surely == expected
        certain += sum(expected)
    assert certain > 50


def _certain_in_all_ways(owners, values, facts, together):
    """Of whom a value is certain, from all ways to give rows that give the facts as often."""

    def facts_of(each):
        people = [
            facts[sum(1 << place for place, whose in enumerate(each) if whose == person)]
            for person in sorted({*owners})
        ]
        return (
            sorted(people) if together else [sorted(column) for column in zip(*people, strict=True)]
        )

    sets = None
    for each in product(sorted({*owners}), repeat=len(owners)):
        if Counter(each) != Counter(owners) or facts_of(each) != facts_of(owners):
            continue
        surely = [
            {value for value, whose in zip(values, each, strict=True) if whose == person}
            for person in sorted({*owners})
        ]
        sets = surely if sets is None else [a & b for a, b in zip(sets, surely, strict=True)]
    return [bool(common) for common in sets]
