"""Worlds that are asked together answer as each does alone."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.query.every_world import EveryWorld
from tests.query.fifty import ANSWERED, ORDERED
from tests.query.test_matched import random_rows, some_missing

QUERIES = [query for _, query in ANSWERED] + [query for query, _ in ORDERED]


@pytest.fixture(scope="module")
def tables():
    """Tables of a few rows with missing values; the last has no rows."""
    generator = np.random.default_rng(7)
    random_tables = [some_missing(generator, random_rows(generator, [3, 2])) for _ in range(6)]
    return [*random_tables, random_tables[0].slice(0, 0)]


@pytest.fixture(scope="module")
def together(tables):
    return EveryWorld(tables)


@pytest.fixture(scope="module")
def alone(tables):
    """Return a connection to each table."""
    connections = []
    for table in tables:
        connections.append(duckdb.connect(config={"threads": 1}))
        connections[-1].execute("PRAGMA disable_optimizer")
        connections[-1].register("microdata", table)
    return connections


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_every_world_answers_as_it_does_alone(together, alone, query):
    expected = [connection.execute(query).fetchall() for connection in alone]
    assert [in_order(rows) for rows in together.answers(query)] == [in_order(e) for e in expected]


def in_order(rows):
    return sorted(map(repr, rows))


def test_worlds_without_rows_are_counted():
    table = pa.table({"loss": pa.array([], pa.int64())})
    worlds = EveryWorld([table, table])
    assert worlds.size == 2
    assert worlds.answers("SELECT COUNT(*) FROM microdata") == [[(0,)], [(0,)]]
