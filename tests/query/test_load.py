"""Loading a release: every value as published, all of it or nothing, and errors without secrets."""

import datetime
import random
import sqlite3
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.query import load as loading
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.load import functions_of, load
from sfumato.tasks.query.views import arrays_table
from sfumato.tasks.sql import fill
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.target import target
from tests.query.asked import FORMS, SENSITIVE, declare, in_form, microdata, on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, comparable
from tests.query.releases import write
from tests.query.test_dialects import release
from tests.query.worlds import column
from tests.query.worlds import declare as plain

SECRET = "s3cret"
SMALL = plain(age=column("quasi-identifier", "integer"), loss=column("sensitive", "integer"))
TABLE = pa.table({"age": [1, 2, 3, 4], "loss": [5, 6, 7, 9], "group_id": [0, 0, 1, 1]})
NAMES = ["microdata", "help_loss", "arrays_loss", "groups_loss", "bounds_loss"]
kinds = pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])


@pytest.fixture
def small(tmp_path):
    return write(tmp_path / "small", TABLE, SMALL)


@pytest.fixture
def url(kind, tmp_path):
    """The address of a database without tables, views or functions."""
    url = address(kind, tmp_path)
    with target(url) as database:
        empty_database(database)
    return url


def made_in(kind):
    """Return what a database is given of the small release."""
    lacking = {"sqlite": {"arrays_loss", "bounds_loss"}, "mariadb": {"arrays_loss"}}
    return [name for name in NAMES if name not in lacking.get(kind, ())]


def read_in(kind):
    """The tables and views among them."""
    return {*made_in(kind)} - {"bounds_loss"}


def empty_database(database):
    if database.dialect.name == "postgres":
        database.execute("DROP SCHEMA public CASCADE")
        database.execute("CREATE SCHEMA public")
        database.end(well=True)
    if database.dialect.name == "mariadb":
        database.execute("DROP DATABASE tests")
        database.execute("CREATE DATABASE tests")


def names(database):
    names_found = database.execute(database.dialect.access.existing)
    return {name for (name,) in names_found if not name.startswith("sqlite_")}


def rows(database, table, columns):
    listed = ", ".join(database.dialect.quote(name) for name in columns)
    return database.execute(f"SELECT {listed} FROM {table}")


def sorted_rows(rows_found):
    plain = ([int(v) if isinstance(v, bool) else comparable(v) for v in row] for row in rows_found)
    return sorted(map(repr, plain))


@kinds
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_every_value_is_as_published(form, sensitive, kind, url, tmp_path):
    declared, tables = release(form, sensitive)
    loaded = load(on_disk(tmp_path / "release", tables, declared), url)
    functions = 0 if kind == "sqlite" else len(SENSITIVE)
    assert loaded[: len(tables)] == list(tables)
    arrays = len(SENSITIVE) if DIALECTS[kind].arrays else 0
    readable = len(tables) + arrays + len(SENSITIVE)
    assert len(loaded) == readable + functions
    with target(url) as database:
        assert names(database) == set(loaded[:readable])
        for name, table in tables.items():
            expected = [tuple(row.values()) for row in table.to_pylist()]
            rows_found = rows(database, name, table.column_names)
            assert sorted_rows(rows_found) == sorted_rows(expected), name


@pytest.mark.parametrize(
    ("kind", "types_expected"),
    [
        ("duckdb", ["DECIMAL(38,2)", "DOUBLE", "TIMESTAMP", "DATE", "BOOLEAN", "BIGINT"]),
        pytest.param(
            "postgres",
            [
                "numeric",
                "double precision",
                "timestamp without time zone",
                "date",
                "boolean",
                "bigint",
            ],
            marks=pytest.mark.postgres,
        ),
        ("sqlite", ["real", "real", "text", "text", "integer", "integer"]),
    ],
)
def test_types_are_exact(kind, types_expected, url, tmp_path):
    declared, tables = release("permuted", "together")
    load(on_disk(tmp_path / "release", tables, declared), url)
    columns = ["price", "f", '"at"', "day", "vip", "age"]
    type_call = "pg_typeof({})::text" if kind == "postgres" else "typeof({})"
    whole = " AND ".join(f"{name} IS NOT NULL" for name in columns)
    query = f"SELECT {', '.join(map(type_call.format, columns))} FROM microdata WHERE {whole}"
    with target(url) as database:
        assert set(database.execute(query)) == {tuple(types_expected)}


@kinds
def test_what_is_there_is_replaced_only_when_asked(kind, url, small, tmp_path):
    made = made_in(kind)
    assert load(small, url) == made
    with pytest.raises(InputError, match="table 'microdata' exists already"):
        load(small, url)
    other = write(tmp_path / "other", TABLE.slice(0, 2), SMALL)
    assert load(other, url, replace=True) == made
    with target(url) as database:
        assert sorted_rows(rows(database, "microdata", ["age", "loss"])) == sorted_rows(
            [(1, 5), (2, 6)]
        )
        assert rows(database, "groups_loss", ["group_id", "size", "sum"]) == [(0, 2, 11)]
        assert names(database) == read_in(kind)


@kinds
@pytest.mark.parametrize("replace", [False, True])
def test_what_fails_leaves_all_as_it_was(kind, url, small, replace, tmp_path, monkeypatch):
    if replace:
        load(small, url)
    filled = []

    def fails(database, name, table):
        if filled:
            raise InputError("the disk is full")
        filled.append(name)
        real(database, name, table)

    real = loading.fill
    monkeypatch.setattr(loading, "fill", fails)
    with pytest.raises(InputError, match="the disk is full"):
        load(write(tmp_path / "other", TABLE.slice(0, 2), SMALL), url, replace=replace)
    assert filled
    with target(url) as database:
        assert names(database) == (read_in(kind) if replace else set())
        if replace:
            assert len(rows(database, "microdata", ["age"])) == 4


@kinds
def test_what_fails_at_its_end_leaves_all_as_it_was(kind, url, small, tmp_path, monkeypatch):
    load(small, url)
    ready = loading.groups_view

    def broken(declared, name, dialect):
        wrong = dict.fromkeys(["create", "replace"], "CREATE VIEW (")
        return SimpleNamespace(**vars(ready(declared, name, dialect)) | wrong)

    monkeypatch.setattr(loading, "groups_view", broken)
    with pytest.raises(InputError, match="the database refuses"):
        load(write(tmp_path / "other", TABLE.slice(0, 2), SMALL), url, replace=True)
    with target(url) as database:
        assert names(database) == read_in(kind)
        assert len(rows(database, "microdata", ["age"])) == 4


@kinds
@pytest.mark.parametrize("form", ["permuted", "split"])
def test_functions_return_the_bounds(kind, url, form, tmp_path):
    if kind == "sqlite":
        return
    declared, tables = release(form, "independent")
    load(on_disk(tmp_path / "release", tables, declared), url)
    call = "CALL {}" if kind == "mariadb" else "SELECT * FROM {}"
    with target(url) as database:
        for name, type_ in SENSITIVE.items():
            numbers = type_ in ("integer", "decimal", "float")
            functions = ["COUNT", *(["SUM", "AVG"] if numbers else []), "MIN", "MAX"]
            selection = ", ".join(f'{function}("{name}")' for function in functions)
            for where in ("age > 2 AND vip", "age > 100", "price IS NULL OR f < 0.25"):
                query = f"SELECT {selection} FROM microdata WHERE {where}"
                (row,) = answer_on(tables, declared, query).rows
                count, *bounds = row.values()
                expected = [count.lower, *(end for b in bounds for end in (b.lower, b.upper))]
                text = f"bounds_{name.replace('-', '_')}('{where}')"
                (bounds_returned,) = database.execute(call.format(text))
                for value, other in zip(
                    map(comparable, bounds_returned), map(comparable, expected), strict=True
                ):
                    assert value == (pytest.approx(other) if isinstance(other, float) else other)


@pytest.mark.parametrize("kind", ["duckdb", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_arrays_have_the_bounds_of_so_many_hits_at_their_place(kind, url):
    """In whatever order the help table's rows are found."""
    help_table = pa.table(
        {"group_id": [1, 0, 1, 0, 0], "hits": [2, 3, 1, 1, 2], "l_sum": [8, 30, 4, 1, 11]}
    )
    made = arrays_table("loss", help_table.column_names, DIALECTS[kind])
    with target(url) as database:
        fill.create(database, "help_loss", help_table)
        fill.fill(database, "help_loss", help_table)
        database.execute(made.create)
        rows_found = rows(database, made.name, ["group_id", "l_sum"])
        assert sorted((group, list(array)) for group, array in rows_found) == [
            (0, [1, 11, 30]),
            (1, [4, 8]),
        ]


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_functions_read_arrays_where_there_are_some(kind):
    """Copies that earlier software made have none."""
    (rows_of,) = functions_of(SMALL, DIALECTS[kind], [])
    (arrays,) = functions_of(SMALL, DIALECTS[kind], ["arrays_loss"])
    assert "JOIN help_loss USING (group_id, hits)" in " ".join(rows_of.create.split())
    assert "JOIN arrays_loss AS help_loss USING (group_id)" in " ".join(arrays.create.split())
    # Sums once: means are made of them.
    assert arrays.create.count("[selected.hits]") == rows_of.create.count("(help_loss.") == 6


@kinds
def test_views_say_what_a_group_has(kind, url, tmp_path):
    declared, tables = release("split", "together")
    load(on_disk(tmp_path / "release", tables, declared), url)
    table = microdata(random.Random("split together"))
    values = {}
    for group, gain in zip(*(table[n].to_pylist() for n in ("group_id", "gain")), strict=True):
        values.setdefault(group, []).append(gain)
    expected = [(g, len(v), sum(v), min(v), max(v)) for g, v in values.items()]
    with target(url) as database:
        rows_found = rows(database, "groups_gain", ["group_id", "size", "sum", "min", "max"])
    assert [[*row[:2], *map(float, row[2:])] for row in sorted(rows_found)] == [
        [*row[:2], *map(pytest.approx, map(float, row[2:]))] for row in sorted(expected)
    ]


@kinds
def test_a_recoded_release_is_its_table_and_what_its_labels_admit(kind, url, tmp_path):
    table = pa.table({"age": ["[1, 3]", None, "2"], "loss": pa.array([1, 2, 3], pa.int64())})
    columns = {
        "age": column("quasi-identifier", "integer", nulls=True),
        "loss": SMALL.columns["loss"],
    }
    declared = plain("generalized", **columns)
    loaded = load(on_disk(tmp_path / "release", {"microdata": table}, declared), url)
    assert loaded == ["microdata", "label_age", "value_age"]
    with target(url) as database:
        assert sorted_rows(rows(database, "microdata", ["age", "loss"])) == sorted_rows(
            [("[1, 3]", 1), (None, 2), ("2", 3)]
        )
        assert sorted_rows(
            rows(database, "label_age", ["label", "low", "high", "admits_null"])
        ) == (sorted_rows([("[1, 3]", 1, 3, False), ("2", 2, 2, False)]))
        assert sorted_rows(rows(database, "value_age", ["value"])) == sorted_rows(
            [(1,), (2,), (3,)]
        )


@kinds
def test_values_of_an_earlier_release_are_done_away_with(kind, url, tmp_path):
    """A star admits anything: values told before would leave some out."""
    columns = {"age": column("quasi-identifier", "integer"), "loss": SMALL.columns["loss"]}
    declared = plain("suppressed", **columns)
    for label, column_name in (("2", "value"), ("*", "untold")):
        table = pa.table({"age": ["1", label], "loss": pa.array([1, 2], pa.int64())})
        load(on_disk(tmp_path / label, {"microdata": table}, declared), url, replace=True)
        with target(url) as database:
            assert len(rows(database, "value_age", [column_name])) == (
                2 if column_name == "value" else 1
            )


WORDS = plain(
    word=column("quasi-identifier", "string"),
    f=column("quasi-identifier", "float"),
    d=column("quasi-identifier", "decimal", scale=1),
    day=column("quasi-identifier", "date"),
    loss=column("sensitive", "integer"),
)


@kinds
@pytest.mark.parametrize(
    ("name", "value", "rule", "refused"),
    [
        ("word", "a\0b", "a zero character", {"sqlite", "postgres"}),
        ("word", "x" * 256, "more than 255 characters", {"mariadb"}),
        ("f", float("nan"), "infinite or not a number", {"sqlite", "mariadb"}),
        ("f", float("inf"), "infinite or not a number", {"sqlite", "mariadb"}),
        ("d", Decimal("123456789012345.6"), "more than 15 digits", {"sqlite"}),
        ("day", 2932897, "outside 1 to 9999", {"sqlite", "postgres", "mariadb"}),
    ],
)
def test_what_a_database_cannot_hold_is_refused(kind, url, name, value, rule, refused, tmp_path):
    row = {"word": "x" * 255, "f": 0.5, "d": Decimal("1.5"), "day": 0, "loss": 1}
    types = {n: WORDS.columns[n].arrow_type for n in row}
    table = pa.table({n: pa.array([{**row, name: value}[n]], types[n]) for n in row})
    opened = write(tmp_path / "r", table.append_column("group_id", pa.array([0])), WORDS)
    if kind in refused:
        with pytest.raises(InputError, match=f"microdata: column '{name}': .*{rule}") as error:
            load(opened, url)
        assert "\n" not in str(error.value)
    else:
        assert load(opened, url)


@pytest.mark.postgres
def test_texts_up_to_the_limit_are_sorted_by_mariadb(tmp_path):
    words = ["\U0001f600" * 254 + end for end in "cab"] + ["ä" * 255]
    table = pa.table({"word": words, "f": [0.5] * 4, "group_id": [0] * 4, "loss": [1, 2, 3, 4]})
    day = pa.array([0] * 4, pa.date32())
    table = table.append_column("day", day).append_column("d", pa.array([Decimal(1)] * 4))
    url = address("mariadb", tmp_path)
    load(write(tmp_path / "r", table, WORDS), url, replace=True)
    with target(url) as database:
        rows_found = database.execute(
            "SELECT loss, DENSE_RANK() OVER (ORDER BY word) FROM microdata"
        )
    assert sorted(rows_found) == [(1, 4), (2, 2), (3, 3), (4, 1)]


@pytest.mark.parametrize(
    ("name", "kind", "fits"), [("ä" * 32, "postgres", False), ("n" * 64, "mariadb", True)]
)
def test_names_that_would_be_cut_off(name, kind, fits):
    database = SimpleNamespace(dialect=DIALECTS[kind], place="here", run=lambda statement: None)
    if fits:
        fill.create(database, "t", pa.table({name: [1]}))
    else:
        with pytest.raises(InputError, match="is longer than"):
            fill.create(database, "t", pa.table({name: [1]}))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/db",
        f"mariadb://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql://me@127.0.0.1:1/db?password={SECRET}",
        "postgresql://me:${PASSWORD}@127.0.0.1:1/db",
        f"oracle://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host",
        f"mariadb://me:{SECRET}@host:port/db",
        "sqlite:////no/such/directory/db",
        "duckdb:////no/such/directory/db",
        "duckdb:///:memory:",
        "sqlite://",
        f"me:{SECRET}@host",
        f"postgresql://me:{SECRET}@${{HOST}}/db",
    ],
)
def test_errors_are_one_line_without_secrets(url, small):
    with pytest.raises(InputError) as error:
        load(small, url, environ={"PASSWORD": f"{SECRET}@/:%"})
    message = str(error.value)
    assert SECRET not in message
    assert "me" not in message.replace("memory", "").replace("environment", "").split(":")
    assert "\n" not in message
    if "127.0.0.1" in url:
        assert "127.0.0.1:1/db: cannot connect" in message
    assert error.value.__cause__ is None
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_variables_stand_for_parts_of_an_address(small, tmp_path):
    load(small, "sqlite:///${PLACE}/${NAME}.db", environ={"PLACE": str(tmp_path), "NAME": "a b"})
    connection = sqlite3.connect(tmp_path / "a b.db")
    assert connection.execute("SELECT count(*) FROM microdata").fetchone() == (4,)
    connection.close()


@pytest.mark.parametrize("missing", ["data/microdata", "sql/help_loss"])
def test_missing_and_wrong_files(missing, small, tmp_path):
    path = small.directory / f"{missing}.parquet"
    path.write_bytes(b"no Parquet")
    url = f"duckdb:///{tmp_path}/db"
    with pytest.raises(InputError, match="is not a readable Parquet file"):
        load(small, url)
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        load(small, url)


def test_dates_are_iso_texts_in_sqlite(tmp_path):
    declared, _ = release("permuted", "together")
    tables = in_form(microdata(random.Random(3)), declare("permuted", "together"))
    load(on_disk(tmp_path / "r", tables, declared), f"sqlite:///{tmp_path}/db")
    with target(f"sqlite:///{tmp_path}/db") as database:
        rows_found = database.execute('SELECT "at", day FROM microdata')
    for time_text, day in rows_found:
        assert (
            time_text is None
            or datetime.datetime.fromisoformat(time_text).isoformat(" ", "microseconds")
            == time_text
        )
        assert day is None or datetime.date.fromisoformat(day).isoformat() == day
    assert any(time_text for time_text, _ in rows_found)
