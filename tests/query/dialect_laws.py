"""Laws of every dialect: a query as it is written for a database means there what it means.

A dialect is known to the suite by its name in the registry; its database is a file, or one of ours.
"""

import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache

import duckdb
import pyarrow as pa
import pytest

from sfumato.tasks.query.ask import ask, engine
from sfumato.tasks.query.load import load
from sfumato.tasks.query.question.question import GroupColumn
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.dialect_fixes import write_bounds
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.target import target
from tests.query import databases, test_golden
from tests.query.releases import write
from tests.query.worlds import CENSUS, column
from tests.query.worlds import declare as plain

LOCAL = ["duckdb", "sqlite"]
SERVERS = [pytest.param(name, marks=pytest.mark.postgres) for name in ("postgres", "mariadb")]
GOLDEN = [test_golden.read(path)[0] for path in test_golden.GOLDEN]


def address(kind, directory):
    if DIALECTS[kind].access.in_file:
        return f"{kind}:///{directory}/release.{kind}"
    return getattr(databases, kind)()


def answered_rows(tables, declared, query, reading="possible"):
    """The rows of an answer as the rewritten query returns them, and how many are keys."""
    question = read_question(query, declared)
    return expected_rows(question, ask(tables, declared, question, estimates=False), reading)


def expected_rows(question, answer, reading):
    """The rows of an answer in one reading of HAVING, the sides of each bounds apart."""
    rows = []
    for row, certain in zip(answer.rows, answer.certain, strict=True):
        if certain or reading == "possible":
            sides = []
            for item in question.shown:
                value = row[item.label]
                group = isinstance(item, GroupColumn)
                sides += [value] if group else [value.lower, value.upper]
            rows.append(sides)
    return rows


def rewritten_texts(query, declared, havings):
    """A query with each clause, rewritten for DuckDB: one text for each reading of it."""
    return {
        having: {
            reading: rewrite(f"{query} HAVING {having}", declared, reading).sql()
            for reading in ("possible", "certain")
        }
        for having in havings
    }


def comparable(value):
    """A value as every database can give it."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal | Fraction) else value


def rough(row):
    """Return a key by which rows can be put in the same order."""
    texts = (f"{v:.6g}" if isinstance(v, float) else v for v in map(comparable, row))
    return [(v is None, str(int(v) if isinstance(v, bool) else v)) for v in texts]


def assert_same_rows(rows_found, expected, query):
    assert len(rows_found) == len(expected), query
    pairs = zip(sorted(rows_found, key=rough), sorted(expected, key=rough), strict=True)
    for got, expected_row in ((map(comparable, a), map(comparable, b)) for a, b in pairs):
        for value, other in zip(expected_row, got, strict=True):
            if isinstance(value, float):
                assert other == pytest.approx(value, rel=1e-9, abs=1e-9), query
            else:
                assert other == value, query


HARD = plain(
    n=column("quasi-identifier", "integer", nulls=True),
    d=column("quasi-identifier", "decimal", scale=2, nulls=True),
    f=column("quasi-identifier", "float", nulls=True),
    s=column("quasi-identifier", "string", nulls=True),
    t=column("quasi-identifier", "string", nulls=True),
    day=column("quasi-identifier", "date", nulls=True),
    moment=column("quasi-identifier", "timestamp", nulls=True),
    vip=column("insensitive", "boolean", nulls=True),
    loss=column("sensitive", "integer"),
)
ROWS = [
    (0, "0.00", 0.0, "", "b", "2020-01-01", "2020-01-01 00:00:00", True),
    (1, "0.30", 0.3, "ä", "Ä", "2020-01-02", "2020-01-01 00:00:00.000001", False),
    (-5, "-1.25", -1.5, "a", "A", "0001-01-01", "0001-01-01 00:00:00", None),
    (7, "2.00", 1e300, "a ", "a", "9999-12-31", "9999-12-31 23:59:59.999999", True),
    (2**53 + 1, "9.99", 9007199254740992.0, "k%_\\x", "İ", None, None, False),
    (None, None, None, None, None, "2020-01-02", "2020-01-02 00:00:00", None),
    (3, "0.10", 0.1, "a\nb", "it's", "2020-02-29", "2020-02-29 10:00:00.5", True),
    (-(2**60), "1.50", 3.0, "ΣΟΦΟΣ", "σοφοσ", "1999-12-31", "1999-12-31 23:00:00", False),
    (2**60 - 1, "99.99", -0.25, "*[a]?^$.(|)\\", "z", "2020-01-01", "2020-01-01 12:00:00", True),
    (4, "4.00", 4.0, "\U0001f600", "\uffff", "2020-01-01", "2020-01-01 12:00:00", True),
]
MEANT = [
    *("s < t", "s = 'a'", "s = 'A'", "s <> 'a '", "'a' < 'B'", "'a' = 'A'", "t > '\uffee'"),
    *("s BETWEEN 'A' AND 'a'", "s IN ('a', 'ä')", "s NOT IN ('a', NULL)", "t >= 'Ä'"),
    *("s LIKE 'a%'", "s LIKE 'A%'", "s NOT LIKE 'a%'", "s LIKE '_'", "s LIKE 'k%\\x'"),
    *("s LIKE '%\\%'", "s LIKE '*[a]?%'", "s LIKE 'k\\%'", "s LIKE ''", "NULL LIKE 'a'"),
    *("s ILIKE 'Ä'", "s NOT ILIKE 'A'", "t ILIKE 'i'", "s ILIKE 'σοφοσ'", "s ILIKE 'σοφος'"),
    *("s ILIKE '*[A]?^$.(|)\\'", "s ILIKE 'A%B'", "s ILIKE 'a__'", "s ILIKE 'K%'", "s ILIKE ''"),
    *("t ILIKE 'IT''S'", "NULL ILIKE 'a'", "s ILIKE '%'", "s ILIKE '_'", "'Ä' ILIKE 'ä'"),
    *("n / 2 > 0.2", "n / 2 = 0.5", "d / 3 > 0.03", "n / f > 1", "n / d > 1e300", "n / d < 0"),
    *("0 / n > 5", "n / n = 1", "d / d >= 1", "n / (n - 7) IS NULL", "NOT n / n > 1e308"),
    *("n / f BETWEEN 0 AND 1e300", "n / 0 > 1", "n / d IN (1, 2)"),
    *("n % 3 = -2", "n % 3 IN (0, 1)", "NOT vip", "vip", "vip = TRUE", "vip > FALSE"),
    *("vip BETWEEN FALSE AND FALSE", "vip IN (TRUE, NULL)", "vip IS NULL", "TRUE", "NULL"),
    *("NOT (vip OR NULL)", "NULL = NULL", "NULL + 1 = 2", "-NULL IS NULL", "NULL * NULL > n"),
    *("NULL IN (1, 2)", "n BETWEEN NULL AND 3", "NOT n BETWEEN 5 AND NULL", "n + NULL IS NULL"),
    *("f = 0.3", "f = 3e-1", "f = 0.1", "d = 0.3", "d = 3e-1", "d < 0.30", "n = 1.0", "n > 0.5"),
    *("n = f", "n = 9007199254740992e0", "f = d", "d >= f", "n * 1e-1 = 0.3", "f * 3 > 0.9"),
    *("f + d > 3", "n - 1e0 < d", "d IN (0.3, 3e-1, 2)", "n < -9223372036854775808"),
    *(
        "n IN (1, 2.0, 7e0)",
        "n BETWEEN 0.5 AND 7e0",
        "f BETWEEN -1 AND d",
        "- - n = 7",
        "n - -2 > 8",
    ),
    *("day = DATE '2020-01-01'", "day < TIMESTAMP '2020-01-01 00:00:00.000001'", "day = moment"),
    *("moment >= DATE '2020-01-01'", "moment = TIMESTAMP '2020-02-29T10:00:00.5'", "moment < day"),
    *("day IN (DATE '2020-01-01', TIMESTAMP '2020-01-02')", "day > DATE '0001-01-01'"),
    *("moment BETWEEN day AND TIMESTAMP '2020-01-01 12:00:00'", "DATE '2020-01-01' IS NULL"),
    *(
        "moment NOT IN (DATE '2020-01-01', NULL)",
        "moment <= TIMESTAMP '9999-12-31 23:59:59.999999'",
    ),
]
EXACT_ONLY = ["d + 0.2 = 0.5", "d * 3 = 0.9", "n * 0.1 = 0.3", "d % 0.1 = 0", "-d % 2 = 0"]


def hard(directory):
    columns = list(zip(*ROWS, strict=True))
    names = list(HARD.columns)[:-1]
    types = [HARD.columns[name].arrow_type for name in names]
    # A text becomes a decimal or a moment by a cast.
    arrays = [
        pa.array(values).cast(type_)
        if pa.types.is_string(pa.array(values).type)
        else pa.array(values, type_)
        for values, type_ in zip(columns, types, strict=True)
    ]
    table = pa.table(
        {**dict(zip(names, arrays, strict=True)), "loss": range(len(ROWS))}
    ).append_column("group_id", pa.array([i % 3 for i in range(len(ROWS))]))
    return table, write(directory, table, HARD)


@cache
def reviewed_answers():
    """The reviewed queries: as they are rewritten, and the rows of their answers."""
    with engine(test_golden.TABLES, CENSUS) as asking:
        return [
            (query, rewrite(query, CENSUS).tree, answered_rows(asking, CENSUS, query))
            for query in GOLDEN
        ]


@cache
def counting(condition):
    """A query for the rows on which a condition on hard values holds, as it is rewritten."""
    return rewrite(f"SELECT COUNT(*) FROM microdata WHERE {condition}", HARD).tree


class DialectLaws:
    """The laws, of the dialect `kind`."""

    def test_reviewed_queries(self, kind, tmp_path):
        url = address(kind, tmp_path)
        load(write(tmp_path / "release", test_golden.TABLE, CENSUS), url, replace=True)
        types = {name: column.type for name, column in CENSUS.columns.items()}
        with target(url) as database:
            for query, tree, expected in reviewed_answers():
                text = write_bounds(tree, DIALECTS[kind], types)
                assert_same_rows(database.execute(text), expected, query)

    def test_conditions_mean_the_same(self, kind, tmp_path):
        table, opened = hard(tmp_path / "release")
        url = address(kind, tmp_path)
        load(opened, url, replace=True)
        types = {name: column.type for name, column in HARD.columns.items()}
        spelling = DIALECTS[kind].spelling
        conditions = MEANT if spelling and not spelling.decimals else MEANT + EXACT_ONLY
        rows_found = []
        with target(url) as database, duckdb.connect() as truth:
            truth.register("microdata", table)
            for condition in conditions:
                rows = truth.execute(f"SELECT count(*) FROM microdata WHERE {condition}").fetchone()
                text = write_bounds(counting(condition), DIALECTS[kind], types)
                assert [row[0] for row in database.execute(text)] == list(rows), condition
                rows_found.append(rows[0])
        assert {0, 1, len(ROWS)} < set(rows_found)
