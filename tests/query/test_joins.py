"""Joins with an analyst's own tables: as a database would have them, in every world."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.rewrite import rewrite
from tests.query.test_language_of_forms import of_marginals
from tests.query.test_language_of_worlds import AllWorlds, holds
from tests.query.test_matched import FORMS
from tests.query.worlds import column, declare

OWN = {
    "rates": pa.table({"age": [0, 1, 5], "rate": [0.5, 2.0, 9.0], "area": ["n", "s", "n"]}),
    "words": pa.table({"sex": ["f", "m"], "word": ["woman", "man"], "years": [1, 2]}),
}
JOINS = (
    (0, "SELECT COUNT(*), SUM(loss), AVG(rate) FROM microdata JOIN rates USING (age)"),
    (
        1,
        "SELECT area, COUNT(*), AVG(loss) FROM microdata LEFT JOIN rates USING (age) GROUP BY area",
    ),
    (
        1,
        "SELECT t.area, SUM(m.loss) FROM microdata m JOIN rates t ON t.age = m.age "
        "WHERE m.loss > 0 GROUP BY t.area",
    ),
    (
        0,
        "SELECT COUNT(*) FROM microdata JOIN rates USING (age) JOIN words USING (sex) "
        "WHERE rate > 1 OR loss > 0",
    ),
    (
        0,
        "SELECT COUNT(*) FILTER (WHERE word = 'man') FROM microdata m LEFT JOIN words w "
        "ON w.sex = m.sex WHERE w.years > 1",
    ),
    (
        1,
        "WITH a AS (SELECT * FROM microdata WHERE loss >= 0) "
        "SELECT rate * 2 AS r, COUNT(*) FROM a JOIN rates USING (age) GROUP BY r",
    ),
)


@pytest.fixture(scope="module", params=FORMS, ids=str)
def all_worlds(request):
    worlds_known = AllWorlds(*request.param, 3)
    for name, table in OWN.items():
        worlds_known.register(name, table)
    return worlds_known


@pytest.mark.parametrize(("keys", "query"), JOINS, ids=range(len(JOINS)))
def test_joins_hold_those_of_every_world(all_worlds, keys, query):
    answer = answer_on(all_worlds.tables, all_worlds.declared, query, own=OWN)
    rows = {tuple(row.values())[:keys]: tuple(row.values())[keys:] for row in answer.rows}
    outside = [
        (row, rows.get(row[:keys]))
        for world in all_worlds.answers(query)
        for row in world
        if row[:keys] not in rows or not all(map(holds, rows[row[:keys]], row[keys:]))
    ]
    assert rows
    assert outside == []


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT COUNT(*) FROM microdata JOIN more USING (age)", "no table of your own is called"),
        ("SELECT COUNT(*) FROM microdata RIGHT JOIN rates USING (age)", "RIGHT JOIN"),
        ("SELECT COUNT(*) FROM microdata CROSS JOIN rates", "CROSS JOIN"),
        ("SELECT COUNT(*) FROM microdata, rates", "USING"),
        ("SELECT COUNT(*) FROM microdata JOIN twice USING (age)", "several rows for one key"),
        ("SELECT COUNT(*) FROM microdata JOIN rates ON microdata.loss = rates.age", "is sensitive"),
        (
            "SELECT COUNT(*) FROM microdata JOIN words ON microdata.age = words.word",
            "of type integer",
        ),
        ("SELECT COUNT(*) FROM microdata JOIN rates USING (town)", "unknown column 'town'"),
        (
            "SELECT COUNT(*) FROM microdata m JOIN clash t ON m.age = t.key WHERE sex = 'f'",
            "ambiguous",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(query, why):
    worlds_known = AllWorlds("permuted", "independent", 3)
    own = {
        **OWN,
        "twice": pa.table({"age": [1, 1]}),
        "clash": pa.table({"key": [1], "sex": ["x"]}),
    }
    with pytest.raises(QueryError, match=why):
        answer_on(worlds_known.tables, worlds_known.declared, query, own=own)


def test_joins_are_not_written_for_databases():
    worlds_known = AllWorlds("permuted", "independent", 3)
    with pytest.raises(QueryError, match="no table of your own"):
        rewrite("SELECT COUNT(*) FROM microdata JOIN rates USING (age)", worlds_known.declared)


LABELLED = declare(
    "generalized",
    sex=column("quasi-identifier", "string"),
    loss=column("sensitive", "integer"),
)


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["f", "m", "*", "{f, m}"], "2 rows show it as a label for several values"),
        (["f", "m", '{"a, b"}'], "1 row shows it as a label"),
        (["f", "m", "f", "x"], None),
    ],
)
def test_labels_of_several_values_are_not_joined(labels, why):
    """The text of such a label is no key: a join would leave out rows that have the value."""
    table = pa.table({"sex": labels, "loss": list(range(len(labels)))})
    query = "SELECT COUNT(years) AS n, SUM(loss) AS s FROM microdata LEFT JOIN words USING (sex)"
    if why is not None:
        with pytest.raises(QueryError, match=why):
            answer_on({"microdata": table}, LABELLED, query, own=OWN)
    else:
        (row,) = answer_on({"microdata": table}, LABELLED, query, own=OWN).rows
        assert (row["n"].lower, row["n"].upper) == (3, 3)


def test_columns_published_apart_are_joined_one_by_one():
    """An ambiguous release: a joined column stands beside its key, and nowhere else."""
    tables, declared, worlds = of_marginals(3)
    own = {"rates": pa.table({"age": [0, 1], "rate": [None, 2.0], "area": ["n", "s"]})}
    ages_by_rest = {
        "FROM microdata JOIN rates USING (age)": {0, 1},
        "FROM microdata LEFT JOIN rates USING (age) WHERE area = 'n'": {0},
        "FROM microdata LEFT JOIN rates USING (age) WHERE rate > 1": {1},
        "FROM microdata LEFT JOIN rates USING (age) WHERE area IS NULL": {2},
    }
    ages = [[row[0] for row in world] for world in worlds]
    for rest, selected_ages in ages_by_rest.items():
        (row,) = answer_on(tables, declared, f"SELECT COUNT(*) AS n {rest}", own=own).rows
        counts_found = [sum(age in selected_ages for age in world) for world in ages]
        assert (row["n"].lower, row["n"].upper) == (min(counts_found), max(counts_found)), rest
    for query in (
        "SELECT area, COUNT(*) FROM microdata JOIN rates USING (age) GROUP BY area",
        "SELECT COUNT(*) FROM microdata JOIN both USING (age, sex)",
    ):
        both = {"both": pa.table({"age": [0], "sex": ["f"]})}
        with pytest.raises(QueryError, match="publishes each column separately"):
            answer_on(tables, declared, query, own={**own, **both})


DAY = date(2024, 3, 1)
NOON = datetime.combine(DAY, time(12))
NEVER = {
    "a time of day is no date": (
        ("date", [DAY, DAY + timedelta(days=1)]),
        pa.array([NOON - timedelta(hours=12), NOON], pa.timestamp("us")),
        1,
    ),
    "three decimals are not two": (
        ("decimal", [Decimal("1.50"), Decimal("2.25")]),
        pa.array([1.501, 2.25]),
        1,
    ),
    "a decimal of another scale": (
        ("decimal", [Decimal("1.50"), Decimal("2.25")]),
        pa.array([Decimal("1.500"), Decimal("2.251")], pa.decimal128(9, 3)),
        1,
    ),
    "half is no integer": (("integer", [1, 2]), pa.array([1.0, 2.5]), 1),
    "a categorical": (("string", ["a", "b"]), pa.array(["b", "c"]).dictionary_encode(), 1),
}


@pytest.mark.parametrize("case", NEVER)
def test_no_key_matches_what_only_rounding_makes_equal(case):
    (type_, published), own, matched = NEVER[case]
    tables, declared = permuted_rows(type_, published)
    counts = {"JOIN": matched, "LEFT JOIN": len(published)}
    for kind, count in counts.items():
        query = f"SELECT COUNT(*) AS n FROM microdata {kind} t USING (k)"
        (row,) = answer_on(tables, declared, query, own={"t": pa.table({"k": own})}).rows
        assert (row["n"].lower, row["n"].upper) == (count, count)


def permuted_rows(type_, published):
    """A release of rows with these keys, each with a sensitive value of its own."""
    keys = column("quasi-identifier", type_, **({"scale": 2} if type_ == "decimal" else {}))
    declared = declare(k=keys, s=column("sensitive", "integer"))
    values = {
        "k": pa.array(published, declared.columns["k"].arrow_type),
        "s": list(range(len(published))),
    }
    microdata = pa.table({**values, "group_id": [0] * len(published)})
    return {"microdata": microdata}, declared


@pytest.mark.parametrize(
    ("joined", "message"),
    [
        ("JOIN t ON m.k = t.a AND m.k = t.b", "'k' cannot equal several columns of 't'"),
        ("LEFT JOIN t ON m.k = t.a JOIN u ON t.a = u.a", "'a' is not a published column"),
        ("LEFT JOIN t USING (k) JOIN u ON t.k = u.a", "'k' is not a published column"),
        ("JOIN t ON m.k = t.a JOIN t ON m.k = t.b", "two tables are called 't'"),
        ("JOIN t m ON m.k = m.a", "two tables are called 'm'"),
        ("JOIN z USING (k)", "column 'at' has a time zone"),
    ],
)
def test_joins_that_mean_something_else_are_refused(joined, message):
    tables, declared = permuted_rows("integer", [1, 2])
    t = pa.table({"a": [1, 2], "b": [2, 1], "k": [1, 3], "w": [10, 20]})
    zoned = pa.table({"k": [1], "at": pa.array([0], pa.timestamp("s", "UTC"))})
    own = {"t": t, "u": t, "z": zoned}
    with pytest.raises(QueryError, match=message):
        answer_on(tables, declared, f"SELECT COUNT(*) FROM microdata m {joined}", own=own)


def test_both_zeros_are_one_key():
    tables, declared = permuted_rows("float", [0.0, 1.0])
    count = "SELECT COUNT(*) AS n FROM microdata JOIN t USING (k)"
    (row,) = answer_on(tables, declared, count, own={"t": pa.table({"k": [-0.0, 3.0]})}).rows
    assert row["n"].lower == row["n"].upper == 1
    with pytest.raises(QueryError, match="several rows for one key"):
        answer_on(tables, declared, count, own={"t": pa.table({"k": [0.0, -0.0]})})
