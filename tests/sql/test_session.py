import subprocess
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from sfumato.expectations.shared.errors import InputError, QueryError
from sfumato.tasks.sql.session import fetch, session

pytestmark = pytest.mark.usefixtures("own_databases")
ROWS = pa.table({"x": [1, 2], "y": ["secret", "other"]})


@pytest.fixture
def file(tmp_path):
    directory = tmp_path / "year=2024" / "it's [1]*"
    directory.mkdir(parents=True)
    path = directory / "rows.parquet"
    pq.write_table(ROWS, path)
    return path


def test_tables_in_memory_and_in_files_are_seen_alike(file):
    with session({"here": ROWS, "There": file}) as connection:
        for name in ("here", "There"):
            assert fetch(connection, exp.select("*").from_(name)) == [(1, "secret"), (2, "other")]


def test_each_session_has_its_own_database(file):
    with session({"a": ROWS}), session({"b": file}) as other, pytest.raises(QueryError):
        fetch(other, exp.select("*").from_("a"))


@pytest.mark.parametrize(
    "attempt",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "COPY a TO 'copy.csv'",
        "ATTACH 'other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SET threads = 1",
        "SELECT * FROM ROWS_OF_THIS_PROCESS",
        "SELECT * FROM duckdb_secrets_of('x')",
        "EXPORT DATABASE 'exported'",
    ],
)
def test_nothing_else_can_be_reached(attempt, file):
    ROWS_OF_THIS_PROCESS = ROWS  # noqa: F841 -- a replacement scan would find it
    with session({"a": ROWS, "b": file}) as connection, pytest.raises(duckdb.Error):
        connection.execute(attempt)


def test_messages_of_the_database_are_not_passed_on():
    query = sqlglot.parse_one("SELECT CAST(y AS INT) FROM a", read="duckdb")
    with session({"a": ROWS}) as connection, pytest.raises(QueryError) as refused:
        fetch(connection, query)
    assert str(refused.value) == "the query could not be evaluated: ConversionException"
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_missing_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"), session({"a": tmp_path / "none"}):
        pass
    text = tmp_path / "text.parquet"
    text.write_text("secret")
    with (
        pytest.raises(InputError, match="not a readable Parquet file") as refused,
        session({"a": text}) as connection,
    ):
        connection.execute("SELECT 1")
    assert "secret" not in str(refused.value)


NOTEBOOK = """
import sys, types
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: shell
sys.modules["ipywidgets"] = None
import duckdb
try:
    duckdb.connect(":memory:").execute("SET enable_progress_bar = false")
    raise SystemExit("the driver took it: this is no notebook without ipywidgets")
except duckdb.InvalidInputException as error:
    assert "ipywidgets" in str(error), error
import pyarrow as pa
from sfumato.tasks.sql.session import session
with session({"rows": pa.table({"x": [1, 2]})}) as connection:
    print(connection.execute("SELECT sum(x) FROM rows").fetchone())
"""


def test_a_notebook_without_ipywidgets_has_sessions():
    """There DuckDB refuses to be told that it draws no progress bar."""
    ran = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "(3,)\n"
