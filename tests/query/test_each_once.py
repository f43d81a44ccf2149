"""SELECT DISTINCT: the rows of GROUP BY without an aggregate, in every form and rewritten."""

from collections import defaultdict

import pyarrow.compute as pc
import pytest
from sqlglot import exp

import sfumato
from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer, answer_on
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.parse import literal
from sfumato.tasks.terms.opened import open_release
from tests.corpus.lines import CORPUS
from tests.query.test_language_of_worlds import all_worlds

__all__ = ["all_worlds"]

FROZEN = sorted((CORPUS / "format-0" / "public").glob("*/0001"))
ROWS = [place for place in FROZEN if place.parent.name.endswith(("-permuted", "-split"))]
TABLE_OF = {"corpus-permuted": "microdata", "corpus-split": "st"}
EACH_ONCE = (
    (1, "SELECT DISTINCT sex FROM microdata"),
    (1, "SELECT DISTINCT age FROM microdata WHERE loss > 1 ORDER BY age"),
    (2, "SELECT DISTINCT age, sex FROM microdata WHERE loss > 0"),
    (1, "SELECT DISTINCT loss FROM microdata WHERE age > 0"),
    (1, "SELECT DISTINCT age > 0 AS grown FROM microdata WHERE loss = 0"),
    (1, "SELECT age FROM microdata WHERE loss > 0 GROUP BY age HAVING SUM(loss) > 1"),
)


@pytest.mark.parametrize(("columns", "query"), EACH_ONCE)
def test_rows_are_those_of_some_world_and_certain_ones_of_every_world(all_worlds, columns, query):
    answer = answer_on(all_worlds.tables, all_worlds.declared, query)
    rows = [tuple(row.values()) for row in answer.rows]
    assert len(set(rows)) == len(rows)
    assert all(len(row) == columns for row in rows)
    present = defaultdict(int)
    for of_world in all_worlds.answers(query):
        for row in of_world:
            present[row] += 1
    assert set(present) <= set(rows)
    for row, sure in zip(rows, answer.certain, strict=True):
        assert not sure or present[row] == all_worlds.number


@pytest.mark.parametrize("place", FROZEN, ids=lambda place: place.parent.name)
@pytest.mark.parametrize("where", ["", " WHERE sex = 'Male'"])
def test_they_are_the_groups_of_group_by_in_every_form(place, where):
    release = open_release(place)
    name = "occupation" if place.parent.name == "corpus-suppressed" else "sex"
    once = answer(release, f"SELECT DISTINCT {name} FROM microdata{where}")
    grouped = answer(release, f"SELECT {name}, COUNT(*) FROM microdata{where} GROUP BY {name}")
    assert once.rows
    assert [row[name] for row in once.rows] == [row[name] for row in grouped.rows]
    assert once.certain == grouped.certain


@pytest.mark.parametrize("place", ROWS, ids=lambda place: place.parent.name)
@pytest.mark.parametrize("where", ["", " WHERE age > 40", " WHERE SENSITIVE AND age < 30"])
def test_rewritten_sql_gives_the_same_rows(place, where):
    """Both readings: rows that may be there, and those that surely are."""
    release = sfumato.open(place)
    declared = open_release(place).declared
    sensitive = declared.names_with_roles("sensitive")[0]
    values = pc.value_counts(release.tables[TABLE_OF[place.parent.name]][sensitive])
    often = literal(max(values.to_pylist(), key=lambda item: item["counts"])["values"])
    condition = exp.EQ(this=exp.column(sensitive, quoted=True), expression=often).sql("duckdb")
    query = f"SELECT DISTINCT sex, age FROM microdata{where.replace('SENSITIVE', condition)}"
    answer = release.query(query)
    rows = [tuple(row.values()) for row in answer]
    assert rows
    with release.connect() as connection:
        for reading in ("possible", "certain"):
            returned = connection.sql(rewrite(query, declared, reading).sql("duckdb")).fetchall()
            sure = [reading == "possible" or certain for certain in answer.certain]
            certain_rows = {row for row, stays in zip(rows, sure, strict=True) if stays}
            assert set(returned) == certain_rows
            assert len(returned) == len(certain_rows)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "SELECT DISTINCT COUNT(*) FROM microdata",
            "DISTINCT together with GROUP BY or an aggregate",
        ),
        ("SELECT DISTINCT sex FROM microdata GROUP BY sex", "DISTINCT together with GROUP BY"),
        ("SELECT DISTINCT ON (sex) age FROM microdata", "DISTINCT ON"),
        ("SELECT DISTINCT * FROM microdata", r"SELECT \*"),
        ("SELECT DISTINCT 1 FROM microdata", "GROUP BY needs columns"),
    ],
)
def test_what_is_refused(all_worlds, query, why):
    with pytest.raises(QueryError, match=why):
        answer_on(all_worlds.tables, all_worlds.declared, query)
