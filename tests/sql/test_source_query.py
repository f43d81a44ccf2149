"""The query of a source reads, and nothing of it does more."""

import logging

import psycopg
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.sql.source_query import parameters_in, parse_source_query, require_parameters
from tests.query.databases import postgres

READS = {
    "postgres": [
        "SELECT a, b FROM t WHERE m = :month -- a comment",
        "WITH x AS (SELECT 1 AS n) SELECT n FROM x UNION ALL SELECT 2",
        "(SELECT 1) UNION SELECT 2",
        "SELECT x::int, arr[1:2], clinic.age_of(born) FROM t WHERE d > :since::date",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t",
    ],
    "mysql": ["SELECT /*! sleep(3), */ 1", "SELECT `a b` FROM t LIMIT 3"],
    "sqlite": ["SELECT date(born) FROM t"],
    None: ["SELECT a FROM t WHERE b = :b"],
}
DOES_MORE = {
    "postgres": [
        "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
        "SELECT * INTO z FROM t",
        "SELECT * FROM t FOR UPDATE",
        "SELECT nextval('s')",
        "SELECT pg_catalog.pg_sleep(3)",
        'SELECT "pg_sleep"(3)',
        "SELECT PG_READ_FILE('x')",
        "SELECT * FROM dblink('a', 'b') AS t(a int)",
        "SELECT set_config('a', 'b', true)",
        "SELECT * FROM ts_stat('SELECT to_tsvector(pg_sleep(3)::text)')",
        "SELECT * FROM crosstab('DELETE FROM t') AS t(a int)",
        "SELECT 1; SELECT 2",
        "COPY t TO PROGRAM 'x'",
        "EXPLAIN ANALYZE DELETE FROM t",
        "CALL f()",
        "SELECT $1",
        "",
        "SELECT (",
        "SELECT " + "(" * 5000,
    ],
    "mysql": [
        "SELECT @a := 1",
        "SELECT 1 INTO OUTFILE 'x'",
        "SELECT sleep(3)",
        "SELECT load_file('x')",
        "SELECT get_lock('a', 1)",
        "SELECT a FROM t LOCK IN SHARE MODE",
        "SET GLOBAL a = 1",
    ],
    "sqlite": ["SELECT load_extension('x')", "PRAGMA x", "SELECT ?", "ATTACH 'x' AS y"],
    "tsql": ["SELECT 1 AS a INTO #x", "SELECT * FROM OPENROWSET(1, 2, 3)", "EXEC f"],
}


@pytest.mark.parametrize(("dialect", "query"), [(d, q) for d, qs in READS.items() for q in qs])
def test_what_reads_is_run_without_comments(dialect, query):
    written = parse_source_query(query, dialect).sql(dialect)
    assert "comment" not in written
    assert "sleep" not in written


@pytest.mark.parametrize(("dialect", "query"), [(d, q) for d, qs in DOES_MORE.items() for q in qs])
def test_what_does_more_is_refused(dialect, query, caplog, capfd):
    with caplog.at_level(logging.DEBUG), pytest.raises(QueryError) as caught:
        parse_source_query(query, dialect)
    assert len(str(caught.value).splitlines()) == 1
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


def test_parameters_are_those_that_are_declared():
    query = parse_source_query("SELECT a FROM t WHERE b = :b AND c = :c", "postgres")
    assert parameters_in(query) == {"b", "c"}
    require_parameters(query, {"c", "b"})
    for declared, name in (({"b"}, ":c"), ({"b", "c", "d"}, ":d")):
        with pytest.raises(QueryError, match=name):
            require_parameters(query, declared)


HARMLESS = {"clock_timestamp", "current_query", "gen_random_uuid", "random", "timeofday"}
HARMLESS |= {"amvalidate", "plpgsql_validator"}  # tell of the catalogue alone


@pytest.mark.postgres
def test_what_postgresql_itself_calls_volatile_is_refused():
    """All that it has and that SQL can call: each may tell or change more than the rows."""
    query = """
        SELECT DISTINCT proname FROM pg_proc
        WHERE provolatile = 'v' AND prokind = 'f' AND pronamespace = 'pg_catalog'::regnamespace
          AND NOT 'internal'::regtype = ANY (proargtypes) AND prorettype::regtype::text
              NOT IN ('trigger', 'language_handler', 'index_am_handler', 'table_am_handler',
                      'tsm_handler', 'internal', 'event_trigger')
    """
    with psycopg.connect(postgres()) as connection:
        names = {name for (name,) in connection.execute(query)}
    assert len(names) > 100
    assert {name for name in names if _reads(f"SELECT {name}(x) FROM t")} <= HARMLESS


def _reads(query):
    try:
        parse_source_query(query, "postgres")
    except QueryError:
        return False
    return True
