"""A PostgreSQL database: what readers see, what is never dropped, and what is said."""

import json
import threading
from dataclasses import replace
from types import SimpleNamespace

import psycopg
import pytest

from sfumato.expectations.shared.errors import InputError, SfumatoError, TransientFault
from sfumato.flows.cli.main import run
from sfumato.tasks.destinations import database as schemas
from sfumato.tasks.destinations.database import translate_errors
from sfumato.tasks.lines.known_destinations import DESTINATIONS
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.sql.dialects.registry import DIALECTS
from tests.destinations.places import bring
from tests.release.evolving import digest_of
from tests.release.small import SPEC, Small, people

pytestmark = pytest.mark.postgres
SECRET = "hunter2-of-the-publisher"


def configure(database, **changes):
    database.declared = database.declared.model_copy(update=changes)
    return database


def with_role(database, name, rights=""):
    roles = database.ask(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'")
    if not roles:
        database.ask(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}' {rights}")
    return name


def as_role(database, name, sql):
    address = database.address.replace("//tests@", f"//{name}:{SECRET}@")
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(sql).fetchall()


def publish_another(line, name="another", **changes):
    rows = people(first=7000, seed=7)
    return Small(line.public.parents[1]).write(rows, **changes).publish(name)


def test_the_views_give_the_bounds_that_query_gives(with_versions, database, capsys):
    line = with_versions(2)
    bring(line, database)
    query = (
        "SELECT town, AVG(wage), COUNT(*) FROM microdata WHERE age BETWEEN 25 AND 45 GROUP BY town"
    )
    release = str(line.public / "0002")
    capsys.readouterr()
    assert run(["query", release, query, "--rewrite", "postgres"]) == 0
    rewritten = capsys.readouterr().out
    assert run(["query", release, query, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    with psycopg.connect(database.address, autocommit=True) as connection:
        connection.execute("SET search_path = wages")
        cursor = connection.execute(rewritten)
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    rows_by_town = {row["town"]: row for row in rows}
    assert rows_by_town.keys() == {answer_row["town"] for answer_row in answer["rows"]}
    for answer_row in answer["rows"]:
        row = rows_by_town[answer_row["town"]]
        for aggregate, typed in (("avg(wage)", "AVG(wage)"), ("count(*)", "COUNT(*)")):
            for side in ("lower", "upper"):
                assert float(row[f"{aggregate}_{side}"]) == pytest.approx(
                    float(answer_row[typed][side])
                )


def test_functions_read_their_own_version_whoever_calls_them(with_versions, database):
    bring(with_versions(2), database)
    old, new, now = (
        database.ask(f"SELECT sum_lower, sum_upper FROM {schema}.bounds_wage('age > 30')")
        for schema in ("wages_0001", "wages_0002", "wages")
    )
    assert new == now
    assert old != new
    database.ask("CREATE TABLE public.help_wage (x int)")
    assert database.ask("SELECT sum_lower, sum_upper FROM wages.bounds_wage('age > 30')") == now


def test_a_copy_that_earlier_software_made_is_asked_as_before(with_versions, database, monkeypatch):
    """It has no arrays; once the version after it is withdrawn, its functions do without."""
    first = with_versions(1)
    with monkeypatch.context() as earlier:
        earlier.setitem(DIALECTS, "postgres", replace(DIALECTS["postgres"], arrays=False))
        bring(first, database)
    sql = "SELECT sum_lower, sum_upper FROM wages.bounds_wage('age > 30')"
    there = "SELECT count(*) FROM pg_tables WHERE schemaname = '{}' AND tablename = 'arrays_wage'"
    assert database.ask(there.format("wages_0001")) == [(0,)]
    before = database.ask(sql)
    line = first
    publish_another(line)
    bring(line, database)
    assert database.ask(there.format("wages_0001")) == [(0,)]
    assert database.ask(there.format("wages_0002")) == [(1,)]
    assert database.ask(sql) != before
    withdraw(line, "0002", "the wrong table")
    bring(line, database)
    assert database.ask(sql) == before


def test_what_was_granted_on_a_view_stays(with_versions, database):
    line, reader = with_versions(1), with_role(database, "of_views")
    bring(line, database)
    database.ask(f"GRANT USAGE ON SCHEMA wages TO {reader}")
    database.ask(f"GRANT SELECT ON wages.microdata TO {reader}")
    first = as_role(database, reader, "SELECT SUM(wage) FROM wages.microdata")
    publish_another(line)
    bring(line, database)
    second = as_role(database, reader, "SELECT SUM(wage) FROM wages.microdata")
    assert first != second
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_role(database, reader, "SELECT SUM(wage) FROM wages_0001.microdata")


def test_readers_may_read_every_version_and_write_none(with_versions, database):
    line, reader = with_versions(1), with_role(database, "analysts")
    bring(line, configure(database, readers=(reader,)))
    publish_another(line)
    bring(line, database)
    for schema in ("wages", "wages_0001", "wages_0002"):
        assert as_role(database, reader, f"SELECT COUNT(*) FROM {schema}.microdata")
        assert as_role(database, reader, f"SELECT * FROM {schema}.bounds_wage('true')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            as_role(database, reader, f"DELETE FROM {schema}.microdata RETURNING 1")


def test_a_reader_who_is_none_is_told(with_versions, database):
    delivery = bring(with_versions(1), configure(database, readers=("nobody",)))
    assert "the database has no role 'nobody'" in delivery.behind
    assert database.schemas() == {}


@pytest.mark.parametrize("name", ["wages", "wages_0001"])
def test_a_schema_that_is_not_ours_is_refused_and_left(with_versions, database, name):
    database.ask(f"CREATE SCHEMA {name}")
    database.ask(f"CREATE TABLE {name}.microdata (x int)")
    delivery = bring(with_versions(1), database)
    assert f"a schema {name} exists that this line did not make. Name another" in delivery.behind
    assert database.ask(f"SELECT * FROM {name}.microdata") == []
    assert database.schemas() == {}


@pytest.mark.parametrize("comment", [None, "", "[]", '{"sfumato": 1, "line": "others"}', "{"])
def test_a_schema_is_ours_where_its_comment_says_this_line(with_versions, database, comment):
    database.ask("CREATE SCHEMA wages")
    if comment is not None:
        database.ask(f"COMMENT ON SCHEMA wages IS '{comment}'")
    delivery = bring(with_versions(1), database)
    assert "a schema wages exists that this line did not make" in delivery.behind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("08006", TransientFault),
        ("40P01", TransientFault),
        ("57P01", TransientFault),
        (None, TransientFault),
        ("42501", InputError),
        ("22012", InputError),
    ],
)
def test_what_broke_may_be_tried_again_and_what_is_refused_may_not(code, kind):
    access = SimpleNamespace(errors=lambda: (OSError,), code=lambda _: code)
    dialect = SimpleNamespace(access=access)

    def fail():
        raise OSError("a value")

    with pytest.raises(SfumatoError) as caught, translate_errors("here", dialect):
        fail()
    assert type(caught.value) is kind
    assert f"({code or 'OSError'})" in str(caught.value)
    assert "a value" not in str(caught.value)


def test_a_schema_may_be_named(with_versions, database):
    database.ask("CREATE SCHEMA wages")
    line = with_versions(1)
    assert bring(line, configure(database, within="of_the_town")).behind is None
    assert sorted(database.schemas()) == ["of_the_town", "of_the_town_0001"]
    database.require_as(line)


def test_what_others_put_into_our_schemas_is_never_dropped(with_versions, database):
    line = with_versions(2)
    bring(line, database)
    database.ask("CREATE TABLE wages_0002.notes AS SELECT 'mine' AS note")
    database.ask("CREATE TABLE wages.notes AS SELECT 'mine' AS note")
    withdraw(line, "0002", "the wrong table")
    withdraw(line, "0001", "the wrong table")
    delivery = bring(line, database)
    assert delivery.behind is None
    message = "schema {} was not deleted, because it contains things that Sfumato did not make"
    leftovers = [message.format(name) for name in ("wages", "wages_0002")]
    assert [notice.partition(": ")[2] for notice in delivery.notices] == leftovers
    for schema in ("wages", "wages_0002"):
        assert database.ask(f"SELECT note FROM {schema}.notes") == [("mine",)]
        leftovers = f"relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'v')"
        assert database.ask(f"SELECT relname FROM pg_class WHERE {leftovers}") == [("notes",)]
    assert "wages_0001" not in database.schemas()
    assert bring(line, database).behind is None


def test_a_view_of_others_among_ours_is_refused(with_versions, database):
    line = with_versions(1)
    bring(line, database)
    database.ask("COMMENT ON VIEW wages.microdata IS 'mine'")
    publish_another(line)
    delivery = bring(line, database)
    assert "microdata in schema wages was not made by Sfumato" in delivery.behind
    assert "wages_0002" not in database.schemas()


def test_views_of_analysts_go_on_where_columns_stay(with_versions, database):
    line = with_versions(1)
    bring(line, database)
    database.ask("CREATE VIEW public.old AS SELECT age FROM wages.microdata WHERE wage > 500")
    before = database.ask("SELECT COUNT(*) FROM public.old")
    publish_another(line)
    assert bring(line, database).behind is None
    assert database.ask("SELECT COUNT(*) FROM public.old") != before


def other_columns():
    columns = {**SPEC["columns"], "town": {"role": "drop"}}
    return {"columns": columns}


def test_columns_that_change_wait_for_views_of_analysts(with_versions, database):
    line = with_versions(1)
    bring(line, database)
    database.ask("CREATE VIEW public.old AS SELECT town FROM wages.microdata")
    publish_another(line, **other_columns())
    delivery = bring(line, database)
    assert "tables or views of others depend on the old views" in delivery.behind
    assert "wages_0002" not in database.schemas()
    database.ask("DROP VIEW public.old")
    assert bring(line, database).behind is None
    database.require_as(line)


def test_views_and_functions_of_what_is_no_more_are_dropped(with_versions, database):
    def view_names():
        views = database.ask("SELECT viewname FROM pg_views WHERE schemaname = 'wages'")
        condition = "pronamespace = 'wages'::regnamespace"
        return {
            name
            for (name,) in [*views, *database.ask(f"SELECT proname FROM pg_proc WHERE {condition}")]
        }

    line = with_versions(1)
    bring(line, database)
    assert {"help_wage", "bounds_wage"} <= view_names()
    ages = {"age": {"role": "sensitive", "type": "integer"}, "wage": {"role": "drop"}}
    promises = [{"model": "ke-anonymity", "k": 3, "e": 5}]
    publish_another(line, columns={**SPEC["columns"], **ages}, promises=promises, evaluate=None)
    assert bring(line, database).behind is None
    assert {"help_age", "bounds_age"} <= view_names()
    assert not {name for name in view_names() if name.endswith("wage")}


def test_no_view_of_analysts_keeps_what_was_withdrawn(with_versions, database):
    line = with_versions(1)
    publish_another(line, **other_columns())
    bring(line, database)
    database.ask("CREATE VIEW public.old AS SELECT age FROM wages_0002.microdata")
    database.ask("CREATE VIEW public.older AS SELECT wage FROM wages.microdata")
    withdraw(line, "0002", "the wrong table")
    assert bring(line, database).behind is None
    database.require_as(line)
    assert database.ask("SELECT 1 FROM pg_class WHERE relname = 'old'") == []


def test_a_table_that_was_dropped_there_comes_back(with_versions, database):
    line = with_versions(1)
    bring(line, database)
    database.ask("DROP TABLE wages_0001.help_wage CASCADE")
    assert bring(line, database).copied == ("0001",)
    database.require_as(line)


def test_another_release_of_that_number_is_refused(with_versions, database):
    line = with_versions(1)
    bring(line, database)
    comment = database.ask("SELECT obj_description('wages_0001'::regnamespace, 'pg_namespace')")[0][
        0
    ]
    comment = comment.replace(digest_of(line.public / "0001"), "f" * 64)
    database.ask(f"COMMENT ON SCHEMA wages_0001 IS '{comment}'")
    assert (
        "has another release as version 0001 (digest ffffffffffff…)" in bring(line, database).behind
    )


class TestWhatIsSaid:
    @pytest.fixture
    def publisher(self, database):
        """The database by a user with a password, in a variable."""
        role = with_role(database, "publisher")
        address = database.address.replace("//tests@", f"//{role}:${{PUBLISHER_PASSWORD}}@")
        database.environ = {"PUBLISHER_PASSWORD": SECRET}
        return configure(database, uri=address)

    def test_without_rights(self, with_versions, publisher):
        delivery = bring(with_versions(1), publisher)
        assert "the user may not do this there (it needs CREATE on the database" in delivery.behind
        assert SECRET not in delivery.behind

    def test_with_the_rights_that_it_names(self, with_versions, publisher):
        publisher.ask(f"GRANT CREATE ON DATABASE {publisher.name} TO publisher")
        line = with_versions(1)
        assert bring(line, publisher).behind is None
        noted = (line.private / DESTINATIONS).read_text()
        assert "${PUBLISHER_PASSWORD}" in noted
        for path in line.work.parent.rglob("*"):
            if path.is_file():
                assert SECRET.encode() not in path.read_bytes()
        descriptions = publisher.ask(
            "SELECT description FROM pg_description WHERE description ~ 'hunter2'"
        )
        assert descriptions == []

    def test_without_the_variable(self, with_versions, publisher):
        publisher.environ = {}
        delivery = bring(with_versions(1), publisher)
        assert "environment variable PUBLISHER_PASSWORD is not set" in delivery.behind

    def test_nobody_answers(self, with_versions, database):
        delivery = bring(
            with_versions(1), configure(database, uri="postgresql://me@127.0.0.1:1/open")
        )
        assert "postgresql://127.0.0.1:1/open: cannot connect" in delivery.behind

    def test_somebody_reads_for_too_long(self, with_versions, database, monkeypatch):
        line = with_versions(1)
        bring(line, database)
        publish_another(line)
        monkeypatch.setattr(schemas, "_PATIENCE", "50ms")
        with psycopg.connect(database.address) as reader:
            reader.execute("SELECT COUNT(*) FROM wages.microdata")
            delivery = bring(line, database)
        assert (
            "a long query is reading the line there. Deliver again later (55P03)" in delivery.behind
        )
        assert bring(line, database).behind is None


def test_two_writers_at_once(with_versions, database, tmp_path, monkeypatch):
    line = with_versions(1)
    (tmp_path / "other").mkdir()
    with monkeypatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(tmp_path / "other" / "work"))
        small = Small(tmp_path / "other" / "line").write(people(first=9000, seed=9))
        small.publish("of-another")
        other = small.plan().line
    ready, results = threading.Barrier(2), {}

    def write(target_line):
        ready.wait(30)
        results[target_line.public] = bring(target_line, database).behind

    threads = [threading.Thread(target=write, args=(target_line,)) for target_line in (line, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [
        target_line for target_line in (line, other) if results[target_line.public] is None
    ]
    (refused,) = [message for message in results.values() if message is not None]
    assert "another work directory" in refused
    database.require_as(winner)
