"""Questions that use facts beside stays in databases: the bounds of the engine, in four of them."""

from itertools import product
from random import Random

import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewriting import rewriter
from sfumato.tasks.sql.target import target
from sfumato.tasks.terms.opened import open_release
from tests.facts.clinic import clinic, spec_of_clinic, tables
from tests.flow_here import release_here
from tests.query.dialect_laws import LOCAL, SERVERS, address, assert_same_rows
from tests.query.test_exact_in_databases import sides
from tests.query.test_two_tables import COUNTED, require_outward
from tests.related.drawn import HAS, JOIN, of_persons_stays, of_stays

ALL = "COUNT(*), SUM(cost), AVG(cost), COUNT(DISTINCT patient)"
SOME_STAYS = HAS.format("cost > 3")
ASKED = (
    f"SELECT {ALL} {JOIN} WHERE readmitted AND age < 50",
    f"SELECT {ALL} {JOIN} WHERE times < 2 AND diagnosis = 'flu' AND age < 50",
    f"SELECT {ALL} {JOIN} WHERE NOT admitted",
    f"SELECT readmitted, {ALL} {JOIN} GROUP BY readmitted",
    f"SELECT readmitted, times, sex, COUNT(*), AVG(cost) {JOIN} WHERE age < 50 GROUP BY 1, 2, 3",
    f"SELECT times, diagnosis, COUNT(*), SUM(cost) {JOIN} WHERE flu_and_gout GROUP BY 1, 2",
    f"SELECT days_between, COUNT(*) {JOIN} GROUP BY 1",
    f"SELECT times, COUNT(*) FROM patients WHERE {SOME_STAYS} GROUP BY times ORDER BY times",
    f"SELECT times, COUNT(*) FROM patients WHERE NOT {SOME_STAYS} GROUP BY times",
    f"SELECT sex, COUNT(*) FROM patients WHERE readmitted AND {SOME_STAYS} AND NOT "
    f"{HAS.format('cost > 20')} GROUP BY sex",
    f"SELECT COUNT(*) FROM patients WHERE NOT admitted AND NOT {SOME_STAYS}",
    f"SELECT sex, COUNT(*) FROM patients WHERE (readmitted OR {SOME_STAYS}) AND age > 30 "
    "GROUP BY sex",
    COUNTED.format("COUNT(*)", "n.times BETWEEN 1 AND 2 AND flu_and_gout"),
    f"SELECT COUNT(*) FILTER (WHERE readmitted), COUNT(*) FILTER (WHERE {SOME_STAYS}), COUNT(*) "
    "FROM patients",
    f"SELECT 1.0 * COUNT(*) FILTER (WHERE readmitted) / COUNT(*) {JOIN} WHERE diagnosis = 'flu'",
    f"SELECT COUNT(*), SUM(cost) {JOIN} WHERE readmitted OR diagnosis = 'flu'",
    f"SELECT total_cost // 20 AS band, COUNT(*), SUM(cost) {JOIN} GROUP BY 1",
    "SELECT total_cost // 20 AS band, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1",
    f"SELECT COUNT(*) {JOIN} WHERE total_cost // 20 = 1 AND days_between IS NULL",
    "SELECT CASE WHEN times > 1 THEN 'often' ELSE 'once' END AS k, "
    f"COUNT(*) {JOIN} WHERE sex = 'f' GROUP BY 1",
    "SELECT readmitted, times, sex, COUNT(*) FROM patients WHERE flu_and_gout GROUP BY 1, 2, 3",
)
CLAUSES = ("COUNT(*) > 30", "SUM(cost) > 300 AND COUNT(*) < 90", "AVG(cost) >= 18")
FACTS = ("readmitted", "NOT readmitted", "times >= 2", "total_cost BETWEEN 5 AND 40", "admitted",
         "days_between > 20", "flu_and_gout IS TRUE", "total_cost IN (3, 7, 12)")  # fmt: skip
KEYS = ("readmitted", "times", "sex", "flu_and_gout")


def draw_question(random: Random) -> str:
    """A question that uses facts beside stays."""
    low = random.randint(18, 60)
    where = [*random.sample(FACTS, random.randint(1, 2)), f"age BETWEEN {low} AND {low + 25}"]
    keys = random.sample(KEYS, random.choice((0, 0, 1, 2)))
    keys_first, group = (
        "".join(f"{k}, " for k in keys),
        f" GROUP BY {', '.join(keys)}" if keys else "",
    )
    if random.random() < 0.5:
        where += [of_stays(random)]
        return f"SELECT {keys_first}{ALL} {JOIN} WHERE {' AND '.join(where)}{group}"
    where += [of_persons_stays(random) for _ in range(random.randint(1, 2))]
    condition = random.choice([" AND ", " AND ", " OR "]).join(where[-2:])
    rest = " AND ".join(where[:-2])
    return f"SELECT {keys_first}COUNT(*) FROM patients WHERE {rest} AND ({condition}){group}"


QUESTIONS = (*ASKED, *(draw_question(random) for random in [Random(4)] for _ in range(30)))


@pytest.fixture(scope="module")
def clinics(tmp_path_factory):
    """Releases with all facts: each shuffled by itself, and all together."""
    place, hospital, releases = tmp_path_factory.mktemp("clinics"), clinic(5, 160), {}
    with pytest.MonkeyPatch.context() as patch:
        for together in (False, True):
            patch.setenv("SFUMATO_WORK", str(place / f"work-{together}"))
            here = place / str(together)
            spec = spec_of_clinic(here, hospital, tables=tables(together=together))
            releases[together] = open_release(release_here(spec))
    return releases


@pytest.fixture(scope="module")
def questions(clinics):
    """The questions of each release, with the rewriter's query for a database, and the answer."""
    return {
        together: list(zip(QUESTIONS, answers(release, QUESTIONS), strict=True))
        for together, release in clinics.items()
    }


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_databases_give_the_bounds_of_the_engine(kind, together, clinics, questions, tmp_path):
    release, url = clinics[together], address(kind, tmp_path)
    load(release, url, replace=True)
    compared = 0
    with rewriter(release) as opened, target(url) as database:
        for query, answer in questions[together]:
            assert not isinstance(answer, QueryError), (query, answer)
            rows = database.execute(opened.sql(query, kind))
            assert_same_rows(rows, sides(answer), query)
            compared += require_outward(rows, answer, query) if answer.rows else 0
    assert compared > 300


@pytest.mark.parametrize("reading", ["possible", "certain"])
def test_certain_and_possible_rows_are_those_of_the_engine(reading, clinics):
    compared = 0
    with rewriter(clinics[0]) as opened:
        for keys, clause in product(("times", "readmitted, sex"), CLAUSES):
            query = f"SELECT {keys}, COUNT(*) {JOIN} WHERE age > 25 GROUP BY {keys} HAVING {clause}"
            (answer,) = answers(clinics[0], [query])
            expected = [
                row
                for row, certain in zip(sides(answer), answer.certain, strict=True)
                if certain or reading == "possible"
            ]
            rows = opened.connection.execute(opened.sql(query, "duckdb", reading)).fetchall()
            assert_same_rows(rows, expected, query)
            compared += len(rows)
    assert compared > 1


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT readmitted, SUM(times) AS n FROM patients GROUP BY readmitted", "for each value"),
        ("SELECT readmitted, AVG(age) AS n FROM patients GROUP BY readmitted", "for each value"),
        (f"SELECT COUNT(*) {JOIN} WHERE total_cost % 7 = LENGTH('x')", "`sfumato query`"),
        (f"SELECT MAX(cost) {JOIN} WHERE readmitted", "Ask for COUNT, SUM or AVG"),
        (
            f"SELECT sex, COUNT(*) {JOIN} GROUP BY sex HAVING COUNT(*) FILTER (WHERE admitted) > 9",
            "HAVING is about other rows than WHERE",
        ),
    ],
)
def test_what_is_not_written_is_refused_with_what_to_write(query, why, clinics):
    with rewriter(clinics[0]) as opened, pytest.raises(QueryError, match=why):
        opened.sql(query)
