"""Shapes of query that are read as something narrower: each is that, in every world.

A CASE becomes a condition on rows, a quotient a mean or a proportion, a sum a whole number. What a
shape is taken for has to be the same under SQL's semantics: with nulls, with constants other than
1, with weights, of no rows.
"""

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import isfinite

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.question.formulas import PartAggregate
from tests.query.test_language_of_forms import FORMS as OTHER_FORMS
from tests.query.test_language_of_forms import by_key, every_world, values_outside
from tests.query.test_language_of_worlds import AllWorlds, ends, extremes
from tests.query.test_matched import FORMS
from tests.query.worlds import column, declare, with_help

SHAPES = (
    (
        0,
        "SELECT AVG(CASE WHEN loss = 2 THEN 1 ELSE 0 END) FROM microdata WHERE age = 1 OR loss = 2",
    ),
    (
        1,
        "SELECT sex, AVG(CASE WHEN loss > 0 THEN 100 ELSE 0 END) FROM microdata "
        "WHERE NOT (age = 1 AND loss < 0) GROUP BY sex",
    ),
    (
        0,
        "SELECT AVG(CASE WHEN loss > 0 THEN 1 ELSE 0 END) FROM microdata WHERE age > 9 OR loss > 9",
    ),
    (
        0,
        "SELECT AVG(CASE WHEN loss > 0 OR age = 1 THEN 1 ELSE -1 END) FROM microdata WHERE age < 2",
    ),
    (0, "SELECT AVG(CASE WHEN age > 0 THEN loss ELSE 0 END) FROM microdata WHERE loss > -2"),
    (
        0,
        "SELECT SUM(CASE WHEN age > 0 THEN 100 ELSE 0 END) / (SELECT COUNT(*) FROM microdata) "
        "FROM microdata",
    ),
    (
        1,
        "SELECT sex, SUM(CASE WHEN loss > 0 THEN 0.5 ELSE 0 END) / SUM(COUNT(*)) OVER () "
        "FROM microdata GROUP BY sex",
    ),
    (
        0,
        "SELECT SUM(CASE WHEN loss > 0 THEN 1 END) / COUNT(*), "
        "COUNT(*) FILTER (WHERE loss > 0 AND age = 1) * 100.0 / NULLIF(COUNT(*), 0), "
        "COUNT(*) FILTER (WHERE loss > 0) / COUNT(*) FILTER (WHERE loss <> 0) "
        "FROM microdata WHERE age > 0 OR loss > 1",
    ),
    (
        0,
        "SELECT SUM(gain) / COUNT(loss), SUM(loss) / COUNT(gain), SUM(loss) / COUNT(*) "
        "FROM microdata",
    ),
    (0, "SELECT SUM(loss) / COUNT(sex), SUM(loss) / COUNT(loss) FROM microdata WHERE age < 2"),
    (0, "SELECT COUNT(*) / SUM(gain * (age * .25)), COUNT(loss) / COUNT(*) FROM microdata"),
    (
        0,
        "SELECT NULLIF(SUM(gain * (age * .25)), 0), NULLIF(SUM(gain * (age * 4)), 0) "
        "FROM microdata",
    ),
    (
        0,
        "SELECT SUM(CASE WHEN age = 1 THEN loss ELSE 0 END), "
        "COALESCE(SUM(CASE WHEN age = 1 THEN loss ELSE 0 END), -3) FROM microdata WHERE age < 2",
    ),
    (
        1,
        "SELECT age, SUM(CASE WHEN loss > -5 THEN loss ELSE 0 END), SUM(loss), "
        "COALESCE(SUM(loss), 0) FROM microdata WHERE loss > 0 GROUP BY age",
    ),
    (
        1,
        "SELECT sex, SUM(CASE WHEN loss > 0 THEN 1 ELSE 0 END), "
        "SUM(CASE WHEN loss > 0 THEN -1 END) FROM microdata WHERE gain > 0 GROUP BY sex",
    ),
    (
        0,
        "SELECT COUNT(CASE WHEN loss > 0 THEN NULL END), SUM(5), "
        "AVG(CASE WHEN loss > 1 THEN 3 END) FROM microdata WHERE gain > 1 AND age = 1",
    ),
    (
        1,
        "SELECT age, SUM(CASE WHEN loss > 0 AND age = 1 THEN 3 ELSE 1 END), "
        "MIN(CASE WHEN age = 1 THEN loss END) FROM microdata GROUP BY age",
    ),
)


def as_float(value):
    return float(value) if isinstance(value, Decimal) else value


@pytest.fixture(scope="module", params=[(*f, n) for f in FORMS for n in (False, True)], ids=str)
def all_worlds(request):
    form, sensitive, nulls = request.param
    return AllWorlds(form, sensitive, 21, nulls=nulls)


@pytest.mark.parametrize(("keys", "query"), SHAPES, ids=range(len(SHAPES)))
def test_shapes_hold_what_every_world_answers(all_worlds, keys, query):
    rows_by_key, answer = (
        defaultdict(list),
        answer_on(all_worlds.tables, all_worlds.declared, query),
    )
    for rows in all_worlds.answers(query):
        for row in rows:
            rows_by_key[row[:keys]].append(tuple(map(as_float, row[keys:])))
    assert values_outside(answer, rows_by_key, keys, all_worlds.number) == []
    for row in answer.rows:
        key, bounds = tuple(row.values())[:keys], tuple(row.values())[keys:]
        always = len(rows_by_key[key]) == all_worlds.number
        for place, bounds_of_value in enumerate(bounds):
            if bounds_of_value.attained:
                assert ends(bounds_of_value, always) == pytest.approx(
                    extremes(bounds_of_value, rows_by_key[key], place, always)
                )


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize("form", OTHER_FORMS)
def test_shapes_on_other_forms_hold_what_every_world_answers(form, seed):
    tables, declared, worlds = OTHER_FORMS[form][0](seed)
    every = every_world(islice(worlds, 120), declared)
    for keys, query in COUNTED:
        answer = answer_on(tables, declared, query)
        rows_by_key = by_key(every.answers(query), keys)
        for rows in rows_by_key.values():
            rows[:] = [tuple(map(as_float, values)) for values in rows]
        assert values_outside(answer, rows_by_key, keys, every.size) == [], query
        shares = [row["share"] for row in answer.rows if "share" in row]
        assert all(
            0 <= bounds_of_share.lower <= bounds_of_share.upper <= 1
            for bounds_of_share in shares
            if bounds_of_share.lower is not None
        )


COUNTED = (
    (1, "SELECT sex, AVG(CASE WHEN loss > 0 THEN 1 ELSE 0 END) AS share FROM microdata GROUP BY 1"),
    (0, "SELECT AVG(CASE WHEN loss > 0 THEN 1 ELSE 0 END) AS share FROM microdata WHERE age < 2"),
    (
        0,
        "SELECT AVG(CASE WHEN loss > 0 OR age = 1 THEN 1 ELSE 0 END) AS share FROM microdata "
        "WHERE sex = 'f' OR loss > 1",
    ),
    (
        0,
        "SELECT SUM(CASE WHEN age > 0 THEN 1 ELSE 0 END) / COUNT(*) AS share FROM microdata "
        "WHERE NOT (sex = 'f' AND loss > 0)",
    ),
    (
        1,
        "SELECT sex, COUNT(*) FILTER (WHERE age > 0) / NULLIF(COUNT(*), 0) AS share, "
        "SUM(CASE WHEN age > 0 THEN 100 ELSE 0 END) / (SELECT COUNT(*) FROM microdata), "
        "AVG(CASE WHEN age > 0 THEN 2 ELSE -1 END), SUM(CASE WHEN age > 0 THEN 3 END) / COUNT(*) "
        "FROM microdata WHERE loss >= 0 GROUP BY sex",
    ),
    (0, "SELECT SUM(CASE WHEN age > 0 THEN 3 ELSE -2 END), COUNT(*) FROM microdata WHERE loss < 2"),
)


def test_a_proportion_has_its_exact_extremes():
    """24 rows, four in each group, one of them with the value asked for."""
    ages, values = [20 + i // 4 for i in range(24)], [1, 2, 3, 9] * 6
    table = pa.table({"age": ages, "s": values, "group_id": [i // 8 for i in range(24)]})
    declared = declare(age=column("quasi-identifier", "integer"), s=column("sensitive", "integer"))
    query = (
        "SELECT AVG(CASE WHEN s = 9 THEN 1 ELSE 0 END) AS p FROM microdata WHERE age = 20 OR s = 9"
    )
    (row,) = answer_on(with_help(table, "s"), declared, query).rows
    assert (row["p"].lower, row["p"].upper) == (Fraction(6, 10), Fraction(6, 8))


EXPRESSIONS = (
    "AVG(CASE WHEN {c} THEN 1 ELSE 0 END)",
    "AVG(CASE WHEN {c} THEN {a} ELSE {b} END)",
    "AVG(CASE WHEN {c} THEN {a} END)",
    "AVG(CASE WHEN {c} THEN {x} ELSE 0 END)",
    "AVG(CASE WHEN {c} THEN {x} END) FILTER (WHERE {d})",
    "SUM(CASE WHEN {c} THEN {a} ELSE {b} END)",
    "SUM(CASE WHEN {c} THEN {a} END)",
    "SUM(CASE WHEN {c} THEN {a} END) / COUNT(*)",
    "SUM(CASE WHEN {c} THEN {a} ELSE 0 END) FILTER (WHERE {d}) / COUNT(*)",
    "SUM(CASE WHEN {c} THEN {a} ELSE 0 END) / COUNT(*) FILTER (WHERE {d})",
    "SUM(CASE WHEN {c} AND {d} THEN {a} ELSE 0 END) / COUNT(*) FILTER (WHERE {d})",
    "SUM(CASE WHEN {c} THEN {x} ELSE 0 END)",
    "COALESCE(SUM(CASE WHEN {c} THEN {x} ELSE 0 END), -3)",
    "COALESCE(SUM(CASE WHEN {c} THEN {a} END), 0) / COUNT(*)",
    "SUM(CASE WHEN {c} THEN {x} ELSE 0 END) / COUNT(*)",
    "SUM(CASE WHEN {c} THEN {a} ELSE 0 END) / (SELECT COUNT(*) FROM microdata)",
    "SUM(CASE WHEN {c} THEN {a} END) / (SELECT COUNT(*) FROM microdata)",
    "COUNT(CASE WHEN {c} THEN NULL END)",
    "COUNT(CASE WHEN {c} THEN 1 ELSE 0 END)",
    "COUNT(CASE WHEN {c} THEN {x} END) / COUNT(*)",
    "COUNT(CASE WHEN {c} THEN {x} END) / NULLIF(COUNT({x}), 0)",
    "COUNT(*) FILTER (WHERE {c} AND {d}) / COUNT(*) FILTER (WHERE {d})",
    "COUNT(*) FILTER (WHERE {c}) / COUNT(*) FILTER (WHERE {d})",
    "SUM({x}) / COUNT({y})",
    "SUM({x}) / COUNT(*)",
    "{a} * SUM({x}) / NULLIF(COUNT({x}), 0)",
    "SUM({x}) FILTER (WHERE {c}) / COUNT({x}) FILTER (WHERE {c} AND {d})",
    "COUNT(*) / SUM(s * w)",
    "NULLIF(SUM(s * w), 0)",
    "NULLIF(SUM({x}), 0) / COUNT(*)",
    "MAX(CASE WHEN {c} THEN {x} END)",
    "SUM({a})",
    "SUM({x} - {y})",
    "CAST(SUM(CASE WHEN {c} THEN 1 END) AS INTEGER)",
)
CONDITIONS = (
    "age > 1",
    "s = 2",
    "y < 2",
    "age = 1 OR s > 0",
    "NOT (age = 2 AND s = 1)",
    "s IS NULL",
)
NUMBERS = ("0", "1", "-1", "0.5", "100")
COMPLETE = declare(
    age=column("quasi-identifier", "integer", nulls=True),
    w=column("quasi-identifier", "decimal", scale=2),
    s=column("sensitive", "integer", nulls=True),
    y=column("sensitive", "integer", nulls=True),
)


@given(st.data())
def test_formulas_are_what_sql_answers_on_the_same_rows(data):
    """Aggregates known exactly in place of bounds: a formula is then its expression's value."""
    pick = {
        name: data.draw(st.sampled_from(choices))
        for name, choices in (("c", CONDITIONS), ("a", NUMBERS))
    }
    pick |= {"d": data.draw(st.sampled_from(CONDITIONS)), "b": data.draw(st.sampled_from(NUMBERS))}
    pick |= {name: data.draw(st.sampled_from(("s", "y", "age"))) for name in ("x", "y")}
    expression = data.draw(st.sampled_from(EXPRESSIONS)).format(**pick)
    where = data.draw(st.sampled_from(("", *(f" WHERE {condition}" for condition in CONDITIONS))))
    query = f"SELECT {expression} AS v FROM microdata{where}"
    small = st.one_of(st.none(), st.integers(-1, 3))
    rows = data.draw(st.lists(st.tuples(small, st.sampled_from((0, 25, 100)), small, small)))
    try:
        (inquiry,) = read_inquiries(query, COMPLETE).inquiries
    except QueryError:
        return
    with duckdb.connect(config={"threads": 1}) as connection:
        create = "CREATE TABLE microdata (age BIGINT, w DECIMAL(9, 2), s BIGINT, y BIGINT)"
        connection.execute(create)
        for age, weight, s, y in rows:
            row = [age, Decimal(weight) / 100, s, y]
            connection.execute("INSERT INTO microdata VALUES (?, ?, ?, ?)", row)
        (true,) = connection.execute(query).fetchone()
        known_values = known_exactly(connection, inquiry)
    (measure,) = inquiry.formulas
    bounds = measure.bounds(known_values)
    if true is None or not isfinite(true):
        assert bounds.lower is None
    else:
        assert float(bounds.lower) == pytest.approx(float(true))
        assert float(bounds.upper) == pytest.approx(float(true))
        assert not bounds.may_be_empty


def known_exactly(connection, inquiry):
    """Every aggregate that an inquiry asks for, as bounds that meet."""
    calculated = {formula.name: formula.expression for formula in inquiry.calculated}

    def text(node):
        put = node.transform(
            lambda column: (
                exp.paren(calculated[column.name].copy())
                if isinstance(column, exp.Column) and column.name in calculated
                else column
            )
        )
        return put.sql("duckdb")

    bounds_by_aggregate = {}
    for place, part in enumerate(inquiry.parts):
        conditions = [matching.condition for matching in part.matching]
        conditions += [] if part.condition is None else [part.condition]
        where = " AND ".join(f"({text(condition)})" for condition in conditions) or "TRUE"
        for aggregate in (*part.aggregates, *part.exact):
            column_text = (
                text(exp.column(aggregate.sensitive, quoted=True)) if aggregate.sensitive else "*"
            )
            times = (
                f" * {text(exp.column(aggregate.weight, quoted=True))}" if aggregate.weight else ""
            )
            call = f"{aggregate.function}({column_text}{times})"
            (value,) = connection.execute(f"SELECT {call} FROM microdata WHERE {where}").fetchone()
            exact = None if value is None else Fraction(value)
            bounds_by_aggregate[PartAggregate(place, aggregate)] = Bounds(exact, exact, exact)
    return bounds_by_aggregate
