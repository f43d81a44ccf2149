"""Knowledge of attackers from a real release with facts, against all worlds of its small groups."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.ranks import rank, sensitive_codes
from sfumato.expectations.groups.related import Insiders, count_related
from sfumato.expectations.models.related import RelatedAlpha, RelatedDiversity
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.rewriting import rewriter
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.facts.clinic import spec_of_clinic, tables, with_days
from tests.facts.small_worlds import FACTS, PublishedGroup, World, count_faced
from tests.flow_here import release_here
from tests.related.hospital import DIAGNOSES, Hospital, columns_of

PEOPLE, MOST_STAYS = 4, 5
DAYS = (0, 60, 120, 130)
EASY = {"model": "related-l-diversity", "l": 1, "sensitive": "diagnosis", "numbers": "hidden"}


def hospital_of(seed: int, patients: int, costs: tuple[int, ...] = (1, 2, 5)) -> Hospital:
    """Patients with an age of their own each, and few stays."""
    random = Random(seed)
    ages = random.sample(range(1_000), patients)
    people = [(f"p{n}", age, random.choice("fm")) for n, age in enumerate(ages)]
    rows = [
        (name, random.choice(DIAGNOSES[: random.randint(1, 4)]), random.choice(costs))
        for name, _, _ in people
        for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3)))
    ]
    return with_days(
        Hospital(
            pa.table(dict(zip(("patient", "age", "sex"), columns_of(people), strict=True))),
            pa.table(dict(zip(("patient", "diagnosis", "cost"), columns_of(rows), strict=True))),
        ),
        seed,
        120,
    )


@dataclass(frozen=True, eq=False)
class Released:
    """A release of a hospital, its small groups as anyone reads them, and the truth of each."""

    release: Any
    groups: Mapping[int, PublishedGroup]
    truths: Mapping[int, World]
    owned: Groups


def release_small(
    place, seed: int, names, patients: int = 130, costs=(1, 2, 5), **more
) -> Released:
    hospital = hospital_of(seed, patients, costs)
    people_only = [{"model": "people", "k": 2}, EASY]
    spec = spec_of_clinic(place, hospital, tables=tables(*names, **more), promises=people_only)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        release = open_release(release_here(spec))
    data = release.directory / "data"
    published = {
        name: pq.read_table(data / f"{name}.parquet").to_pylist()
        for name in ("patients", "stays", "group_counts")
    }
    own: dict[int, list[tuple[str, int, int]]] = {}
    days = [day.toordinal() for day in hospital.stays["day"].to_pylist()]
    of_people = hospital.patients.to_pydict()
    ages = dict(zip(of_people["patient"], of_people["age"], strict=True))
    columns = (hospital.stays[name].to_pylist() for name in ("patient", "diagnosis", "cost"))
    for name, diagnosis, cost, day in zip(*columns, days, strict=True):
        own.setdefault(ages[name], []).append((diagnosis, cost, day))
    groups, truths = {}, {}
    for numbers in published["group_counts"]:
        number = numbers["group_id"]
        people = [p for p in published["patients"] if p["group_id"] == number]
        stays = [s for s in published["stays"] if s["group_id"] == number]
        if not stays or len(people) > PEOPLE or len(stays) > MOST_STAYS:
            continue
        facts = {name: tuple(sorted(p[name] for p in people)) for name in names}
        ages_here = tuple(sorted(p["age"] for p in people))
        rows = tuple((s["diagnosis"], s["cost"]) for s in stays)
        groups[number] = PublishedGroup(ages_here, rows, numbers["most_rows"], facts)
        truths[number] = World(tuple(tuple(own.get(age, ())) for age in ages_here))
    return Released(release, groups, truths, _with_owners(release, published, own))


def _with_owners(release, published, own) -> Groups:
    """The groups as the publisher knows them: with the owners of stays."""
    group_of = {p["age"]: p["group_id"] for p in published["patients"]}
    pairs = [(age, stay[0]) for age, each in own.items() for stay in each]
    owner = np.array([age for age, _ in pairs], np.int64)
    values, codes = rank(pa.array([diagnosis for _, diagnosis in pairs]))
    coded = sensitive_codes(values, codes, "diagnosis", None)
    group = np.array([group_of[age] for age, _ in pairs], np.int64)
    sizes = np.array([n["people"] for n in published["group_counts"]], np.int64)
    return Groups(sizes, {}, related=count_related(group, owner, {"diagnosis": coded}))


def seen_by_anyone(result: Released) -> tuple[RelatedDiversity, Groups]:
    """The promise about diagnoses as it is declared, and the groups that files show."""
    declared = result.release.declared
    read = read_tables(declared, result.release.directory / "data")
    return next(
        (promise, groups)
        for promise, groups in SeenGroups(declared, read).of_promises()
        if isinstance(promise, RelatedDiversity)
    )


def least_faced(worlds, people) -> int | None:
    return min((n for p in people if (n := count_faced(worlds, p)) is not None), default=None)


@pytest.mark.parametrize(("names", "facts"), [(("times",), "numbers"), (("admitted",), "presence")])
def test_numbers_among_facts_are_judged_exactly_by_anyone(names, facts, tmp_path):
    """V3: whoever is least in the multiset of numbers has so many stays at least."""
    compared = certain = 0
    for seed in range(1):
        result = release_small(tmp_path / str(seed), seed, names)
        promise, groups = seen_by_anyone(result)
        assert promise.facts == facts
        by_anyone = promise.measure(groups)["l"]
        by_owner = promise.measure(result.owned)["l"]
        assert np.array_equal(by_anyone, by_owner)
        for number, group in result.groups.items():
            expected = least_faced(list(group.worlds()), range(len(group.ages)))
            assert by_anyone[number] == expected, group
            certain += expected == 1
            compared += 1
    assert compared > 30
    assert certain > 2


def test_facts_of_columns_that_are_not_shown_tell_nothing_to_who_knows_all_numbers(
    tmp_path,
):
    """Whoever is given other stays may have had them on the same days: theorems 4 and 6 stand."""
    compared = 0
    for seed in range(2):
        result = release_small(tmp_path / str(seed), seed, ("readmitted",))
        outside = RelatedDiversity(l=2, sensitive="diagnosis").measure(result.owned)["l"]
        place = {int(g): i for i, g in enumerate(result.owned.related.group)}
        inside = Insiders(result.owned.related, "diagnosis").count_values()
        for number, group in result.groups.items():
            if len(group.stays) > 4:
                continue
            truth, people = result.truths[number], range(len(group.ages))
            possible = [w for w in group.worlds(DAYS) if w.numbers == truth.numbers]
            assert outside[number] == least_faced(possible, people)
            seen = [
                count_faced(of_insider, other)
                for insider in people
                for of_insider in [_worlds_of(possible, truth, insider)]
                for other in people
                if of_insider and other != insider
            ]
            expected = min((n for n in seen if n is not None), default=None)
            if expected is not None:  # who has no stays knows what outsiders know
                assert min(inside[place[number]], outside[number]) == min(expected, outside[number])
            compared += len(people) * len(set(group.stays)) * (1 + len(people))
    assert compared > 1_000


def _worlds_of(worlds, truth: World, insider: int) -> list[World]:
    """Worlds for a person who knows the own diagnoses, and whether readmitted."""
    own = sorted(stay[0] for stay in truth.stays[insider])
    was = FACTS["readmitted"](truth.stays[insider])
    return [
        w
        for w in worlds
        if sorted(stay[0] for stay in w.stays[insider]) == own
        and FACTS["readmitted"](w.stays[insider]) == was
    ]


def test_who_knows_no_numbers_learns_of_a_group_and_not_of_its_people(tmp_path):
    """Theorem 8 beside facts of any columns: beliefs are alike, and certain only as is judged."""
    compared = surely = 0
    for seed, together in ((0, False), (1, True), (2, False)):
        names = ("total_cost", "flu_and_gout", "times")[: 2 + seed % 2]
        result = release_small(tmp_path / str(seed), seed, names, together=together)
        promise, groups = seen_by_anyone(result)
        assert promise.facts == "any"
        judged, by_files = (promise.measure(g)["l"] for g in (result.owned, groups))
        alpha = RelatedAlpha(alpha=Decimal(1), sensitive="diagnosis").measure(groups)
        for number, group in result.groups.items():
            worlds, people = list(group.worlds()), range(len(group.ages))
            assert any(w.diagnoses(0) == result.truths[number].diagnoses(0) for w in worlds)
            for diagnosis in {stay[0] for stay in group.stays}:
                having = [sum(w.has(p, diagnosis) for w in worlds) for p in people]
                assert len(set(having)) == 1  # the same belief of everybody
                most = Fraction(int(alpha["most"][number]), int(alpha["size"][number]))
                assert Fraction(having[0], len(worlds)) <= most
                certain = having[0] == len(worlds)
                assert having[0] > 0
                # the publisher's judgement is never milder than what files show, nor than the truth
                assert not certain or judged[number] == 1
                surely += certain
                compared += 3 * len(people)
            assert judged[number] <= by_files[number]
            for name, values in group.facts.items():
                for value, times in Counter(values).items():
                    shares = {
                        Fraction(sum(FACTS[name](w.stays[p]) == value for w in worlds), len(worlds))
                        for p in people
                    }
                    assert shares == {Fraction(times, len(values))}
                    compared += len(people)
    assert compared > 3_000
    assert surely > 5


def test_facts_of_published_columns_tell_who_knows_all_numbers_more(tmp_path):
    """The reason why `numbers: known` is refused beside them: theorem 4 would say too little."""
    more = 0
    for seed in range(1):
        result = release_small(tmp_path / str(seed), seed, ("total_cost",))
        theorem = RelatedDiversity(l=2, sensitive="diagnosis").measure(result.owned)["l"]
        for number, group in result.groups.items():
            truth = result.truths[number]
            possible = [w for w in group.worlds() if w.numbers == truth.numbers]
            expected = least_faced(possible, range(len(group.ages)))
            assert expected <= theorem[number]
            more += expected < theorem[number]
    assert more > 2


QUESTIONS = {
    "SELECT COUNT(*) FROM patients WHERE flu_and_gout AND {}": lambda own: sum(map(_pair, own)),
    "SELECT SUM(total_cost) FROM patients WHERE {}": lambda own: sum(
        c for o in own for _, c, _ in o
    ),
    "SELECT COUNT(*) FROM patients WHERE times >= 2 AND NOT flu_and_gout AND {}": lambda own: sum(
        len(o) >= 2 and not _pair(o) for o in own
    ),
    "SELECT COUNT(*) FROM patients JOIN stays USING (patient) WHERE flu_and_gout AND {}": (
        lambda own: sum(len(o) for o in own if _pair(o))
    ),
    "SELECT COUNT(DISTINCT patient) FROM patients JOIN stays USING (patient) WHERE times >= 2 AND "
    "diagnosis = 'flu' AND {}": lambda own: sum(len(o) >= 2 and _has(o, "flu") for o in own),
    "SELECT SUM(cost) FROM patients JOIN stays USING (patient) WHERE times < 2 AND {}": (
        lambda own: sum(c for o in own if len(o) < 2 for _, c, _ in o) if _any_below(own) else None
    ),
    "SELECT COUNT(*) FROM patients WHERE times >= 1 AND NOT EXISTS (SELECT 1 FROM stays WHERE "
    "stays.patient = patients.patient AND diagnosis = 'asthma') AND {}": lambda own: sum(
        bool(o) and not _has(o, "asthma") for o in own
    ),
    "SELECT COUNT(*) FROM patients WHERE flu_and_gout AND EXISTS (SELECT 1 FROM stays WHERE "
    "stays.patient = patients.patient AND cost > 1) AND {}": lambda own: sum(
        _pair(o) and any(c > 1 for _, c, _ in o) for o in own
    ),
}


def _pair(own) -> bool:
    return FACTS["flu_and_gout"](own)


def _has(own, diagnosis: str) -> bool:
    return any(stay[0] == diagnosis for stay in own)


def _any_below(own) -> bool:
    return any(len(o) == 1 for o in own)


@pytest.mark.parametrize("together", [False, True])
def test_answers_of_all_worlds_lie_within_bounds(together, tmp_path):
    names = ("times", "flu_and_gout", "total_cost")
    result = release_small(tmp_path, 11 + together, names, 200, (1, 1, 2), together=together)
    random, compared = Random(3), 0
    queries, expected = [], []
    for group in result.groups.values():
        worlds = list(group.worlds())
        for text, measured in QUESTIONS.items():
            some = random.sample(range(len(group.ages)), random.randint(1, len(group.ages)))
            ages = ", ".join(str(group.ages[place]) for place in some)
            queries.append(text.format(f"age IN ({ages})"))
            measurements = {measured([world.stays[place] for place in some]) for world in worlds}
            expected.append((measurements - {None}, len(worlds)))
    for query, answer, (values, many) in zip(
        queries, answers(result.release, queries), expected, strict=True
    ):
        (bounds,) = answer.rows[0].values()
        for value in values:
            assert Fraction(bounds.lower) <= value <= Fraction(bounds.upper), query
        compared += many
    assert compared > 5_000
    with rewriter(result.release) as opened:  # databases, too, hold every world
        for query, (values, _) in list(zip(queries, expected, strict=True))[::3]:
            ((low, high),) = opened.connection.execute(opened.sql(query)).fetchall()
            assert all(low <= value <= high for value in values), query


GROUPED = {
    "SELECT flu_and_gout, COUNT(*) FROM patients JOIN stays USING (patient) WHERE {} GROUP BY 1": (
        lambda own: rows_by_fact(_pair, own, lambda persons: sum(map(len, persons)))
    ),
    "SELECT times, SUM(cost) FROM patients JOIN stays USING (patient) WHERE {} GROUP BY times": (
        lambda own: rows_by_fact(len, own, lambda persons: sum(c for o in persons for _, c, _ in o))
    ),
    "SELECT flu_and_gout, AVG(cost) FROM patients JOIN stays USING (patient) WHERE diagnosis <> "
    "'flu' AND {} GROUP BY flu_and_gout": (
        lambda own: rows_by_fact(
            _pair,
            [[stay for stay in o if stay[0] != "flu"] for o in own],
            lambda persons: _mean([c for o in persons for _, c, _ in o]),
            whole_stays=own,
        )
    ),
    "SELECT times, flu_and_gout, COUNT(*) FROM patients WHERE NOT EXISTS (SELECT 1 FROM stays "
    "WHERE stays.patient = patients.patient AND cost > 1) AND {} GROUP BY 1, 2": (
        lambda own: rows_by_fact(
            lambda o: (len(o), _pair(o)), [o for o in own if all(c <= 1 for _, c, _ in o)], len
        )
    ),
}
"""Questions by facts, and what each row of their answers is in a world; 0 and None are no row."""


def rows_by_fact(fact, own, measured, whole_stays=None):
    """Return the rows of an answer in a world, by a fact of each person (of all their stays)."""
    rows: dict[Any, list[Any]] = {}
    for persons, whole in zip(own, whole_stays or own, strict=True):
        rows.setdefault(fact(whole), []).append(persons)
    answer = {key: measured(persons) for key, persons in rows.items() if any(persons) or key}
    return {k if isinstance(k, tuple) else (k,): v for k, v in answer.items()}


def _mean(values):
    return Fraction(sum(values), len(values)) if values else None


@pytest.mark.parametrize("together", [False, True])
def test_rows_by_facts_hold_every_world(together, tmp_path):
    """Also each row that the answer lacks is in no world."""
    names = ("times", "flu_and_gout")
    result = release_small(tmp_path, 21 + together, names, 160, (1, 1, 2), together=together)
    random, compared = Random(5), 0
    queries, expected = [], []
    for group in result.groups.values():
        worlds = list(group.worlds())
        for text, measured in GROUPED.items():
            some = random.sample(range(len(group.ages)), random.randint(1, len(group.ages)))
            ages = ", ".join(str(group.ages[place]) for place in some)
            queries.append(text.format(f"age IN ({ages})"))
            expected.append([measured([w.stays[place] for place in some]) for w in worlds])
    with rewriter(result.release) as opened:
        for query, answer, each in zip(
            queries, answers(result.release, queries), expected, strict=True
        ):
            of_engine = {
                key: (bounds.lower, bounds.upper)
                for *key, bounds in map(dict.values, answer.rows)
                for key in [tuple(key)]
            }
            of_database = {
                tuple(key): (low, high)
                for *key, low, high in opened.connection.execute(opened.sql(query)).fetchall()
            }
            assert of_engine.keys() == of_database.keys(), query
            for world in each:
                for key, value in world.items():
                    if not value:
                        continue
                    for low, high in (of_engine[key], of_database[key]):
                        assert low <= value <= high, query
                    compared += 1
    assert compared > 2_000
