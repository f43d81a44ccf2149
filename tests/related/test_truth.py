"""Queries of a real release of two tables, against the same SQL on the original tables."""

from random import Random

import duckdb
import pytest

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.question.question import ROWS
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.related.drawn import HAS, bounds_of_truths, drawn_query
from tests.related.hospital import made_up, spec_with

_HAS_STAYS = "SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM stays WHERE "
_AMONG = "SELECT COUNT(*) FROM patients WHERE patient IN (SELECT "
_COUNTED = (
    "WITH n AS (SELECT patient, COUNT(*) AS times FROM stays GROUP BY patient) "
    "SELECT COUNT(*) FROM patients JOIN n USING (patient) WHERE "
)


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
        for bounds, holds in bounds_of_truths(answer, connection.execute(query).fetchall()):
            assert holds, (query, bounds)
            answered += 1
            narrow += bounds.lower != bounds.upper
    assert answered > 700
    assert narrow > 300


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM patients p JOIN stays s ON p.patient = s.patient AND cost > 3",
        "SELECT SUM(cost) FROM stays s JOIN patients p ON (p.patient = s.patient AND (age > 30 OR "
        "cost < 9)) WHERE sex = 'f'",
        "SELECT COUNT(*) FROM patients, stays WHERE stays.patient = patients.patient AND age > 40",
        f"{_HAS_STAYS}patient = patients.patient AND cost > 5)",
        f"{_COUNTED}times BETWEEN 2 AND 3",
        f"{_COUNTED}times IN (1, 3) AND age > 40",
        f"{_COUNTED}times NOT IN (1, 3) AND NOT times BETWEEN 5 AND 6",
        f"{_COUNTED.replace('times', 'age')}n.age >= 2 AND patients.age > 30",
    ],
)
def test_other_ways_of_writing_the_same(hospital, query):
    release, connection = hospital
    (answer,) = answers(release, [query])
    ((bounds, holds),) = bounds_of_truths(answer, connection.execute(query).fetchall())
    assert holds, bounds
    assert bounds.upper > 0


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
            f"SELECT COUNT(*) FROM patients WHERE {HAS.format('cost > age')}",
            "unknown column",
        ),
        (f"SELECT AVG(age) FROM patients WHERE {HAS.format('cost > 3')}", "only COUNT"),
        (f"SELECT COUNT(*) FROM stays WHERE {HAS.format('cost > 3')}", "EXISTS"),
        ("SELECT COUNT(DISTINCT patient) FROM stays WHERE dose > 3", "unknown column"),
        ("SELECT COUNT(*) FROM patients, stays WHERE patients.patient = patients.patient", "key"),
        ("SELECT COUNT(*) FROM patients JOIN stays ON stays.patient = stays.patient", "key"),
        ("SELECT COUNT(*) FROM patients p JOIN stays s ON p.patient = s.patient OR age > 3", "key"),
        (f"{_HAS_STAYS}stays.patient = stays.patient)", "belong to the person"),
        (f"{_HAS_STAYS}patient = patient)", "belong to the person"),
        (f"{_HAS_STAYS}stays.patient = patients.patient OR cost > 5)", "belong to the person"),
        (
            f"{_HAS_STAYS.replace('1', 'COUNT(*)')}patient = patients.patient)",
            "belong to the person",
        ),
        (f"{_AMONG}diagnosis FROM stays)", "selects patient"),
        (f"{_AMONG}patient FROM stays GROUP BY patient, cost HAVING COUNT(*) > 1)", "by it"),
        (f"{_AMONG}patient FROM stays GROUP BY patient HAVING COUNT(*) >= 1.5)", "whole number"),
        (f"{_COUNTED}times >= 1.5", "whole number"),
        ("SELECT COUNT(*) FROM stays WHERE age > 60", "is in patients"),
        ("SELECT AVG(patients.cost) FROM patients JOIN stays USING (patient)", "is in stays"),
        (f"{_COUNTED.replace('times', 'age')}age > 30", "is also a column of the release"),
        ("SELECT COUNT(*) FROM patients NATURAL JOIN stays", "Write patients JOIN stays USING"),
        (
            "SELECT COUNT(DISTINCT CASE WHEN cost > 3 THEN patient END) FROM stays",
            "COUNT(DISTINCT patient) FILTER (WHERE …)",
        ),
        ("SELECT patients.* FROM patients", "SELECT age, COUNT(*) … GROUP BY age"),
        ("SELECT COUNT(stays.*) FROM stays", "SELECT diagnosis, COUNT(*) … GROUP BY diagnosis"),
        (
            "SELECT stays.times, COUNT(*) FROM stays GROUP BY stays.times",
            "Published: stays has diagnosis, cost",
        ),
        (
            "SELECT diagnosos, COUNT(*) FROM patients JOIN stays USING (patient) GROUP BY 1",
            "did you mean 'diagnosis'? Published: patients has age, sex; stays has",
        ),
        (
            "SELECT COUNT(*) FROM patients GROUP BY stays.cost",
            "no table 'stays' in this query. Ask",
        ),
        (
            f"{_COUNTED.replace('SELECT COUNT(*)', 'SELECT times, COUNT(*)')}age > 3",
            "in WHERE. For",
        ),
        (f"{_COUNTED.replace('SELECT COUNT(*)', 'SELECT AVG(n.times)')}age > 3", "in WHERE"),
    ],
)
def test_other_queries_are_refused_with_what_to_ask(hospital, query, why):
    (answer,) = answers(hospital[0], [query])
    assert isinstance(answer, QueryError)
    assert why in str(answer)


@pytest.mark.parametrize("counted", ["patients", "stays", "patients JOIN stays USING (patient)"])
def test_more_rows_than_were_published_are_no_answer(hospital, counted, monkeypatch):
    release, _ = hospital
    most = max(
        release.declared.rows.published,
        release.declared.related_rows.published,
    )
    query = f"SELECT COUNT(*) FROM {counted}"
    monkeypatch.setattr(
        "sfumato.tasks.query.engines.related.RelatedEngine.ask",
        lambda self, question, estimates: {(): {ROWS: Bounds(0, most)}},
    )
    (answer,) = answers(release, [query])
    assert [bounds.upper for bounds in answer.rows[0].values()] == [most]
    monkeypatch.setattr(
        "sfumato.tasks.query.engines.related.RelatedEngine.ask",
        lambda self, question, estimates: {(): {ROWS: Bounds(0, most + 1)}},
    )
    (answer,) = answers(release, [query])
    assert isinstance(answer, Fault)


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
