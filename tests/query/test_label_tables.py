"""Label tables: databases that are given labels return the bounds that `sfumato query` gives."""

import os
import random
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.in_databases.single import read_question
from sfumato.tasks.query.load import load
from sfumato.tasks.query.sql.rewrite import rewrite
from sfumato.tasks.sql.target import target
from tests.query.asked import on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, assert_same_rows, returned
from tests.query.test_composed_labels import LABELS, labelled
from tests.query.test_recoded import ALL, FUNCTIONS, PETS, TIGHT, extremes, random_table
from tests.query.test_recoded_truth import Release, queries

EACH = [*LOCAL, *SERVERS]
SEEDS = {"dev": 3, "ci": 4, "deep": 200}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]


def few_aggregates(query, chance):
    """A query for a few of its aggregates: many take long to be written."""
    shown, rest = query.removeprefix("SELECT ").split(" FROM ", 1)
    items = shown.split(", ")
    keys = [item for item in items if " AS " not in item]
    chosen = chance.sample([item for item in items if " AS " in item], 4)
    having = chance.choice(["", "", " HAVING COUNT(*) > 1"])
    return f"SELECT {', '.join([*keys, *chosen])} FROM {rest}{having}"


@contextmanager
def filled(kind, directory, tables, declared):
    """A database that was given a release."""
    directory.mkdir()
    url = address(kind, directory)
    load(on_disk(directory / "release", tables, declared), url, replace=True)
    with target(url) as database:
        yield database


def compared(database, release, query, reading, met):
    """Hold what a database returns against the bounds here; `met` counts what became of it."""
    kind, declared = database.dialect.name, release.declared
    try:
        answer = release.answer(query)
    except QueryError:
        met["not answered"] += 1
        return
    try:
        text = rewrite(query, declared, reading).sql(kind)
    except QueryError as error:
        met[str(error)[:60]] += 1
        return
    try:
        found = database.execute(text)
    except database.dialect.access.errors() as error:
        met[f"fails: {str(error)[:60]}"] += 1
        if kind in ("postgres", "mariadb"):
            database.end(well=False)
        return
    assert_same_rows(
        found, returned(read_question(query, declared), answer, reading), (query, text)
    )
    met["compared"] += 1


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_random_queries(form, kind, tmp_path):
    met = Counter()
    for seed in range(SEEDS):
        chance = random.Random(f"{form} {seed}")
        with (
            Release(chance, form, edges=0.0) as release,
            filled(kind, tmp_path / str(seed), release.tables, release.declared) as database,
        ):
            for _ in range(6):
                query = few_aggregates(queries(release, chance)[0], chance)
                compared(database, release, query, chance.choice(["possible", "certain"]), met)
    assert met["compared"] > SEEDS


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("names", [[], ["age"], ["sex"], ["vip"], ["kind", "sex"]])
def test_bounds_are_the_extremes_over_all_worlds(names, kind, tmp_path):
    """Without the engine: what a database returns, and every world that the labels leave.

    Of groups, where no other part of the condition is on their columns.
    """
    places = [list(PETS.columns).index(name) for name in names]
    compared = 0
    for seed in range(1):
        table, hidden = random_table(np.random.default_rng(seed), 5)
        with filled(kind, tmp_path / str(seed), {"microdata": table}, PETS) as database:
            for where, holds in TIGHT[: None if not names else 9]:
                query = f"SELECT {', '.join([*names, ALL])} FROM microdata WHERE {where}"
                query += f" GROUP BY {', '.join(names)}" if names else ""
                found = database.execute(rewrite(query, PETS).sql(kind))
                told = {as_key(row[: len(names)]): row[len(names) :] for row in found}
                cells = {tuple(row[p] for p in places) for of in hidden for row in of if holds(row)}
                assert set(told) == {as_key(cell) for cell in cells or ([] if names else [()])}
                for cell, row in told.items():
                    worlds = extremes(
                        hidden,
                        lambda r, cell=cell, holds=holds: (
                            holds(r) and as_key([r[p] for p in places]) == cell
                        ),
                    )
                    expected = [end for function in FUNCTIONS for end in worlds[function][:2]]
                    assert [number(of) for of in row] == [number(of) for of in expected], where
                    compared += 1
    assert compared > 8


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("names", [[], ["age"], ["word"], ["sex", "word"]])
def test_composed_releases(names, kind, tmp_path):
    """Some rows are of people who left, and nothing tells which."""
    keys = ", ".join(names)
    aggregates = "COUNT(*), COUNT(loss), SUM(loss), AVG(loss), MIN(loss), MAX(loss), MAX(word)"
    apart = 0
    for seed in range(2):
        declared, tables, _ = labelled(f"databases {seed}")
        with filled(kind, tmp_path / str(seed), tables, declared) as database:
            for where, _ in LABELS:
                query = f"SELECT {', '.join([*names, aggregates])} FROM microdata WHERE {where}"
                query += f" GROUP BY {keys}" if names else ""
                expected = returned(
                    read_question(query, declared), answer_on(tables, declared, query), "possible"
                )
                assert_same_rows(
                    database.execute(rewrite(query, declared).sql(kind)), expected, query
                )
                apart += sum(row[len(names)] < row[len(names) + 1] for row in expected)
    assert apart > 4


def as_key(values):
    """Values as every database gives them."""
    return tuple(int(value) if isinstance(value, bool) else value for value in values)


def number(value):
    return None if value is None else pytest.approx(float(value))
