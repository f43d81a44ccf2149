"""Codes and group ids answer as SQL does where columns stand by themselves, and by subdomain."""

import itertools
import os
import random
from unittest.mock import patch

import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import ask
from sfumato.tasks.query.engines.columns import CountsEngine, open_columns
from sfumato.tasks.query.engines.direct_counts import open_direct_counts
from sfumato.tasks.query.engines.direct_subdomains import open_direct_subdomains
from sfumato.tasks.query.engines.subdomains import SubdomainsEngine, open_subdomains
from sfumato.tasks.query.sql.single import read_question
from tests.query import test_apart as apart
from tests.query import test_composed_apart as composed
from tests.query import test_subdomains as subdomains
from tests.query.test_direct import assert_same_answers

EACH = {"quick": 10, "dev": 25, "ci": 60, "deep": 1000}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]
LEAST_DIRECT = 0.4  # of all questions, most others of which divide by zero


def note_calls(kind, method):
    """Note whether a method of the engine that asks SQL is called."""
    return patch.object(kind, method, autospec=True, side_effect=getattr(kind, method))


@pytest.mark.parametrize("estimator", ["weighted", "uniform"])
@pytest.mark.parametrize("sensitive", ["independent", "together"])
def test_counts_of_columns_by_themselves(sensitive, estimator):
    declared, _, tables = apart.hard(sensitive)
    rng = random.Random(f"direct {sensitive} {estimator}")
    queries = []
    while len(queries) < EACH:
        query, keys, _ = apart.random_query(rng, sensitive == "together")
        if len(keys) < 2:
            queries.append(query)
    answered = 0
    with (
        open_columns(tables, declared, estimator) as by_sql,
        open_direct_counts(tables, declared, estimator) as direct,
    ):
        for query in queries:
            try:
                question = read_question(query, declared)
                expected = ask(by_sql, declared, question)
            except QueryError:  # a division by zero
                continue
            with patch.object(
                CountsEngine, "ask", autospec=True, side_effect=CountsEngine.ask
            ) as sql:
                answer = ask(direct, declared, question)
            answered += not sql.called
            assert_same_answers(answer, expected, query)
    assert answered > LEAST_DIRECT * len(queries)


@pytest.mark.parametrize("estimator", ["weighted", "uniform"])
@pytest.mark.parametrize("where", composed.COUNTED)
def test_counts_of_a_release_that_people_have_left(where, estimator):
    condition = f" WHERE {where}" if where else ""
    queries = [
        f"SELECT COUNT(*) AS n FROM microdata{condition}",
        f"SELECT sex, COUNT(*) AS n FROM microdata{condition} GROUP BY sex ORDER BY sex",
    ]
    for seed, query in itertools.product(range(6), queries):
        tables, _ = composed.patients(f"direct {seed}")
        question = read_question(query, composed.PATIENTS)
        with (
            open_columns(tables, composed.PATIENTS, estimator) as by_sql,
            open_direct_counts(tables, composed.PATIENTS, estimator) as direct,
        ):
            expected = ask(by_sql, composed.PATIENTS, question)
            with note_calls(CountsEngine, "ask") as sql:
                answer = ask(direct, composed.PATIENTS, question)
            assert not sql.called
            assert_same_answers(answer, expected, query)


@pytest.mark.parametrize("name", subdomains.TYPES)
def test_bounds_by_subdomain(name):
    declared, tables = subdomains.hard(name)
    queries = subdomains.Queries(random.Random(f"direct {name}"), name)
    answered = 0
    with (
        open_subdomains(tables, declared) as by_sql,
        open_direct_subdomains(tables, declared) as direct,
    ):
        for _ in range(EACH):
            query, _ = queries.query()
            question = read_question(query, declared)
            try:
                expected = ask(by_sql, declared, question)
            except QueryError:  # a division by zero
                with pytest.raises(QueryError):
                    ask(direct, declared, question)
                continue
            with note_calls(SubdomainsEngine, "_keys") as sql:
                answer = ask(direct, declared, question)
            answered += not sql.called
            assert_same_answers(answer, expected, query)
    assert answered > LEAST_DIRECT * EACH
