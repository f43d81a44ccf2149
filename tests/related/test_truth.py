"""Queries of a real release of two tables, against the same SQL on the original tables."""

from fractions import Fraction
from random import Random

import duckdb
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.related.hospital import DIAGNOSES, made_up, spec_with

_JOIN = "FROM patients JOIN stays USING (patient)"
_OF_ROWS = ("COUNT(*)", "COUNT(DISTINCT patient)", "SUM(cost)", "AVG(cost)")
_HAS = "EXISTS (SELECT 1 FROM stays WHERE stays.patient = patients.patient AND {})"


def of_people(random: Random) -> str:
    low = random.randint(18, 70)
    return random.choice(
        [f"age >= {low}", f"age BETWEEN {low} AND {low + 15}", "sex = 'f'", f"NOT age < {low}"]
    )


def of_stays(random: Random) -> str:
    first, second = random.sample(DIAGNOSES, 2)
    return random.choice(
        [f"diagnosis = '{first}'", f"diagnosis IN ('{first}', '{second}')", "cost > 10"]
    )


def of_persons_stays(random: Random) -> str:
    kind = of_stays(random)
    times = random.randint(1, 3)
    counted = f"SELECT patient FROM stays WHERE {kind} GROUP BY patient HAVING COUNT(*) >= {times}"
    has = random.choice([_HAS.format(kind), f"patients.patient IN ({counted})"])
    return random.choice([has, f"NOT {has}"])


def drawn_query(random: Random) -> str:
    """Return a query of one of the shapes that are answered."""
    grouped = random.random() < 0.3
    keys, group = ("sex, ", " GROUP BY sex") if grouped else ("", "")
    shape = random.choice(["rows", "rows", "people", "people", "counted", "stays", "parts"])
    if shape == "stays":
        return f"SELECT {random.choice(_OF_ROWS)} FROM stays WHERE {of_stays(random)}"
    if shape == "rows":
        where = " AND ".join(random.sample([of_people(random), of_stays(random)], 2))
        return f"SELECT {keys}{random.choice(_OF_ROWS)} {_JOIN} WHERE {where}{group}"
    if shape == "counted":
        compared = random.choice([">= 2", "> 1", "= 1", "= 2", "< 3", "<= 1"])
        query = "SELECT patient, COUNT(*) AS times FROM stays GROUP BY patient"
        return (
            f"WITH n AS ({query}) SELECT {keys}COUNT(*) FROM patients JOIN n USING (patient) "
            f"WHERE times {compared} AND {of_people(random)}{group}"
        )
    if shape == "parts":
        some = f"COUNT(*) FILTER (WHERE {of_stays(random)})"
        return f"SELECT {keys}1.0 * {some} / COUNT(*) {_JOIN} WHERE {of_people(random)}{group}"
    joined = random.choice([" AND ", " OR "])
    where = joined.join(
        random.sample([of_people(random), of_persons_stays(random), of_persons_stays(random)], 2)
    )
    return f"SELECT {keys}COUNT(*) FROM patients WHERE {where}{group}"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """A release, and a database with the original tables."""
    place = tmp_path_factory.mktemp("hospital")
    tables = made_up(5, 300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place / "work"))
        release = release_here(spec_with(place, tables))
    connection = duckdb.connect()
    connection.register("patients", tables.patients)
    connection.register("stays", tables.stays)
    yield open_release(release), connection
    connection.close()


def test_truths_lie_within_bounds(hospital):
    release, connection = hospital
    random = Random(11)
    queries = [drawn_query(random) for _ in range(700)]
    answered, narrow = 0, 0
    for query, answer in zip(queries, answers(release, queries), strict=True):
        assert not isinstance(answer, QueryError), (query, answer)
        truth = connection.execute(query).fetchall()
        for row in truth:
            *key, value = row
            cells = [r for r in answer.rows if list(r.values())[:-1] == key]
            assert len(cells) == 1, query
            bounds = list(cells[0].values())[-1]
            number = None if value is None else value
            if isinstance(number, float):
                low, high = float(bounds.lower), float(bounds.upper)
                assert low - 1e-9 <= number <= high + 1e-9, query
            else:
                assert number in bounds or Fraction(number) in bounds, (query, bounds, value)
            answered += 1
            narrow += bounds.lower != bounds.upper
    assert answered > 700
    assert narrow > 300


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT COUNT(*) FROM microdata", "unknown table"),
        ("SELECT COUNT(*) FROM patients LEFT JOIN stays USING (patient)", "LEFT JOIN"),
        ("SELECT COUNT(*) FROM stays a JOIN stays b USING (patient)", "with each other"),
        ("SELECT COUNT(*) FROM patients JOIN stays USING (age)", "joined by their key"),
        ("SELECT COUNT(*) FROM patients, stays", "joined by their key"),
        ("SELECT AVG(age) FROM patients JOIN stays USING (patient)", "once for each row"),
        ("SELECT MEDIAN(cost) FROM stays", "has no bounds yet"),
        ("SELECT patient, COUNT(*) FROM stays GROUP BY patient", "in no published table"),
        (
            "SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM stays WHERE cost > 3)",
            "belong to the person",
        ),
        (
            f"SELECT COUNT(*) FROM patients WHERE {_HAS.format('cost > age')}",
            "unknown column",
        ),
        (f"SELECT AVG(age) FROM patients WHERE {_HAS.format('cost > 3')}", "only COUNT"),
        (f"SELECT COUNT(*) FROM stays WHERE {_HAS.format('cost > 3')}", "EXISTS"),
        ("SELECT COUNT(DISTINCT patient) FROM stays WHERE dose > 3", "unknown column"),
    ],
)
def test_other_queries_are_refused_with_what_to_ask(hospital, query, why):
    (answer,) = answers(hospital[0], [query])
    assert isinstance(answer, QueryError)
    assert why in str(answer)


def test_one_table_alone_is_exact(hospital):
    release, connection = hospital
    for query in (
        "SELECT COUNT(*) FROM stays WHERE diagnosis = 'flu'",
        "SELECT AVG(cost) FROM stays",
        "SELECT COUNT(*) FROM patients WHERE age > 40",
        "SELECT MAX(age) FROM patients WHERE sex = 'f'",
    ):
        (answer,) = answers(release, [query])
        (bounds,) = answer.rows[0].values()
        assert bounds.is_exact
        assert float(bounds.lower) == pytest.approx(float(connection.execute(query).fetchone()[0]))
