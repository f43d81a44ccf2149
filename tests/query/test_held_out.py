"""Ordinary queries beside those that the language was built on, on a frozen release."""

from dataclasses import replace

import duckdb
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answers
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.terms.opened import open_release
from tests.corpus.lines import CORPUS
from tests.query.held_out import HELD_OUT, REFUSED
from tests.query.test_language_of_worlds import holds

FLOOR = 36
RELEASE = CORPUS / "format-2" / "public" / "corpus-split" / "0001"
SHOWN = ("age", "education", "marital-status", "occupation", "sex", "hours-per-week")


@pytest.fixture(scope="module")
def held_out_answers():
    release = replace(open_release(RELEASE), verified=True)
    return list(answers(release, HELD_OUT))


@pytest.fixture(scope="module")
def original():
    """The table that the release is of; rows with nulls are not represented."""
    columns = ", ".join(f'"{name}"' for name in SHOWN)
    conditions = " AND ".join(f'"{name}" IS NOT NULL' for name in SHOWN)
    with duckdb.connect() as connection:
        source = connection.read_csv(str(CORPUS / "sources" / "first.csv"))
        connection.register("source", source)
        rows = f"CREATE TABLE microdata AS SELECT {columns} FROM source WHERE {conditions}"
        connection.execute(rows)
        yield connection


def test_most_are_answered_and_each_other_has_its_reason(held_out_answers):
    assert len(HELD_OUT) == 50
    refused = {
        n: str(error) for n, error in enumerate(held_out_answers) if isinstance(error, QueryError)
    }
    assert len(HELD_OUT) - len(refused) >= FLOOR
    assert set(refused) == set(REFUSED)
    for place, why in REFUSED.items():
        assert why in refused[place]
        assert refused[place].startswith("not allowed: ")


@pytest.mark.parametrize("place", sorted(set(range(50)) - set(REFUSED)))
def test_answers_hold_that_of_the_original(held_out_answers, original, place):
    answer = held_out_answers[place]
    truth = original.execute(HELD_OUT[place]).fetchall()
    assert sum(answer.certain) <= len(truth) <= len(answer.rows)
    for row_of_truth in truth:
        assert any(is_within(row.values(), row_of_truth) for row in answer.rows), row_of_truth


def is_within(row, truth):
    """Tell if a row is about the same group, and its bounds hold what is true of it."""
    return all(
        holds(bounds, _number(value)) if isinstance(bounds, Bounds) else bounds == value
        for bounds, value in zip(row, truth, strict=True)
    )


def _number(value):
    return value if isinstance(value, str | type(None)) else float(value)
