"""Counts beside published marginals: never wider, the truth inside, the same in databases."""

import itertools
import random
from collections import Counter
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on, ask
from sfumato.tasks.query.engines.columns import CountsEngine, open_columns
from sfumato.tasks.query.engines.direct_counts import open_direct_counts
from sfumato.tasks.query.load import load
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import fetch, session
from sfumato.tasks.sql.target import target
from tests.query import asked, test_apart
from tests.query.dialect_laws import LOCAL, SERVERS, address, assert_same_rows
from tests.query.test_apart import PATIENTS, publish_apart
from tests.query.test_direct import assert_same_answers

COLUMNS = list(asked.EXACT)


def with_marginals(declared, *names):
    form = declared.form.model_copy(update={"marginals": names})
    return declared.model_copy(update={"form": form})


@cache
def hard(*names):
    """The hard release of columns by themselves, with the marginals of some of them."""
    plain, table, _ = test_apart.hard("independent")
    declared = with_marginals(plain, *names)
    columns = {name: table[name].to_pylist() for name in declared.columns}
    return declared, table, publish_apart(declared, columns, table["group_id"].to_pylist())


@pytest.mark.parametrize("number", [1, 2, 4])
def test_bounds_are_never_wider_and_contain_the_truth(number):
    outcomes = Counter()
    rng = random.Random(f"marginals {number}")
    for _ in range(40):
        declared, table, tables = hard(*COLUMNS[:number])
        query, keys, _ = test_apart.random_query(rng, together=False)
        try:
            before = answer_on(tables, with_marginals(declared), query).rows
        except QueryError:
            continue
        bounds = {tuple(row[k] for k in keys): row["n"] for row in before}
        after = {
            tuple(row[k] for k in keys): row["n"] for row in answer_on(tables, declared, query).rows
        }
        assert set(after) <= set(bounds)  # HAVING may leave out more
        with session({"microdata": table}) as connection:
            truth = fetch(connection, test_apart.asked_of_rows(query))
        for *key, count in truth:
            cell = after[tuple(key)]
            assert cell.lower <= count <= cell.upper, (query, key)
            assert cell.lower <= cell.estimate <= cell.upper
        for key, cell in after.items():
            assert bounds[key].lower <= cell.lower <= cell.upper <= bounds[key].upper
            wide, narrow = bounds[key].upper - bounds[key].lower, cell.upper - cell.lower
            outcomes["narrower"] += narrow < wide
            outcomes["cells"] += 1
    assert outcomes["cells"] > 100
    assert outcomes["narrower"] > 10


def test_a_count_by_a_counted_column_is_exact():
    declared, table, tables = hard(*COLUMNS)
    for name in COLUMNS:
        query = f'SELECT "{name}", COUNT(*) AS n FROM microdata GROUP BY "{name}"'
        counted = Counter(table[name].to_pylist())
        rows = {row[name]: row["n"] for row in answer_on(tables, declared, query).rows}
        assert {value: (n.lower, n.upper) for value, n in rows.items()} == {
            value: (count, count) for value, count in counted.items()
        }


@pytest.mark.parametrize("estimator", ["weighted", "uniform"])
@pytest.mark.parametrize("number", [1, 3])
def test_codes_answer_as_sql_does(number, estimator):
    declared, _, tables = hard(*COLUMNS[:number])
    rng, direct_answers = random.Random(f"direct {number}"), 0
    with (
        open_columns(tables, declared, estimator) as by_sql,
        open_direct_counts(tables, declared, estimator) as direct,
    ):
        for _ in range(40):
            query, _, _ = test_apart.random_query(rng, together=False)
            question = read_question(query, declared)
            try:
                expected = ask(by_sql, declared, question)
            except QueryError:  # a division by zero
                continue
            with patch.object(
                CountsEngine, "ask", autospec=True, side_effect=CountsEngine.ask
            ) as sql:
                answer = ask(direct, declared, question)
            direct_answers += not sql.called
            assert_same_answers(answer, expected, query)
    assert direct_answers > 10


@cache
def questions():
    declared, _, tables = hard(*COLUMNS[:3])
    return test_apart.counts_answered(declared, tables, random.Random(4), 25)


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_databases_give_the_same(kind, tmp_path):
    declared, _, tables = hard(*COLUMNS[:3])
    release = asked.on_disk(tmp_path / "release", tables, declared)
    url, outcomes = address(kind, tmp_path), Counter()
    assert set(load(release, url, replace=True)) == set(tables)
    with target(url) as database:
        for query, rewritten, expected in questions():
            try:
                text = rewritten.sql(kind)
            except QueryError:
                continue
            assert_same_rows(database.execute(text), expected, query)
            outcomes["answered"] += 1
    assert outcomes["answered"] > 5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("names", [("age",), ("sex",), ("age", "sex")])
def test_no_world_with_these_totals_is_outside(seed, names):
    """Every world of two groups is counted that has the published totals."""
    rng = random.Random(seed)
    group = [0] * rng.randint(1, 3) + [1] * rng.randint(1, 3)
    columns: dict[str, list[Any]] = {
        "age": [rng.randrange(3) for _ in group],
        "sex": [rng.choice("MF") for _ in group],
        "zip": [0] * len(group),
        "disease": [rng.choice("ab") for _ in group],
    }
    declared = with_marginals(PATIENTS, *names)
    tables = publish_apart(declared, columns, group)
    totals = {name: Counter(columns[name]) for name in names}
    ways = {name: column_ways(columns[name], group) for name in ("age", "sex")}
    worlds = [
        dict(columns, age=age, sex=sex) for age, sex in itertools.product(ways["age"], ways["sex"])
    ]
    worlds = [w for w in worlds if all(Counter(w[name]) == totals[name] for name in names)]
    for where, holds in test_apart.WHERE.items():
        condition = f" WHERE {where}" if where else ""
        for key in (None, "age", "sex"):
            head, tail = (f"{key}, ", f" GROUP BY {key}") if key else ("", "")
            query = f"SELECT {head}COUNT(*) AS n FROM microdata{condition}{tail}"
            rows = answer_on(tables, declared, query).rows
            bounds = {row[key] if key else None: row["n"] for row in rows}
            for world in worlds:
                matching = [row for row in rows_of(world) if holds(*row.values())]
                for value, count in Counter(row[key] if key else None for row in matching).items():
                    assert bounds[value].lower <= count <= bounds[value].upper
                met = {row[key] if key else None for row in matching}
                assert all(n.lower == 0 for value, n in bounds.items() if value not in met)


def column_ways(values, group):
    """Every column of two groups whose groups have the same sets of values."""
    of_group = [[v for v, g in zip(values, group, strict=True) if g == number] for number in (0, 1)]
    ways = [test_apart.surjections(sorted(set(own)), len(own)) for own in of_group]
    return [(*first, *second) for first, second in itertools.product(*ways)]


def rows_of(world):
    return [dict(zip(world, row, strict=True)) for row in zip(*world.values(), strict=True)]
