"""Small random pairs of tables, released and asked, beside all worlds that the files admit.

    python -m tests.benchmarks.small_hospitals                     5,000 pairs and 10,000 queries
    python -m tests.benchmarks.small_hospitals --pairs 500

A pair of tables has up to four patients and up to six stays. It is a ward of a hospital. Fifty
wards are released together, as strata, by the stages of a release and its gate, without Prefect and
attacks. So no group has people of two pairs.

An oracle goes through all ways to give the stays of a group to its people so that one person has
the most stays that the group states, and nobody has more. It has no formula, and shares no code
with the product. A query is about one ward, or about several together. Its bounds must hold the
truth; where the guide says that bounds are attained, some world must have each end.
"""

import argparse
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.terms.opened import open_release
from tests.benchmarks.processes import describe_machine
from tests.lines import prepare, publish_prepared
from tests.related.hospital import DIAGNOSES, Hospital, columns_of, patients, spec_with, stays

WARDS = 50
"""Pairs of tables that are released together."""
_PEOPLE, _ROWS = 4, 6  # at most of a ward
_JOIN = "FROM patients JOIN stays USING (patient)"
_LEAST = (1, 2, 2, 3, 3, 4)
"""The least people in a ward, and in a group: k of the release with each seed, in turns."""
_DIVERSE = {"model": "related-l-diversity", "l": 1, "numbers": "hidden", "sensitive": "diagnosis"}


class Person(NamedTuple):
    """A patient, with the stays that the source gives them."""

    name: str
    ward: str
    age: int
    sex: str


class Stay(NamedTuple):
    """The values of a stay."""

    diagnosis: str
    cost: int


@dataclass(frozen=True)
class Group:
    """People and stays of a published group, and the owner of each stay in the source.

    Attributes:
        people: its people.
        stays: its stays.
        most: the most stays of any one person, as the release states it.
        owners: the number of the person of each stay, as it is.
    """

    people: tuple[Person, ...]
    stays: tuple[Stay, ...]
    most: int
    owners: tuple[int, ...]

    @cached_property
    def worlds(self) -> np.ndarray:
        """All owners of the stays that the files admit (worlds x stays)."""
        every = np.array([*product(range(len(self.people)), repeat=len(self.stays))], dtype=int)
        numbers = [(every == person).sum(axis=1) for person in range(len(self.people))]
        return every[np.max(numbers, axis=0) == self.most]

    @property
    def truth(self) -> np.ndarray:
        """The owners of the source, as the only world."""
        return np.array([self.owners], dtype=int)


Hits = Callable[[Stay], bool]
Measure = Callable[[Group, np.ndarray], np.ndarray]
"""A number for each of some worlds of a group; of values their sum and their number."""


@dataclass(frozen=True)
class Question:
    """A query, and what it measures in a world of a group.

    Attributes:
        sql: the query.
        measured: what it measures in worlds of a group.
        kind: whether numbers are added up, or values are summed up or have a mean.
        attained: whether the guide says that some world has each end.
        wards: the wards that it is about.
    """

    sql: str
    measured: Measure
    kind: str
    attained: bool
    wards: tuple[str, ...]


def made_up_wards(random: Random, wards: int, least: int) -> Hospital:
    """Return wards of so many patients at least, in which nobody is like anybody else."""
    people: list[Person] = []
    rows: list[tuple[str, str, int]] = []
    for number in range(wards):
        kinds = random.sample([(age, sex) for age in range(20, 40) for sex in "fm"], _PEOPLE)
        names = []
        for age, sex in kinds[: random.randint(least, _PEOPLE)]:
            names.append(f"p{len(people)}")
            people.append(Person(names[-1], f"w{number}", age, sex))
        often = random.choice([names, names[:1] * 2 + names])  # one of them has more stays
        many = random.randint(int(number == 0), _ROWS)
        rows += [(random.choice(often), *_drawn_stay(random)) for _ in range(many)]
    random.shuffle(rows)
    return Hospital(
        pa.table(dict(zip(("patient", "ward", "age", "sex"), columns_of(people), strict=True))),
        pa.table(dict(zip(("patient", "diagnosis", "cost"), columns_of(rows), strict=True))),
    )


def _drawn_stay(random: Random) -> Stay:
    return Stay(random.choice(DIAGNOSES), random.randint(-3, 6))


def release_wards(place: Path, hospital: Hospital, seed: int) -> Path:
    """Release a hospital by its stages, judged by the gate; return the version's directory."""
    people = patients()
    people["columns"]["ward"] = {"role": "quasi-identifier"}
    promises: list[dict[str, Any]] = [{"model": "people", "k": _LEAST[seed % len(_LEAST)]}]
    columns = stays()["columns"]
    if seed % 2:
        promises.append(_DIVERSE)
    else:
        columns["diagnosis"] = {"role": "sensitive", "unprotected": "to compare"}
    spec = spec_with(
        place / "spec",
        hospital,
        tables={"patients": people, "stays": stays(columns=columns)},
        promises=promises,
        strata=["ward"],
    )
    run = place / "run"
    return publish_prepared(prepare(spec, run, seeded_keys(seed)), run).directory


def groups_of(release: Path, hospital: Hospital) -> list[Group]:
    """Return the published groups, with the owners that the source gives to their stays."""
    published = pq.read_table(release / "data" / "patients.parquet").to_pylist()
    place = {(row["ward"], row["age"], row["sex"]): row["group_id"] for row in published}
    people: dict[int, list[Person]] = defaultdict(list)
    group_of: dict[str, int] = {}
    for row in hospital.patients.to_pylist():
        person = Person(row["patient"], row["ward"], row["age"], row["sex"])
        group_of[person.name] = place[person[1:]]
        people[group_of[person.name]].append(person)
    rows: dict[int, list[tuple[Stay, str]]] = defaultdict(list)
    for row in hospital.stays.to_pylist():
        rows[group_of[row["patient"]]].append((Stay(row["diagnosis"], row["cost"]), row["patient"]))
    counts = pq.read_table(release / "data" / "group_counts.parquet").to_pylist()
    groups = []
    for row in counts:
        members, owned = people[row["group_id"]], rows[row["group_id"]]
        names = [person.name for person in members]
        owners = tuple(names.index(name) for _, name in owned)
        groups.append(
            Group(tuple(members), tuple(stay for stay, _ in owned), row["most_rows"], owners)
        )
    return groups


@dataclass(frozen=True)
class Conditions:
    """Drawn conditions on patients and stays, as SQL and as functions, and a number of stays."""

    of_people: str
    admits: Callable[[Person], bool]
    of_stays: str
    hits: Hits
    of_others: str
    hits_others: Hits
    times: int

    def values(self, group: Group, worlds: np.ndarray) -> np.ndarray:
        """Return the sum of the costs of hit stays of hit people, and their number (worlds x 2)."""
        hit = np.array([self.hits(stay) for stay in group.stays], dtype=bool)
        counted = self._select_people(group)[worlds] & hit
        costs = np.array([stay.cost for stay in group.stays], dtype=int)
        return np.stack([(counted * costs).sum(axis=1), counted.sum(axis=1)], axis=1)

    def rows(self, group: Group, worlds: np.ndarray) -> np.ndarray:
        """Return the number of hit stays of hit people (one per world)."""
        return self.values(group, worlds)[:, 1]

    def people(self, fits: Callable[..., np.ndarray]) -> Measure:
        """Return a count of hit people by their numbers of hit stays, of others, and of all."""

        def count(group: Group, worlds: np.ndarray) -> np.ndarray:
            hits = [
                np.array([hit(stay) for stay in group.stays], dtype=bool)
                for hit in (self.hits, self.hits_others, lambda _: True)
            ]
            total = np.zeros(len(worlds), dtype=int)
            for person in np.flatnonzero(self._select_people(group)):
                total += fits(*(((worlds == person) & hit).sum(axis=1) for hit in hits))
            return total

        return count

    def _select_people(self, group: Group) -> np.ndarray:
        return np.array([self.admits(person) for person in group.people], dtype=bool)


def draw_question(random: Random, wards: tuple[str, ...]) -> Question:
    """Return a question of one of the shapes that are answered, about some wards."""
    conditions = Conditions(
        *_drawn_people(random, wards),
        *_drawn_stays(random),
        *_drawn_stays(random),
        random.randint(1, 3),
    )
    shapes = [*_of_rows(conditions), *_of_people(conditions)]
    sql, measured, kind, attained = random.choice(shapes)
    return Question(sql, measured, kind, attained, wards)


Shape = tuple[str, Measure, str, bool]


def _of_rows(conditions: Conditions) -> list[Shape]:
    """Return questions about the stays of people."""
    end = f"{_JOIN} WHERE {conditions.of_people} AND {conditions.of_stays}"
    with_any = conditions.people(lambda own, _other, _all: own > 0)
    return [
        (f"SELECT COUNT(*) {end}", conditions.rows, "count", True),
        (f"SELECT COUNT(DISTINCT patient) {end}", with_any, "count", True),
        (f"SELECT SUM(cost) {end}", conditions.values, "sum", True),
        (f"SELECT AVG(cost) {end}", conditions.values, "mean", True),
    ]


def _of_people(conditions: Conditions) -> list[Shape]:
    """Return questions about people and how many stays they have."""
    times = conditions.times
    people = f"SELECT COUNT(*) FROM patients WHERE {conditions.of_people}"
    has = "EXISTS (SELECT 1 FROM stays WHERE stays.patient = patients.patient AND {})"
    often = f"WHERE {conditions.of_stays} GROUP BY patient HAVING COUNT(*) >= {times}"
    numbers = "WITH n AS (SELECT patient, COUNT(*) AS times FROM stays GROUP BY patient)"
    joined = f"{numbers} SELECT COUNT(*) FROM patients JOIN n USING (patient)"
    joined += f" WHERE {conditions.of_people}"
    first, second = has.format(conditions.of_stays), has.format(conditions.of_others)
    return [
        (sql, conditions.people(fits), "count", attained)
        for sql, fits, attained in (
            (f"{people} AND {first}", lambda own, _o, _a: own > 0, True),
            (f"{people} AND NOT {first}", lambda own, _o, _a: own == 0, True),
            (
                f"{people} AND patients.patient IN (SELECT patient FROM stays {often})",
                lambda own, _o, _a: own >= times,
                True,
            ),
            (f"{joined} AND times >= {times}", lambda _c, _o, every: every >= times, True),
            (f"{joined} AND times = {times}", lambda _c, _o, every: every == times, False),
            (
                f"{joined} AND times <= {times}",
                lambda _c, _o, every: (every > 0) & (every <= times),
                False,
            ),
            (
                f"{people} AND {first} AND {second}",
                lambda own, others, _a: (own > 0) & (others > 0),
                False,
            ),
        )
    ]


def _drawn_people(random: Random, wards: tuple[str, ...]) -> tuple[str, Callable[[Person], bool]]:
    """Return a condition on a patient, as SQL and as a function."""
    low = random.randint(20, 40)
    choices: list[tuple[str, Callable[[Person], bool]]] = [
        (f"age >= {low}", lambda p: p.age >= low),
        (f"age BETWEEN {low} AND {low + 7}", lambda p: low <= p.age <= low + 7),
        ("sex = 'f'", lambda p: p.sex == "f"),
        ("age > 0", lambda _: True),
        (f"NOT (sex = 'f' AND age < {low})", lambda p: p.sex != "f" or p.age >= low),
    ]
    text, admits = random.choice(choices)
    names = ", ".join(f"'{ward}'" for ward in wards)
    return f"ward IN ({names}) AND {text}", lambda p: p.ward in wards and admits(p)


def _drawn_stays(random: Random) -> tuple[str, Hits]:
    """Return a condition on a stay, as SQL and as a function."""
    first, second = random.sample(DIAGNOSES, 2)
    limit = random.randint(-3, 5)
    choices: list[tuple[str, Hits]] = [
        (f"diagnosis = '{first}'", lambda s: s.diagnosis == first),
        (f"diagnosis IN ('{first}', '{second}')", lambda s: s.diagnosis in (first, second)),
        (f"cost > {limit}", lambda s: s.cost > limit),
        (
            f"(diagnosis = '{first}' OR cost <= {limit})",
            lambda s: s.diagnosis == first or s.cost <= limit,
        ),
        ("cost > -100", lambda _: True),
    ]
    return random.choice(choices)


def ends_in_worlds(question: Question, groups: Iterable[Group]) -> tuple[Any, Any] | None:
    """Return the least and the greatest answer in all worlds; None if no world has an answer."""
    measured = [question.measured(group, group.worlds) for group in groups]
    if question.kind == "count":
        return sum(int(each.min()) for each in measured), sum(int(each.max()) for each in measured)
    pairs = [set(map(tuple, np.unique(each, axis=0).tolist())) for each in measured]
    best = _best_sum if question.kind == "sum" else _best_mean
    greatest = best(pairs)
    least = best([{(-total, number) for total, number in of_group} for of_group in pairs])
    return None if least is None or greatest is None else (-least, greatest)


def truth_of(question: Question, groups: Iterable[Group]) -> Any:
    """Return the answer of the source; None for a sum or a mean of no rows."""
    measured = [question.measured(group, group.truth)[0] for group in groups]
    if question.kind == "count":
        return sum(map(int, measured))
    total, number = (sum(int(pair[end]) for pair in measured) for end in (0, 1))
    if not number:
        return None
    return total if question.kind == "sum" else Fraction(total, number)


def _best_sum(pairs: Sequence[set[tuple[Any, int]]]) -> Any:
    """Return the greatest sum of one pair of each group, of which some has rows, or None."""
    return _best(pairs, Fraction(0))[0]


def _best_mean(pairs: Sequence[set[tuple[Any, int]]]) -> Fraction | None:
    """Return the greatest sum divided by its number of rows, by Dinkelbach's steps."""
    mean, (_, total, number) = None, _best(pairs, Fraction(-(10**6)))
    while number and (mean is None or Fraction(total, number) > mean):
        mean = Fraction(total, number)
        _, total, number = _best(pairs, mean)
    return mean


def _best(pairs: Sequence[set[tuple[Any, int]]], price: Fraction) -> tuple[Any, Any, int]:
    """Return the greatest total - price x rows with at least one row, its total and its rows."""
    states: dict[bool, tuple[Any, Any, int]] = {False: (Fraction(0), 0, 0)}
    for of_group in pairs:
        following: dict[bool, tuple[Any, Any, int]] = {}
        for any_row, (_, total, rows) in states.items():
            for more, number in of_group:
                key, sums = any_row or number > 0, (total + more, rows + number)
                entry = (sums[0] - price * sums[1], *sums)
                if key not in following or entry > following[key]:
                    following[key] = entry
        states = following
    return states.get(True, (None, None, 0))


@dataclass
class Tally:
    """The number of pairs and of answers that were compared, and of those that were wrong.

    Attributes:
        pairs: pairs of tables.
        groups: their groups.
        answers: answers by the kind of question.
        outside: truths outside their bounds.
        narrower: bounds that leave out a world.
        not_attained: bounds that no world attains although the guide says so.
        wide: bounds that no world attains.
        exact: bounds with one number.
    """

    pairs: int = 0
    groups: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    outside: int = 0
    narrower: int = 0
    not_attained: int = 0
    wide: int = 0
    exact: int = 0


def compare(place: Path, seed: int, queries: int, tally: Tally) -> None:
    """Release wards, ask queries of them, and compare each answer with all worlds."""
    random = Random(seed)
    hospital = made_up_wards(random, WARDS, _LEAST[seed % len(_LEAST)])
    os.environ["SFUMATO_WORK"] = str(place / "work")  # of people whom no other release knows
    release = release_wards(place, hospital, seed)
    by_ward: dict[str, list[Group]] = defaultdict(list)
    for group in groups_of(release, hospital):
        by_ward[group.people[0].ward].append(group)
    tally.pairs += len(by_ward)
    tally.groups += sum(map(len, by_ward.values()))
    questions = [
        draw_question(random, tuple(random.sample([*by_ward], random.choice([1, 1, 1, 1, 2, 9]))))
        for _ in range(queries)
    ]
    answered = answers(open_release(release), [question.sql for question in questions])
    for question, answer in zip(questions, answered, strict=True):
        if isinstance(answer, QueryError | Fault):
            raise answer
        groups = [group for ward in question.wards for group in by_ward[ward]]
        (row,) = answer.rows
        _judge(question, groups, next(iter(row.values())), tally)


def _judge(question: Question, groups: Sequence[Group], value: Any, tally: Tally) -> None:
    """Compare one answer with the truth and with all worlds."""
    truth, ends = truth_of(question, groups), ends_in_worlds(question, groups)
    bounds = (value.lower, value.upper) if isinstance(value, Bounds) else (value, value)
    tally.answers[question.kind] += 1
    if ends is None:  # no world has rows
        tally.outside += bounds != (None, None)
        return
    lower, upper = (Fraction(end) for end in bounds)
    tally.outside += truth is not None and not lower <= truth <= upper
    tally.narrower += not (lower <= ends[0] and ends[1] <= upper)
    attained = (lower, upper) == (Fraction(ends[0]), Fraction(ends[1]))
    tally.not_attained += question.attained and not attained
    tally.wide += not attained
    tally.exact += lower == upper


def run(pairs: int, queries: int, first_seed: int = 1) -> Tally:
    """Compare so many pairs of tables by so many queries; return what was found."""
    tally, number = Tally(), 0
    of_each = -(-queries * WARDS // pairs)
    while tally.pairs < pairs or tally.answers.total() < queries:
        with tempfile.TemporaryDirectory() as folder:
            compare(Path(folder), first_seed + number, of_each, tally)
        number += 1
    return tally


def main() -> None:
    """Print how many answers were compared, and how many were wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.fsync = os.fstat  # nothing here must outlive the machine
    print(describe_machine())
    before = time.process_time()
    tally = run(options.pairs, options.queries, options.seed)
    print(f"{tally.pairs:,} pairs of tables in {tally.groups:,} groups")
    print(f"{tally.answers.total():,} answers: {dict(tally.answers)}")
    print(f"{tally.outside} truths outside their bounds")
    print(f"{tally.narrower} bounds narrower than the worlds")
    print(f"{tally.not_attained} not attained where the guide says so; {tally.wide} wider in all")
    print(f"{tally.exact:,} exact; {time.process_time() - before:.0f} CPU s")


if __name__ == "__main__":
    main()
