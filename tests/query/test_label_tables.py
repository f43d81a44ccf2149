"""Label tables: databases that are given labels return the bounds that `sfumato query` gives."""

import os
import random
from collections import Counter
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.target import target
from tests.query.asked import on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, assert_same_rows, expected_rows
from tests.query.test_composed_labels import LABELS, labelled_release
from tests.query.test_recoded import ALL, FUNCTIONS, PETS, TIGHT, extremes, random_table
from tests.query.test_recoded_truth import Release, queries

EACH = [*LOCAL, *SERVERS]
SEEDS = {"quick": 1, "dev": 3, "ci": 4, "deep": 200}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]


def few_aggregates(query, chance):
    """A query for a few of its aggregates: many take long to be written."""
    selection, rest = query.removeprefix("SELECT ").split(" FROM ", 1)
    items = selection.split(", ")
    keys = [item for item in items if " AS " not in item]
    chosen = chance.sample([item for item in items if " AS " in item], 4)
    having = chance.choice(["", "", " HAVING COUNT(*) > 1"])
    return f"SELECT {', '.join([*keys, *chosen])} FROM {rest}{having}"


@contextmanager
def filled_database(kind, directory, tables, declared):
    """A database that was given a release."""
    directory.mkdir()
    url = address(kind, directory)
    load(on_disk(directory / "release", tables, declared), url, replace=True)
    with target(url) as database:
        yield database


@cache
def releases_asked(form):
    """Releases of a form, and random queries on each: as they are rewritten, with their rows."""
    releases = []
    for seed in range(SEEDS):
        chance = random.Random(f"{form} {seed}")
        with Release(chance, form, edges=0.0) as release:
            queries_drawn = [
                (
                    few_aggregates(queries(release, chance)[0], chance),
                    chance.choice(["possible", "certain"]),
                )
                for _ in range(6)
            ]
            questions = [
                rewritten_answer(release, query, reading) for query, reading in queries_drawn
            ]
        releases.append((release.tables, release.declared, questions))
    return releases


def rewritten_answer(release, query, reading):
    """A query, as it is rewritten, and its rows; or why there is none."""
    try:
        answer = release.answer(query)
    except QueryError:
        return query, "not answered", None
    try:
        rewritten = rewrite(query, release.declared, reading)
    except QueryError as error:
        return query, str(error), None
    return query, rewritten, expected_rows(read_question(query, release.declared), answer, reading)


def compare_answers(database, query, rewritten, expected, met):
    """Hold what a database returns against the bounds here; `met` counts what became of it."""
    kind = database.dialect.name
    if isinstance(rewritten, str):
        met[rewritten[:60]] += 1
        return
    try:
        text = rewritten.sql(kind)
    except QueryError as error:
        met[str(error)[:60]] += 1
        return
    try:
        rows_found = database.execute(text)
    except database.dialect.access.errors() as error:
        met[f"fails: {str(error)[:60]}"] += 1
        if kind in ("postgres", "mariadb"):
            database.end(well=False)
        return
    assert_same_rows(rows_found, expected, (query, text))
    met["compared"] += 1


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_random_queries(form, kind, tmp_path):
    met = Counter()
    for seed, (tables, declared, questions) in enumerate(releases_asked(form)):
        with filled_database(kind, tmp_path / str(seed), tables, declared) as database:
            for query, rewritten, expected in questions:
                compare_answers(database, query, rewritten, expected, met)
    assert met["compared"] > SEEDS


@cache
def worlds_of(*names):
    """A release of labels, and queries by some columns: where, as rewritten, extremes by cell."""
    table, hidden = random_table(np.random.default_rng(0), 5)
    places, questions_found = [list(PETS.columns).index(name) for name in names], []
    for where, holds in TIGHT[: None if not names else 9]:
        query = f"SELECT {', '.join([*names, ALL])} FROM microdata WHERE {where}"
        query += f" GROUP BY {', '.join(names)}" if names else ""
        cells = {
            tuple(row[p] for p in places)
            for hidden_row in hidden
            for row in hidden_row
            if holds(row)
        }
        expected = {}
        for cell in {as_key(cell) for cell in cells or ([] if names else [()])}:
            worlds = extremes(
                hidden,
                lambda r, cell=cell, holds=holds: (
                    holds(r) and as_key([r[p] for p in places]) == cell
                ),
            )
            expected[cell] = [end for function in FUNCTIONS for end in worlds[function][:2]]
        questions_found.append((where, rewrite(query, PETS), expected))
    return table, questions_found


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("names", [[], ["age"], ["sex"], ["vip"], ["kind", "sex"]])
def test_bounds_are_the_extremes_over_all_worlds(names, kind, tmp_path):
    """Without the engine: what a database returns, and every world that the labels leave.

    Of groups, where no other part of the condition is on their columns.
    """
    table, questions = worlds_of(*names)
    compared = 0
    with filled_database(kind, tmp_path / "database", {"microdata": table}, PETS) as database:
        for where, rewritten, expected in questions:
            rows_found = database.execute(rewritten.sql(kind))
            rows_by_key = {as_key(row[: len(names)]): row[len(names) :] for row in rows_found}
            assert set(rows_by_key) == set(expected)
            for cell, row in rows_by_key.items():
                assert [number(value) for value in row] == [
                    number(value) for value in expected[cell]
                ], where
                compared += 1
    assert compared > 8


@cache
def composed_of(seed, *names):
    """A composed release, and queries by some columns: as they are rewritten, with their rows."""
    declared, tables, _ = labelled_release(f"databases {seed}")
    aggregates = "COUNT(*), COUNT(loss), SUM(loss), AVG(loss), MIN(loss), MAX(loss), MAX(word)"
    questions_found = []
    for where, _ in LABELS:
        query = f"SELECT {', '.join([*names, aggregates])} FROM microdata WHERE {where}"
        query += f" GROUP BY {', '.join(names)}" if names else ""
        answer = answer_on(tables, declared, query)
        rows = expected_rows(read_question(query, declared), answer, "possible")
        questions_found.append((query, rewrite(query, declared), rows))
    return declared, tables, questions_found


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("names", [[], ["age"], ["word"], ["sex", "word"]])
def test_composed_releases(names, kind, tmp_path):
    """Some rows are of people who left, and nothing tells which."""
    apart = 0
    for seed in range(2):
        declared, tables, questions = composed_of(seed, *names)
        with filled_database(kind, tmp_path / str(seed), tables, declared) as database:
            for query, rewritten, expected in questions:
                assert_same_rows(database.execute(rewritten.sql(kind)), expected, query)
                apart += sum(row[len(names)] < row[len(names) + 1] for row in expected)
    assert apart > 4


def as_key(values):
    """Values as every database gives them."""
    return tuple(int(value) if isinstance(value, bool) else value for value in values)


def number(value):
    return None if value is None else pytest.approx(float(value))
