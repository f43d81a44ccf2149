"""Rows that a query gives, from PostgreSQL, MariaDB and SQLite: the same, and nothing but read."""

import re
import sqlite3
import threading
from datetime import date, datetime
from decimal import Decimal
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
import pymysql
import pytest

from sfumato.expectations.shared.errors import (
    InputError,
    MissingPackageError,
    SpecError,
    TransientFault,
)
from tests.microdata.sources import refusal
from tests.query.databases import mariadb, postgres
from tests.sources.tables import CANARY, QUERY, ROWS, read

TABLE = (
    "CREATE TABLE people (person {integer} PRIMARY KEY, born {date}, seen {timestamp}, "
    "wage {decimal}, weight {float}, town {string}, insured {boolean}, note {string})"
)
NATIVE = {
    "integer": "INTEGER",
    "date": "DATE",
    "timestamp": "TIMESTAMP(6)",
    "decimal": "DECIMAL(10, 2)",
    "float": "DOUBLE PRECISION",
    "string": "VARCHAR(60)",
    "boolean": "BOOLEAN",
}
IN_SQLITE = {**NATIVE, "date": "TEXT", "timestamp": "TEXT", "decimal": "TEXT"}
IN_MARIADB = {**NATIVE, "timestamp": "DATETIME(6)"}
MORNING = datetime.fromisoformat("2024-05-01T10:00")
EVENING = datetime.fromisoformat("2024-05-31T23:59:59.500000")
EXPECTED = [
    (1, date(1980, 2, 29), MORNING, Decimal("1500.50"), 70.5, "Zoë's", True),
    (2, None, EVENING, Decimal("99.99"), None, r"a: b %s \ ?", False),
    (3, date(1999, 12, 31), None, None, 1e-300, None, None),
]


def fill(connection, types, mark):
    cursor = connection.cursor()
    cursor.execute("DROP TABLE IF EXISTS people")
    cursor.execute(TABLE.format_map(types))
    marks = ", ".join([mark] * 8)
    cursor.executemany(f"INSERT INTO people VALUES ({marks})", [(*row, CANARY) for row in ROWS])
    connection.commit()
    connection.close()


def in_postgres(_folder):
    fill(psycopg.connect(postgres()), NATIVE, "%s")
    return postgres()


def maria():
    place = parse_qs(urlsplit(mariadb()).query)["unix_socket"][0]
    return pymysql.connect(unix_socket=unquote(place), user="root", database="tests")


def in_mariadb(_folder):
    fill(maria(), IN_MARIADB, "%s")
    return mariadb()


def in_sqlite(folder):
    fill(sqlite3.connect(folder / "people.db"), IN_SQLITE, "?")
    return f"sqlite:///{folder / 'people.db'}"


PLACES = {"postgres": in_postgres, "mariadb": in_mariadb, "sqlite": in_sqlite}
SERVERS = [pytest.param(n, marks=pytest.mark.postgres) for n in ("postgres", "mariadb")]


@pytest.fixture(params=[*SERVERS, "sqlite"])
def database(request, tmp_path):
    return PLACES[request.param](tmp_path)


def refusal_of(uri, query=QUERY, kind=InputError, **keys):
    return refusal(lambda: read(uri, query, **keys), kind, CANARY)


def test_rows_have_the_declared_types(database):
    assert read(database, f"{QUERY} ORDER BY person") == EXPECTED


def test_parameters_are_bound_with_their_types(database):
    for name, type_, value, count in (
        ("person", "integer", 2, 1),
        ("born", "date", "1980-02-29", 1),
        ("seen", "timestamp", "2024-05-01 10:00:00", 1),
        ("town", "string", "Zoë's", 1),
        ("town", "string", "a: b %s \\ ?", 1),
        ("town", "string", "' OR 1 = 1 --", 0),
        ("town", "string", "x\\' OR 1 = 1 --", 0),
        ("insured", "boolean", False, 1),
        ("weight", "float", 70.5, 1),
    ):
        parameters = {"p": {"type": type_, "value": value}}
        query = f"{QUERY} WHERE {name} = :p OR person = 3"
        rows = read(database, query, parameters=parameters)
        assert len(rows) == count + 1, (name, value)


def test_colons_and_percent_signs_stay(database):
    types = {"town": "string", "c": "string"}
    query = "SELECT town, ' :p %s %% ::x' AS c FROM people WHERE person = :p AND town <> 'a:b'"
    parameters = {"p": {"type": "integer", "value": 1}}
    assert read(database, query, types=types, parameters=parameters) == [("Zoë's", " :p %s %% ::x")]


def test_a_number_is_no_text(database):
    message = refusal_of(database, "SELECT person FROM people", types={"person": "string"})
    assert "column 'person'" in message


def test_a_text_is_read_as_declared(database):
    types = {"note": "date"}
    query = "SELECT '1.2.2024' AS note FROM people WHERE person = 1"
    result = read(database, query, types=types, **{"date-formats": {"note": "%d.%m.%Y"}})
    assert result == [(date(2024, 2, 1),)]
    message = refusal_of(database, "SELECT note FROM people", types=types)
    assert "row 1: column 'note': not a date" in message


def test_missing_tables_and_columns_are_told_apart(database):
    is_told = not database.startswith("sqlite")
    for query, what in (("a FROM nobody", "table"), ("nobody FROM people", "column")):
        rule = f"the query names a {what} that does not exist" if is_told else "refuses the query"
        assert rule in refusal_of(database, f"SELECT {query}")
    message = refusal_of(database, "SELECT person FROM people")
    assert message.startswith(f"{database}: 6 faults: column 'born': is missing; column 'seen'")
    message = refusal_of(database, "SELECT * FROM people")
    assert "column 8 of 8 is not in the spec" in message
    message = refusal_of(database, "SELECT person, person FROM people", types={"person": "integer"})
    assert "column 2 has the same name as column 1. Give each column" in message


def test_no_row_is_refused(database):
    assert "has no rows" in refusal_of(database, f"{QUERY} WHERE person > 3")


@pytest.mark.postgres
def test_what_a_server_quotes_is_not_told():
    uri = in_postgres(None)
    cast = refusal_of(uri, "SELECT CAST(note AS integer) AS n FROM people", types={"n": "integer"})
    assert cast == (
        f"{uri}: the query fails on a value, such as a text that is not a number (SQLSTATE 22P02)"
    )
    late = "SELECT CASE WHEN g < 90000 THEN g ELSE CAST(note AS integer) END AS n "
    late += "FROM generate_series(1, 100000) AS g, people"
    assert "SQLSTATE 22P02" in refusal_of(uri, late, types={"n": "integer"})


@pytest.mark.postgres
def test_it_cannot_write_whatever_the_query_calls():
    uri = in_postgres(None)
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION harmless() RETURNS integer LANGUAGE sql AS "
            "'DELETE FROM people RETURNING person'"
        )
    message = refusal_of(uri, "SELECT harmless() AS n", types={"n": "integer"})
    assert message == f"{uri}: the query tries to write, and it may only read (SQLSTATE 25006)"
    assert len(read(uri)) == 3


@pytest.mark.postgres
def test_one_snapshot_is_read():
    """Rows that are written while a transaction reads are not seen by it."""
    from sfumato.tasks.microdata.databases import postgres as way

    uri = in_postgres(None)
    with way._connection(uri, "x") as connection, connection.cursor() as cursor:
        cursor.execute(way._SNAPSHOT)
        cursor.execute("SELECT count(*) FROM people")
        assert cursor.fetchall() == [(3,)]
        with psycopg.connect(uri, autocommit=True) as other:
            other.execute("INSERT INTO people (person) VALUES (4)")
        cursor.execute("SELECT count(*) FROM people")
        assert cursor.fetchall() == [(3,)]
        cursor.execute("SELECT current_setting('transaction_isolation')")
        assert cursor.fetchall() == [("repeatable read",)]


@pytest.mark.postgres
def test_many_rows_come_in_batches():
    from sfumato.tasks.microdata.databases import postgres as way
    from sfumato.tasks.sql.source_query import parse_source_query

    rows = "SELECT g AS n, CAST(g % 7 AS text) || repeat('x', 200) AS s "
    rows += "FROM generate_series(1, 300000) AS g"
    batches = way.read(postgres(), parse_source_query(rows, "postgres"), {}, "x")
    assert batches["n"].num_chunks > 2
    assert sum(batches["n"].to_pylist()) == 300_000 * 300_001 // 2
    assert len(batches["s"].chunk(0).dictionary) == 7


@pytest.mark.postgres
def test_a_connection_that_breaks_is_worth_another_attempt():
    uri = in_postgres(None)
    slow = "SELECT g AS n, repeat('x', 1000) AS s FROM generate_series(1, 3000000) AS g"
    ended = threading.Event()

    def end():
        with psycopg.connect(uri, autocommit=True) as other:
            while not ended.is_set():
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND query LIKE 'COPY%'"
                )

    thread = threading.Thread(target=end)
    thread.start()
    try:
        with pytest.raises(TransientFault):
            read(uri, slow, types={"n": "integer", "s": "string"})
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("postgresql://u@127.0.0.1:1/x", TransientFault),
        ("mariadb://u@127.0.0.1:1/x", TransientFault),
        ("postgresql://a@@b:c/", (InputError, TransientFault)),
        ("nosuch://u@h/x", InputError),
        ("sqlite:///none.db", InputError),
        ("people.csv", SpecError),
        ("s3://bucket/key", SpecError),
    ],
)
def test_addresses_without_a_server(address, kind):
    with pytest.raises(kind) as caught:
        read("${DSN}", environ={"DSN": address})
    assert str(caught.value).startswith("${DSN}: ")
    assert address not in str(caught.value)


@pytest.mark.postgres
@pytest.mark.parametrize("server", ["postgres", "mariadb"])
def test_a_wrong_user_is_refused_at_once(server):
    right = PLACES[server](None)
    wrong = re.sub("//(tests|root)@", "//nobody:${PW}@", right)
    message = refusal(lambda: read(wrong, environ={"PW": "hunter2"}), InputError, "hunter2")
    assert message.endswith("Check the user, the password and the database's name")


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        *((s, TransientFault) for s in ("08006", "40001", "40P01", "53300", "57P01", "57014")),
        *((s, InputError) for s in ("22P02", "42P01", "42501", "25006", "28P01", "3D000", "XX000")),
    ],
)
def test_classes_of_states(state, kind):
    from sfumato.tasks.microdata.databases.faults import fault_of_state

    assert type(fault_of_state("x", state)) is kind


def test_a_locked_file_is_worth_another_attempt(tmp_path):
    uri = in_sqlite(tmp_path)
    with sqlite3.connect(tmp_path / "people.db", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TransientFault):
            read(f"{uri}?timeout=0")
        other.execute("ROLLBACK")
    other.close()
    assert len(read(uri)) == 3


def test_an_extra_that_is_missing_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    message = refusal_of("postgresql:///x", kind=MissingPackageError)
    expected = "needs a package that is not installed. Run pip install 'sfumato[postgres]'"
    assert message == f"postgresql:///x: {expected}"
