"""Queries of real releases that show numbers of stays: truths, all worlds, and exact answers."""

from collections import Counter, defaultdict
from fractions import Fraction
from random import Random

import duckdb
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.numbers.clinic import NUMBER, spec_of_numbers
from tests.numbers.worlds import ShownGroup, ends
from tests.related.drawn import HAS, JOIN, bounds_of_truths, drawn_query
from tests.related.hospital import made_up

YEAR = 12
SOME = "age BETWEEN 333 AND 477 AND sex = 'f'"
HOSPITAL = made_up(9, 300, ages=60 * YEAR)
ORIGINAL = f"""
    CREATE TABLE patients AS SELECT p.*, COALESCE(n, 0) AS {NUMBER} FROM people p
    LEFT JOIN (SELECT patient, COUNT(*) AS n FROM stays GROUP BY patient) USING (patient)
"""


@pytest.fixture(scope="module", params=["shuffled", "published"])
def hospital(request, tmp_path_factory):
    """The way in which numbers are shown, a release, and the original tables."""
    place = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        directory = release_here(spec_of_numbers(place, HOSPITAL, request.param))
    connection = duckdb.connect()
    connection.register("people", HOSPITAL.patients)
    connection.register("stays", HOSPITAL.stays)
    connection.execute(ORIGINAL)
    yield request.param, open_release(directory), connection
    connection.close()


def of_numbers(random: Random) -> str:
    """A query with a condition on the number of stays."""
    number = random.choice([f"{NUMBER} >= 2", f"{NUMBER} = 1", f"{NUMBER} BETWEEN 1 AND 3"])
    age = f"age >= {random.randint(20, 70) * YEAR}"
    keys, group = (f"{NUMBER}, ", f" GROUP BY {NUMBER}") if random.random() < 0.2 else ("", "")
    rows = random.choice(["COUNT(*)", "COUNT(DISTINCT patient)", "SUM(cost)", "AVG(cost)"])
    return random.choice(
        [
            f"SELECT {keys}COUNT(*) FROM patients WHERE {number} AND {age}{group}",
            f"SELECT SUM({NUMBER}) FROM patients WHERE {age}",
            f"SELECT {keys}{rows} {JOIN} WHERE {number} AND diagnosis = 'flu' AND {age}{group}",
            f"SELECT COUNT(*) FROM patients WHERE {number} AND {HAS.format('cost > 8')} AND {age}",
        ]
    )


def test_truths_lie_within_bounds(hospital):
    _, release, connection = hospital
    random = Random(4)
    queries = [drawn_query(random, YEAR) for _ in range(400)] + [
        of_numbers(random) for _ in range(150)
    ]
    compared = 0
    for query, answer in zip(queries, answers(release, queries), strict=True):
        assert not isinstance(answer, QueryError), (query, answer)
        truths = connection.execute(query).fetchall()
        if any(value is None or value != value for *_, value in truths):
            continue
        for bounds, holds in bounds_of_truths(answer, truths):
            assert holds, (query, bounds)
            compared += 1
    assert compared > 550


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        (f"SELECT COUNT(*) {JOIN} WHERE {SOME}", True),
        (f"SELECT sex, COUNT(*) {JOIN} WHERE age < 400 GROUP BY sex", True),
        (f"SELECT COUNT(DISTINCT patient) {JOIN} WHERE {SOME}", True),
        (f"SELECT COUNT(*) FROM patients WHERE {NUMBER} >= 2 AND {SOME}", True),
        (
            "WITH n AS (SELECT patient, COUNT(*) AS times FROM stays GROUP BY patient) "
            f"SELECT COUNT(*) FROM patients JOIN n USING (patient) WHERE times = 2 AND {SOME}",
            True,
        ),
        (f"SELECT 1.0 * COUNT(*) / COUNT(DISTINCT patient) {JOIN} WHERE {SOME}", True),
        (f"SELECT COUNT(*) {JOIN} WHERE {SOME} AND diagnosis = 'flu'", False),
        (f"SELECT SUM(cost) {JOIN} WHERE {SOME}", False),
    ],
)
def test_published_numbers_answer_exactly(hospital, query, exact):
    kind, release, connection = hospital
    (answer,) = answers(release, [query])
    for bounds, holds in bounds_of_truths(answer, connection.execute(query).fetchall()):
        assert holds
        assert kind == "shuffled" or (bounds.lower == bounds.upper) == exact, bounds


def groups_of(release) -> dict[int, tuple[list[tuple[int, str, int]], ShownGroup]]:
    """The small groups of a release: the ages of their people, and what files show."""
    data = release.directory / "data"
    people, rows = defaultdict(list), defaultdict(list)
    for person in pq.read_table(data / "patients.parquet").to_pylist():
        people[person["group_id"]].append((person["age"], person["sex"], person[NUMBER]))
    for row in pq.read_table(data / "stays.parquet").to_pylist():
        rows[row["group_id"]].append((row["diagnosis"], row["cost"]))
    groups = {}
    for number, each in people.items():
        numbers = tuple(n for _, _, n in each)
        if len(each) <= 4 and 0 < sum(numbers) <= 6:
            values, costs = zip(*rows[number], strict=True)
            groups[number] = (each, ShownGroup(numbers, values, costs))
    return groups


def questions(group: ShownGroup, hit: list[int], value: str, where: str):
    """Yield questions about some people of a group, each with its answer in a world."""
    rows = [i for i, other in enumerate(group.values) if other == value]

    def own(world):
        return [sum(world[row] == person for row in rows) for person in hit]

    def cost(world):
        costs = [group.amounts[row] for row in rows if world[row] in hit]
        return sum(costs) if costs else None

    of_value = f"diagnosis = '{value}'"
    people = f"SELECT COUNT(*) FROM patients WHERE {where} AND"
    twice = f"SELECT patient FROM stays WHERE {of_value} GROUP BY patient HAVING COUNT(*) >= 2"
    yield f"SELECT COUNT(*) {JOIN} WHERE {of_value} AND {where}", lambda w: sum(own(w))
    yield f"{people} {HAS.format(of_value)}", lambda w: sum(n > 0 for n in own(w))
    yield f"{people} NOT {HAS.format(of_value)}", lambda w: sum(n == 0 for n in own(w))
    yield f"{people} patient IN ({twice})", lambda w: sum(n > 1 for n in own(w))
    yield f"SELECT SUM(cost) {JOIN} WHERE {of_value} AND {where}", cost


def test_bounds_are_the_ends_of_all_worlds(hospital):
    """Whole queries of one group by its people, against the enumeration of what files admit."""
    kind, release, _ = hospital
    of_ages = Counter(person["age"] for person in HOSPITAL.patients.to_pylist())
    random, queries = Random(2), []
    expected: list[tuple[tuple[float, float] | None, bool]] = []
    for each, group in groups_of(release).values():
        some = [place for place, (age, _, _) in enumerate(each) if of_ages[age] == 1]
        if not some:
            continue
        hit = random.sample(some, random.randint(1, len(some)))
        where = f"age IN ({', '.join(str(each[place][0]) for place in hit)})"
        for query, measured in questions(group, hit, random.choice(group.values), where):
            queries.append(query)
            worlds = group.worlds(kind)
            expected.append((ends(worlds, measured), any(measured(w) is None for w in worlds)))
    attained = 0
    for query, answer, (both, is_empty) in zip(
        queries, answers(release, queries), expected, strict=True
    ):
        (bounds,) = answer.rows[0].values()
        if both is None:
            assert bounds.lower is None, query
            continue
        assert bounds.may_be_empty == is_empty or not query.startswith("SELECT SUM"), query
        assert Fraction(bounds.lower) <= both[0] <= both[1] <= Fraction(bounds.upper), query
        if bounds.attained:
            assert [Fraction(bounds.lower), Fraction(bounds.upper)] == [*map(Fraction, both)], query
            attained += 1
    assert attained > 60
