"""Attacks on related rows, against all worlds of small groups and the original tables."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.attacks.group import related_rows
from sfumato.tasks.attacks.group.related_rows import RelatedTruth
from sfumato.tasks.attacks.registry import attacks_on, targets_of
from sfumato.tasks.microdata.table import Microdata, OwnedRows, encode
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.people import WhoseRows
from sfumato.tasks.terms.tables import read_tables
from tests.flow_here import release_here
from tests.related.all_worlds import SmallGroup
from tests.related.hospital import made_up, patients, spec_with, stays
from tests.related.test_promises import drawn_groups

DAYS = "wxyz"


@pytest.fixture(scope="module")
def attacked_hospital(tmp_path_factory):
    """A hospital with its spec and version, in a work directory of its own."""
    place = tmp_path_factory.mktemp("attacked")
    hospital = made_up(8, 150)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        spec = spec_with(place, hospital, promises=[{"model": "people", "k": 2}, *ALONE])
        yield hospital, spec, release_here(spec)


ALONE = [{"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis", "numbers": "hidden"}]


def owned_rows(small, seed=0):
    """The rows of small groups with a day each, their owners, and everybody's group."""
    random = Random(seed)
    people = np.array([group.people for group in small])
    first = np.cumsum(people) - people
    owner = [first[i] + person for i, group in enumerate(small) for person in group.owners]
    values = [value for group in small for value in group.values]
    days = [random.choice(DAYS[:2]) for _ in values]
    columns = (
        encode("s", "sensitive", pa.array(values, pa.string())),
        encode("day", "sensitive", pa.array(days, pa.string())),
    )
    rows = OwnedRows(np.array(owner, dtype=np.int64), Microdata(columns, len(values)))
    return rows, np.repeat(np.arange(len(small)), people), people, days


def truth_about(small):
    from sfumato.tasks.microdata.grouping import related_rows as count_rows

    rows, group, sizes, _ = owned_rows(small)
    return RelatedTruth("s", sizes, group, rows, count_rows(rows, group, ["s"]))


SMALL = list(drawn_groups(21, 1_500))
TRUTH = truth_about(SMALL)


def people_of(small):
    """Everybody with rows, as the attack orders them: the group, and the number in the group."""
    return [(i, p) for i, group in enumerate(small) for p in sorted({*group.owners})]


def is_certain(group: SmallGroup, person, worlds):
    """Decide whether one value is among those of a person in every world."""
    return bool(set.intersection(*({*group.values_of(person, world)} for world in worlds)))


def others(group, person):
    return [insider for insider in range(group.people) if insider != person]


@pytest.mark.parametrize(
    ("knowledge", "certain"),
    [
        ("by_groups", lambda group, p: is_certain(group, p, group.worlds)),
        ("by_numbers", lambda group, p: is_certain(group, p, group.worlds_with_numbers)),
        (
            "by_insiders",
            lambda group, p: (
                is_certain(group, p, group.worlds_with_numbers)
                or any(is_certain(group, p, group.worlds_of(q)) for q in others(group, p))
            ),
        ),
    ],
)
def test_who_is_certain_of_whom_as_all_worlds_show_it(knowledge, certain):
    marked = getattr(TRUTH, knowledge)
    by_worlds = [certain(SMALL[i], person) for i, person in people_of(SMALL)]
    assert marked.tolist() == by_worlds
    assert 20 < sum(by_worlds) < len(by_worlds) - 20


def test_beliefs_by_numbers_are_shares_of_worlds():
    least = Fraction(4, 5)
    marked = related_rows._believed_by_numbers(TRUTH, least)
    expected = []
    for i, person in people_of(SMALL):
        group = SMALL[i]
        worlds = group.worlds_with_numbers
        shares = [
            Fraction(sum(own in group.values_of(person, w) for w in worlds), len(worlds))
            for own in {*group.values_of(person, group.owners)}
        ]
        expected.append(max(shares) >= least)
    assert marked.tolist() == expected
    assert 20 < sum(expected) < len(expected) - 20


def test_the_published_numbers_bound_what_is_certain():
    assert TRUTH.share(TRUTH.by_numbers) <= TRUTH.share_of_groups(1)
    assert TRUTH.share(TRUTH.by_insiders) <= TRUTH.share_of_groups(2)
    assert TRUTH.share_of_groups(1) < TRUTH.share_of_groups(2)


def test_who_guesses_from_the_group_is_right_as_often_as_people_have_its_value():
    right = Fraction(0)
    for group in SMALL:
        number = Counter(group.values)
        top = [value for value in number if number[value] == max(number.values())]
        for person in range(group.people):
            own = {*group.values_of(person, group.owners)}
            right += Fraction(sum(value in own for value in top), max(len(top), 1))
    assert related_rows._right_guesses(TRUTH) == pytest.approx(float(right))
    assert related_rows._most_right(TRUTH) >= right


def days_by_person(days, owners):
    """Return the days of each of four people, with how often each has them."""
    pairs = list(zip(days, owners, strict=True))
    return [Counter(value for value, owner in pairs if owner == person) for person in range(4)]


def worlds_with_days(group, days):
    """The worlds in which everybody has the days that they have."""
    own = days_by_person(days, group.owners)
    return [w for w in group.worlds_with_numbers if days_by_person(days, w) == own]


def test_a_known_column_beside_the_values_as_all_worlds_show_it(attacked_hospital):
    """The scores of a real target whose rows and owners are those of small groups."""
    _, _, directory = attacked_hospital
    small = [group for group in SMALL if group.values][:400]
    rows, group, sizes, days = owned_rows(small)
    of_one, of_all, place = 0, 0, 0
    for each in small:
        own = days[place : place + len(each.values)]
        place += len(each.values)
        worlds = worlds_with_days(each, own)
        pairs = list(zip(each.values, own, strict=True))
        values_of_cell = {k: {v for v, other in pairs if other == k} for k in own}
        for person in {*each.owners}:
            mine = {k for k, o in zip(own, each.owners, strict=True) if o == person}
            of_one += any(len(values_of_cell[k]) == 1 for k in mine)
            of_all += is_certain(each, person, worlds)
    target = targets_of(open_release(directory).declared, {}, Microdata((), 0), None, "digest")[0]
    counted = related_rows.related_rows(rows, group, ["s"])
    truth = RelatedTruth("s", sizes, group, rows, counted)
    scores = list(related_rows._by_known_column(target, truth, "day"))
    assert [score.tally.number for score in scores] == [of_one, of_all]
    assert 20 < of_one < of_all < truth.with_rows - 20


def numbers_by_hand(hospital, release):
    """The people of whom a diagnosis is certain by numbers, and by the cost of one stay."""
    people = open_release(release).table("patients").to_pylist()
    group_of = {(row["age"], row["sex"]): row["group_id"] for row in people}
    named = {p["patient"]: group_of[p["age"], p["sex"]] for p in hospital.patients.to_pylist()}
    stays = hospital.stays.to_pylist()
    rows, values = Counter(), {}
    for stay in stays:
        group = named[stay["patient"]]
        rows[group] += 1
        values.setdefault(group, Counter())[stay["diagnosis"]] += 1
        values.setdefault((group, stay["cost"]), Counter())[stay["diagnosis"]] += 1
    own = Counter(stay["patient"] for stay in stays)
    sure = sum(max(values[named[p]].values()) + n > rows[named[p]] for p, n in own.items())
    by_cost = {s["patient"] for s in stays if len(values[named[s["patient"]], s["cost"]]) == 1}
    return len(own), sure, len(by_cost)


def test_the_command_scores_a_release_against_the_original_tables(attacked_hospital, call):
    hospital, spec, directory = attacked_hospital
    code, output, error = call("attack", directory, "--truth", spec, "--format", "json")
    assert code == 0, error
    scores = {s["measure"]: s for s in json.loads(output)["scores"]["diagnosis"]}
    numbers = [(s.get("number"), s.get("of")) for s in scores.values()]
    with_rows, sure, by_cost = numbers_by_hand(hospital, directory)
    assert sure > 0
    by_numbers = scores[
        "people with rows in stays of whom a value is certain, by everyone's number of rows"
    ]
    assert (by_numbers["number"], by_numbers["of"]) == (sure, with_rows)
    assert (by_cost, with_rows) in numbers
    _, output, _ = call("attack", directory, "--truth", spec)
    assert f"({sure} of {with_rows}; from the group alone" in output


def test_a_release_and_a_plan_are_attacked_and_the_figures_stay_private(attacked_hospital, call):
    _, spec, directory = attacked_hospital
    (record,) = (spec.parent / "work").glob("hospital/reports/*/attacks.json")
    scores = json.loads(record.read_text(encoding="utf-8"))["scores"]
    assert set(scores) == {"diagnosis", "cost"}
    assert sum("cost of all rows" in s["measure"] for s in scores["diagnosis"]) == 1
    assert not any("cost of all rows" in s["measure"] for s in scores["cost"])
    published = (directory / "index.html").read_text(encoding="utf-8")
    assert "of whom a value is certain" not in published
    _, output, _ = call("plan", spec, "--format", "json")
    assert json.loads(output)["attacks"]["diagnosis"]


def original_of(hospital):
    """The patients of a hospital with their stays, as a run reads them."""
    names = [name for name in hospital.patients.column_names if name != "patient"]
    people = Microdata(
        tuple(encode(n, "quasi-identifier", hospital.patients[n]) for n in names),
        hospital.patients.num_rows,
    )
    place = {name: i for i, name in enumerate(hospital.patients["patient"].to_pylist())}
    owner = np.array([place[name] for name in hospital.stays["patient"].to_pylist()])
    columns = (encode(n, "sensitive", hospital.stays[n]) for n in ("diagnosis", "cost"))
    owned = OwnedRows(owner, Microdata(tuple(columns), hospital.stays.num_rows))
    return replace(people, related=owned)


def test_the_owners_that_a_candidate_keeps_give_the_same_scores(attacked_hospital):
    """Both ways to know who is in which group: from the record of a run, and from the tables."""
    hospital, _, directory = attacked_hospital
    release = open_release(directory)
    tables = read_tables(release.declared, directory / "data")
    original = original_of(hospital)
    target = targets_of(release.declared, tables, original)[0]
    group = related_rows.group_of_people(target)
    recorded = targets_of(release.declared, tables, original, WhoseRows(group, original))[0]
    for attack in attacks_on(target).values():
        assert attack(target) == attack(recorded)


RANGES = {"kind": "range", "aggregate": "count", "over": "age"}


def test_people_who_were_left_out_are_not_attacked(tmp_path, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    hospital = made_up(9, 80)
    maximum = {"at-most": 2, "else": "leave-out"}
    spec = spec_with(
        tmp_path,
        hospital,
        tables={"patients": patients(), "stays": stays(maximum=maximum)},
        evaluate={"workloads": [{**RANGES, "spans": [9]}]},
    )
    directory = release_here(spec)
    times = Counter(Counter(hospital.stays["patient"].to_pylist()).values())
    code, output, error = call("attack", directory, "--truth", spec, "--format", "json")
    assert code == 0, error
    counted = {s["of"] for s in json.loads(output)["scores"]["diagnosis"] if "of" in s}
    assert counted == {times[1] + times[2]}
    code, _, error = call("evaluate", directory, "--spec", spec)
    assert code == 0, error


def test_versions_of_two_tables_are_not_attacked_together(attacked_hospital, call):
    _, spec, directory = attacked_hospital
    code, _, error = call("attack", directory, "--truth", spec, "--also", directory, spec)
    assert code == 2
    assert "Leave the option out" in error
