"""Rewritten queries against the same aggregate on the original table, in DuckDB and PostgreSQL."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import psycopg
import pyarrow as pa

from sfumato.tasks.query.help_tables.rows import help_table
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from tests.query.databases import postgres
from tests.query.releases import write
from tests.query.worlds import column, declare

ROWS = 10**6
LOSSES = declare(
    age=column("quasi-identifier", "integer"),
    town=column("quasi-identifier", "integer"),
    loss=column("sensitive", "integer"),
)
QUERIES = {
    "rows by condition": "SELECT AVG(loss) FROM microdata WHERE age BETWEEN 30 AND 49",
    "rows by cell": "SELECT town, AVG(loss) FROM microdata WHERE age < 60 GROUP BY town",
    "sensitive condition": "SELECT AVG(loss) FROM microdata WHERE age < 60 AND loss > 900",
}


def main() -> None:
    """Print wall milliseconds of the original and of the rewritten query, and their ratio."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "age": rng.integers(17, 90, ROWS),
            "town": rng.integers(0, 50, ROWS),
            "loss": rng.integers(0, 1000, ROWS),
            "group_id": np.repeat(np.arange(ROWS // 5), 5),
        }
    )
    with tempfile.TemporaryDirectory() as directory:
        release = write(Path(directory) / "release", table, LOSSES)
        with duckdb.connect() as connection:
            connection.register("shown", table)
            connection.register("helping", help_table(table, "loss"))
            connection.execute("CREATE TABLE microdata AS SELECT * FROM shown")
            connection.execute("CREATE TABLE help_loss AS SELECT * FROM helping")
            _compare("DuckDB", lambda sql: connection.execute(sql).fetchall(), "duckdb")
        address = postgres()
        start = time.perf_counter()
        load(release, address)
        print(f"load into PostgreSQL, {ROWS:,} rows: {time.perf_counter() - start:.1f} s")
        with psycopg.connect(address) as server:
            _compare("PostgreSQL", lambda sql: server.execute(sql).fetchall(), "postgres")


def _compare(database: str, run: Callable[[str], object], dialect: str) -> None:
    for name, query in QUERIES.items():
        plain, rewritten = _wall(run, query), _wall(run, rewrite(query, LOSSES).sql(dialect))
        print(
            f"{database}, {ROWS:,} rows, {name}: {1e3 * plain:.0f} ms, rewritten "
            f"{1e3 * rewritten:.0f} ms, {rewritten / plain:.1f} x"
        )


def _wall(run: Callable[[str], object], sql: str) -> float:
    run(sql)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        run(sql)
        taken.append(time.perf_counter() - start)
    return median(taken)
