"""SQL over the rows of one person: what is allowed, and its values against SQL by hand."""

import re
from decimal import Decimal
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError, QueryError, SpecError
from sfumato.tasks.microdata.derived import require_types, with_facts
from sfumato.tasks.microdata.table import Microdata, OwnedRows, encode
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.sql.of_person import one_line, parse_of_person
from tests.facts.clinic import FACTS, clinic, originals

COLUMNS = {
    "day": ColumnSpec(role="drop", type="date"),
    "diagnosis": ColumnSpec(role="sensitive"),
    "cost": ColumnSpec(role="sensitive", type="integer"),
}


def fact(sql: str, kind: str = "integer", **more) -> ColumnSpec:
    return ColumnSpec(role="sensitive", type=kind, derive=sql, **{"nulls": "category", **more})


def people_with_stays(hospital, order=None) -> Microdata:
    """People with their stays as the product has them, rows in another order if one is given."""
    names = hospital.patients["patient"].to_pylist()
    place = {name: number for number, name in enumerate(names)}
    owner = np.array([place[name] for name in hospital.stays["patient"].to_pylist()], np.int64)
    order = np.arange(len(owner)) if order is None else order
    columns = tuple(
        encode(name, column.role, hospital.stays[name].take(pa.array(order)))
        for name, column in COLUMNS.items()
    )
    people = (encode("patient", "identifier", hospital.patients["patient"]),)
    rows = OwnedRows(owner[order], Microdata(columns, len(owner)))
    return Microdata(people, len(names), related=rows)


def values(hospital, sql: str, kind: str = "integer", order=None) -> list:
    made = with_facts(
        people_with_stays(hospital, order), {"x": fact(sql, kind)}, "stays", COLUMNS, "refuse"
    )
    return made.people["x"].array().to_pylist()


@pytest.mark.parametrize("name", FACTS)
def test_facts_are_those_of_sql_by_hand(name):
    kind, sql = FACTS[name]
    for seed in range(3):
        hospital = clinic(seed, 60)
        connection = originals(hospital)
        expected = connection.execute(f"SELECT patient, {name} FROM patients").fetchall()
        by_name = dict(expected)
        names = hospital.patients["patient"].to_pylist()
        assert values(hospital, sql, kind) == [by_name[person] for person in names]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT DISTINCT diagnosis FROM stays WHERE cost > 3) AS d",
        "SELECT MAX(n) FROM (SELECT diagnosis, COUNT(*) AS n FROM stays GROUP BY diagnosis)",
        "SELECT SUM(cost) FROM (SELECT cost, ROW_NUMBER() OVER (ORDER BY cost DESC, day, diagnosis)"
        " AS r FROM stays) WHERE r <= 2",
        "SELECT COUNT(*) FROM (SELECT cost FROM stays QUALIFY RANK() OVER (ORDER BY cost) = 1)",
        "SELECT MAX(run) FROM (SELECT SUM(cost) OVER (PARTITION BY diagnosis ORDER BY day) AS run "
        "FROM stays)",
        "SELECT COUNT(*) FILTER (WHERE longest > 20) FROM (SELECT MAX(gap) OVER () AS longest FROM "
        "(SELECT day - LAG(day) OVER (ORDER BY day) AS gap FROM stays))",
        "CAST(ROUND(AVG(cost) FILTER (WHERE diagnosis LIKE 'f%')) AS INTEGER)",
        "COUNT(DISTINCT diagnosis) - COUNT_IF(cost > 10)",
        "CASE WHEN COUNT(*) > 1 THEN MAX(cost) - MIN(cost) END",
    ],
)
def test_one_query_for_everybody_gives_what_one_for_each_person_gives(sql):
    """The oracle runs the SQL as it is written, on a table of one person's rows alone."""
    text = sql if sql.startswith("SELECT") else f"SELECT {sql} FROM stays"
    for seed in range(2):
        hospital = clinic(seed, 25)
        computed = values(hospital, sql)
        with duckdb.connect() as connection:
            connection.register("all_stays", hospital.stays)
            for person, value in zip(
                hospital.patients["patient"].to_pylist(), computed, strict=True
            ):
                connection.execute(
                    "CREATE OR REPLACE TABLE stays AS SELECT * FROM all_stays WHERE patient = ?",
                    [person],
                )
                assert connection.execute(text).fetchone()[0] == value, (person, sql)


def test_rows_in_another_order_give_the_same():
    """Rows that an ORDER BY leaves equal are told apart by all their values."""
    hospital = clinic(2, 40, most=6)
    numbered = "SELECT cost, ROW_NUMBER() OVER (ORDER BY diagnosis) AS r FROM stays"
    sql = f"SELECT SUM(cost * r) FROM ({numbered})"
    expected = values(hospital, sql)
    for seed in range(3):
        order = list(range(hospital.stays.num_rows))
        Random(seed).shuffle(order)
        assert values(hospital, sql, order=np.array(order)) == expected


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("cost", "every column is in an aggregate"),
        ("1", "every column is in an aggregate"),
        ("COUNT(*) + random()", "RANDOM"),
        ("COUNT(*) FILTER (WHERE day < current_date)", "CURRENT_DATE"),
        ("COUNT(*) FILTER (WHERE day < today())", "CURRENT_DATE"),
        ("SELECT COUNT(*) FROM patients", "unknown table 'patients'. It may read stays"),
        ("SELECT COUNT(*) FROM 'a.csv'", "unknown table"),
        ("SELECT COUNT(*) FROM read_csv('a.csv')", "this FROM"),
        ("SELECT COUNT(*) FROM main.stays", "this FROM"),
        ("SELECT COUNT(*) FROM stays a JOIN stays b USING (day)", "JOINS"),
        ("SELECT COUNT(*) FROM stays, stays b", "JOINS"),
        ("SELECT COUNT(*) FROM stays UNION ALL SELECT 2", "UNION"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM stays", "WITH"),
        ("(SELECT COUNT(*) FROM stays)", "SUBQUERY"),
        ("BOOL_OR(diagnosis IN (SELECT diagnosis FROM stays))", "IN with a query"),
        ("COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM stays))", "EXISTS"),
        ("SELECT COUNT(*) FROM (SELECT day FROM stays LIMIT 1)", "LIMIT"),
        ("SELECT COUNT(*) FROM (SELECT day FROM stays ORDER BY day)", "ORDER"),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM stays)", "aggregates of all rows"),
        ("SELECT COUNT(*) FROM (SELECT day FROM stays GROUP BY 1)", "GROUP BY of anything"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT ON (day) day FROM stays)", "DISTINCT ON"),
        ("SELECT COUNT(*) FROM (SELECT * FROM stays)", "names no columns"),
        ("SELECT COUNT(*), 2 FROM stays", "one column for each fact"),
        ("SUM(COUNT(*)) OVER ()", "a window beside"),
        ("LAG(day)", "without OVER"),
        ("ANY_VALUE(cost)", "not allowed"),
        ("STRING_AGG(diagnosis, ',')", "not allowed"),
        ("LIST(cost)[1]", "not allowed"),
        ("getenv('HOME') = MAX(diagnosis)", "getenv"),
        ("CAST(COUNT(*) AS JSON)", "the type JSON"),
        ("SUM($1)", "PLACEHOLDER"),
        ("SUM(cots)", "unknown column 'cots'. It can read"),
        ("MAX(patient)", "unknown column 'patient'"),
        ("SELECT COUNT(*) FROM stays; DROP TABLE stays", "syntax error|one statement"),
        ("COUNT(*) -- all", "comments"),
        ("COUNT(", "syntax error"),
        ("", "nothing is written"),
    ],
)
def test_everything_else_is_refused_by_name(sql, why):
    with pytest.raises(QueryError, match=why):
        parse_of_person(sql, "stays", list(COLUMNS))


def test_columns_that_are_read_are_known_by_their_exact_names():
    sql = "SELECT COUNT(*) FROM (SELECT DISTINCT Diagnosis AS day FROM stays s WHERE s.COST > 3)"
    assert parse_of_person(sql, "stays", list(COLUMNS)).columns == {"diagnosis", "cost"}


def test_one_line_keeps_what_is_within_quotes():
    assert one_line(" COUNT( * )\n  FILTER (WHERE a = 'x  y'\n) ") == (
        "COUNT( * ) FILTER (WHERE a = 'x  y' )"
    )


@pytest.mark.parametrize(
    ("sql", "kind", "why"),
    [
        ("AVG(cost)", "integer", "floating-point numbers.*CAST\\(… AS BIGINT\\)"),
        ("AVG(cost)", "decimal", "CAST\\(… AS DECIMAL"),
        ("COUNT(*)", "boolean", "write|Write `type: integer`"),
        ("COUNT(*) > 1", "integer", "Write `type: boolean`"),
        ("MAX(diagnosis)", "integer", "texts"),
        ("SUM(diagnosis)", "integer", "does not fit the types"),
        ("MAX(day) + MAX(day)", "integer", "does not fit the types"),
    ],
)
def test_types_are_known_before_anything_is_read(sql, kind, why):
    with pytest.raises(SpecError, match=f"columns.x.derive: .*{why}"):
        require_types({"x": fact(sql, kind)}, "stays", COLUMNS)


def test_decimals_stay_exact():
    hospital = clinic(1, 20)
    computed = values(hospital, "CAST(SUM(cost) AS DECIMAL(18, 2))", "decimal")
    assert computed == [
        None if value is None else Decimal(value) for value in values(hospital, "SUM(cost)")
    ]


def test_a_value_that_cannot_be_computed_is_told_without_it():
    hospital = clinic(1, 30)
    with pytest.raises(
        InputError, match=r"columns\.x\.derive: a value cannot be converted"
    ) as error:
        values(hospital, "MAX(CAST(diagnosis AS INTEGER))")
    assert not re.search("flu|gout|asthma|cancer", str(error.value))


def test_who_has_no_rows_has_what_aggregates_give_for_none():
    hospital = clinic(4, 40)
    connection = originals(hospital)
    none = {
        n for (n,) in connection.execute("SELECT patient FROM patients WHERE times = 0").fetchall()
    }
    names = hospital.patients["patient"].to_pylist()
    assert none
    for sql, kind, expected in (
        ("COUNT(*)", "integer", 0),
        ("SUM(cost)", "integer", None),
        ("BOOL_OR(cost > 3)", "boolean", None),
        ("COALESCE(SUM(cost), -1)", "integer", -1),
    ):
        computed = dict(zip(names, values(hospital, sql, kind), strict=True))
        assert {computed[name] for name in none} == {expected}


@pytest.mark.parametrize("policy", ["refuse", "drop-row", "category"])
def test_people_without_a_value_follow_the_null_policy(policy):
    hospital = clinic(4, 40)
    people = people_with_stays(hospital)
    facts = {"x": fact("SUM(cost)", nulls=policy)}
    without = people.rows - len(set(people.related.owner.tolist()))
    if policy == "refuse":
        with pytest.raises(InputError, match=rf"columns.x: {without} people have no value"):
            with_facts(people, facts, "stays", COLUMNS, "refuse")
        return
    made = with_facts(people, facts, "stays", COLUMNS, "refuse")
    assert made.without_value == (without if policy == "drop-row" else 0)
    assert made.people.rows == people.rows - made.without_value
    assert made.people.related.table.rows == people.related.table.rows
