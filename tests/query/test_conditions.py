"""Conditions on values: decided by DuckDB once, and the same when they are asked about again."""

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import parse_one

from sfumato.tasks.query.engines import conditions
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.sql.session import session

VIEW = "numbers"


@pytest.fixture
def queries_heard(monkeypatch):
    """The queries that DuckDB is asked."""
    queries, fetch_table = [], conditions.fetch_table

    def fetch(connection, tree):
        queries.append(tree.sql("duckdb"))
        return fetch_table(connection, tree)

    monkeypatch.setattr(conditions, "fetch_table", fetch)
    return queries


@pytest.fixture
def decide():
    """Decides a condition on the numbers 1 to 4 and a null, or its negation."""
    values = pa.array([1, 2, 3, 4, None])
    with session({VIEW: pa.table({"n": values}), "others": pa.table({"n": [5]})}) as connection:
        judge = ValueConditions(connection)

        def decide(sql, view=VIEW, *, holds=True):
            return judge._values(parse_one(sql, dialect="duckdb"), view, holds=holds).tolist()

        yield decide


def test_a_condition_is_decided_once_and_its_negation_apart(decide, queries_heard):
    for _ in range(3):
        assert decide("n < 3") == [True, True, False, False, False]
        assert decide("n < 3", holds=False) == [False, False, True, True, False]
        assert decide("n < 3", "others") == [False]
        assert decide("n < 4") == [True, True, True, False, False]
    assert len(queries_heard) == 4


def test_long_conditions_are_decided_anew(decide, queries_heard):
    long = f"n IN ({', '.join(map(str, range(2, 2000)))})"
    for _ in range(2):
        assert decide(long) == [False, True, True, True, False]
    assert len(queries_heard) == 2


def test_no_more_is_remembered_than_there_is_room_for(decide, queries_heard, monkeypatch):
    monkeypatch.setattr(conditions, "_MOST_CONDITIONS", 1)
    for _ in range(2):
        assert decide("n < 3") == [True, True, False, False, False]
        assert decide("n > 3") == [False, False, False, True, False]
    assert len(queries_heard) == 3


def test_what_is_remembered_cannot_be_written_over():
    with session({VIEW: pa.table({"n": [1]})}) as connection:
        decided = ValueConditions(connection)._values(parse_one("n = 1"), VIEW, holds=True)
    with pytest.raises(ValueError, match="read-only"):
        np.logical_not(decided, out=decided)
