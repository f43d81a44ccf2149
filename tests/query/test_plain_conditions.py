"""Plain conditions hold on the same values as in DuckDB, and so do their negations."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from sfumato.tasks.query.engines import conditions
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.published_columns import PublishedColumns
from sfumato.tasks.sql.plain_conditions import decide_plainly, plain_constants
from sfumato.tasks.sql.session import fetch, session

VIEW = "values"
DAY = dt.timedelta(days=1)
NUMBERS = st.integers(-4, 4) | st.sampled_from([2**31, -(2**31), 10**17, -(10**17)])
TEXTS = st.text("aAé '%\\\x00", max_size=2)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def number(value):
    return str(value) if value >= 0 else f"(-{-value})"


def text(value):
    return "'" + value.replace("'", "''") + "'"


DAYS = st.sampled_from([-1, 0, 1, 59, 60]).map(lambda days: dt.date(1970, 1, 1) + days * DAY)
DATES = DAYS | st.sampled_from([dt.date(1, 1, 1), dt.date(1600, 2, 29), dt.date(9999, 12, 31)])
DATE = st.builds(str.format, st.sampled_from(["DATE '{}'", "CAST('{}' AS DATE)"]), DATES)
NUMBER = NUMBERS.map(number)
TEXT = TEXTS.map(text)


def lists_of(constants):
    return st.lists(constants, min_size=1, max_size=3).map(", ".join)


def comparisons_with(constant):
    """Comparisons with constants whose order has a meaning."""
    return st.one_of(
        st.builds("c {} {}".format, SIGNS, constant),
        st.builds("{} {} c".format, constant, SIGNS),
        st.builds("c BETWEEN {} AND {}".format, constant, constant),
        st.builds("c IN ({})".format, lists_of(constant)),
        st.builds("(c) {} (({}))".format, SIGNS, constant),
        st.builds("({}) {} ((c))".format, constant, SIGNS),
        st.builds("(c) BETWEEN ({}) AND {}".format, constant, constant),
        st.builds("(c) IN (({}), {})".format, constant, constant),
    )


COMPARISONS = {
    "numbers": comparisons_with(NUMBER),
    "dates": comparisons_with(DATE),
    "texts": st.one_of(
        st.builds("c {} {}".format, st.sampled_from(["=", "<>"]), TEXT),
        st.builds("{} = c".format, TEXT),
        st.builds("c IN ({})".format, lists_of(TEXT)),
        st.builds("((c)) {} ({})".format, st.sampled_from(["=", "<>"]), TEXT),
        st.builds("({}) = (c)".format, TEXT),
        st.builds("(c) IN (({}), {})".format, TEXT, TEXT),
    ),
}


def combine(comparisons):
    return st.recursive(
        comparisons,
        lambda inner: st.one_of(
            st.builds("NOT ({})".format, inner),
            st.builds("({}) AND ({})".format, inner, inner),
            st.builds("({}) OR ({})".format, inner, inner),
        ),
        max_leaves=4,
    )


def assert_same(sql, values):
    node = parse_one(sql, dialect="duckdb")
    with session({VIEW: pa.table({"c": values})}) as connection:
        judge = ValueConditions(connection)
        outcome = decide_plainly(node, values)
        assert outcome is not None
        assert outcome.holds.tolist() == judge._decide(node, VIEW, holds=True).tolist()
        assert outcome.fails.tolist() == judge._decide(node, VIEW, holds=False).tolist()


@given(
    st.lists(NUMBERS | st.none(), max_size=6),
    combine(COMPARISONS["numbers"]),
)
def test_numbers_are_decided_as_by_duckdb(values, sql):
    assert_same(sql, pa.array(values, pa.int64()))


@given(st.lists(DATES | st.none(), max_size=6), combine(COMPARISONS["dates"]))
def test_dates_are_decided_as_by_duckdb(values, sql):
    assert_same(sql, pa.array(values, pa.date32()))


@pytest.mark.parametrize("type_", [pa.int8(), pa.uint8(), pa.int16(), pa.uint32()])
@given(st.lists(st.integers(0, 127) | st.none(), max_size=6), combine(COMPARISONS["numbers"]))
def test_narrow_numbers_are_decided_as_by_duckdb(type_, values, sql):
    assert_same(sql, pa.array(values, type_))


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()])
@given(
    st.lists(TEXTS.filter(lambda value: "\x00" not in value) | st.none(), max_size=6),
    combine(COMPARISONS["texts"]),
)
def test_texts_are_decided_as_by_duckdb(type_, values, sql):
    assert_same(sql.replace("\x00", "0"), pa.array(values, type_))


@pytest.mark.parametrize(
    "sql",
    [
        "c = 1.5",
        "c = '1'",
        "c = NULL",
        "c IN (1, NULL)",
        "c IN (SELECT 1)",
        "c IS NULL",
        "c + 1 = 2",
        "c = 1000000000000000000000",
        "c = 1 AND c = 1.0",
        "c BETWEEN 1 AND 2.5",
        "abs(c) < 2",
        "CAST(c AS DOUBLE) = 1",
        "c = c",
        "(c) = (c)",
        "(c + 1) = 2",
        "(c, 1) = (1, 1)",
    ],
)
def test_other_conditions_are_left_to_duckdb(sql):
    node = parse_one(sql, dialect="duckdb")
    assert decide_plainly(node, pa.array([1, 2])) is None


@pytest.mark.parametrize("sql", ["c < 'b'", "c = 1", "c LIKE 'a%'", "c BETWEEN 'a' AND 'b'"])
def test_the_order_of_texts_is_left_to_duckdb(sql):
    node = parse_one(sql, dialect="duckdb")
    assert decide_plainly(node, pa.array(["a"])) is None


@pytest.mark.parametrize(
    "sql",
    [
        "c < '2020-01-31'",
        "c < DATE '2020-1-31'",
        "c < DATE '2020-02-30'",
        "c < DATE '0000-01-01'",
        "c < DATE 'infinity'",
        "c < CAST('2020-01-31' AS TIMESTAMP)",
        "c < TRY_CAST('2020-01-31' AS DATE)",
        "c < CAST(c AS DATE)",
        "c < 20",
        "c + 1 < DATE '2020-01-31'",
        "c IN (DATE '2020-01-31', NULL)",
    ],
)
def test_what_dates_are_converted_from_is_left_to_duckdb(sql):
    node = parse_one(sql, dialect="duckdb")
    assert decide_plainly(node, pa.array([dt.date(2020, 1, 1)])) is None


@pytest.mark.parametrize("values", [pa.array([1]), pa.array(["a"])])
def test_other_values_beside_dates_are_left_to_duckdb(values):
    assert decide_plainly(parse_one("c = DATE '2020-01-31'", dialect="duckdb"), values) is None


def test_other_types_are_left_to_duckdb():
    moments = pa.array([dt.datetime(2020, 1, 1)])  # noqa: DTZ001 - without a time zone
    for values in (pa.array([1.0]), pa.array([1], pa.uint64()), pa.array([True]), moments):
        assert decide_plainly(parse_one("c = 1"), values) is None


@given(st.lists(NUMBER | TEXT.filter(lambda text: "\x00" not in text), max_size=4))
def test_constants_are_those_of_duckdb(texts):
    nodes = [parse_one(text, dialect="duckdb") for text in texts]
    with session({}) as connection:
        expected = fetch(connection, exp.select(*nodes))[0] if nodes else ()
    assert plain_constants(nodes) == expected


@pytest.mark.parametrize("text", ["1.5", "NULL", "TRUE", "1 + 1", "DATE '2020-01-01'", "1e3"])
def test_other_constants_are_left_to_duckdb(text):
    assert plain_constants([parse_one("1"), parse_one(text, dialect="duckdb")]) is None


def test_engines_ask_duckdb_only_what_is_not_plain(monkeypatch):
    queries, fetch_table = [], conditions.fetch_table

    def fetch(connection, tree):
        queries.append(tree.sql("duckdb"))
        return fetch_table(connection, tree)

    monkeypatch.setattr(conditions, "fetch_table", fetch)
    table = pa.table({"group_id": pa.array([0, 0, 1]), "c": [1, 2, 3]})
    with session({}) as connection:
        judge, columns = ValueConditions(connection), PublishedColumns(table)
        assert judge.rows(columns, parse_one("c > 1")).tolist() == [False, True, True]
        assert judge.values(columns, "c", parse_one("c > 1")).tolist() == [False, True, True]
        assert not queries
        assert judge.rows(columns, parse_one("c > 1.5")).tolist() == [False, True, True]
        assert len(queries) == 1
