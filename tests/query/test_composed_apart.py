"""Composed releases of counts: bounds are the extremes over every world."""

import itertools
import random
from collections import Counter

import pytest

from sfumato.tasks.query.ask import answer_on, ask, engine
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import session
from tests.query.composed import (
    as_composed,
    publish_composed,
    random_columns,
    random_groups,
    values_of,
)
from tests.query.dialect_laws import assert_same_rows, expected_rows, rewritten_texts
from tests.query.test_apart import surjections
from tests.query.worlds import (
    HAVINGS,
    column,
    declare,
    in_every_world,
)

PATIENTS = as_composed(
    declare(
        "ambiguous",
        age=column("quasi-identifier", "integer"),
        sex=column("quasi-identifier", "string", nulls=True),
        word=column("sensitive", "string"),
    )
)
COUNTED = {
    "": lambda *_: True,
    "age >= 1": lambda age, *_: age >= 1,
    "word = 'a'": lambda _age, _sex, word: word == "a",
    "sex = 'm' AND word = 'a'": lambda _, sex, word: (sex, word) == ("m", "a"),
    "age <= 1 AND sex IS NULL AND word = 'b'": lambda *row: row[0] <= 1 and row[1:] == (None, "b"),
}


def patients(seed):
    rng = random.Random(seed)
    group, kind = random_groups(rng)
    columns = random_columns(rng, len(group))
    columns = {name: columns[name] for name in PATIENTS.columns}
    people = [
        values
        for values, leaving in zip(zip(*columns.values(), strict=True), kind, strict=True)
        if not leaving
    ]
    return publish_composed(PATIENTS, columns, group, kind), people


def counts_in_worlds(tables, holds, place=None):
    """Count the people of each cell in every world that the tables leave."""
    counts_found = {()}
    for row in tables["lineage"].to_pylist():
        size, here = row["rows"] + row["vacant"], set()
        admitted = [
            [
                row_[name]
                for row_ in tables[table].to_pylist()
                if row_["group_id"] == row["group_id"]
            ]
            for table, name in (("at_age", "age"), ("at_sex", "sex"))
        ]
        ways = [surjections(values, size) for values in admitted]
        words = [word for (word,) in values_of(tables, row["group_id"], ["word"])]
        for world in itertools.product(*ways):
            for people in itertools.combinations(zip(*world, words, strict=True), row["rows"]):
                counted_values = (
                    person[place] if place is not None else None
                    for person in people
                    if holds(*person)
                )
                here.add(tuple(sorted(counted_values, key=str)))
        counts_found = {
            tuple(sorted(a + b, key=str)) for a, b in itertools.product(counts_found, here)
        }
    return [Counter(counts) for counts in counts_found]


@pytest.mark.parametrize("where", COUNTED)
def test_counts(where):
    for seed in range(5):
        tables, people = patients(f"counts {seed}")
        asked_for = "SELECT COUNT(*) AS n FROM microdata" + (f" WHERE {where}" if where else "")
        bounds = answer_on(tables, PATIENTS, asked_for).rows[0]["n"]
        worlds = [counts[None] for counts in counts_in_worlds(tables, COUNTED[where])]
        assert (bounds.lower, bounds.upper) == (min(worlds), max(worlds))
        assert sum(COUNTED[where](*person) for person in people) in worlds
        assert bounds.lower <= bounds.estimate <= bounds.upper
        if not where:
            assert bounds.lower == bounds.upper == bounds.estimate == len(people)


@pytest.mark.parametrize("where", ["", "age >= 1", "word = 'a'"])
@pytest.mark.parametrize("names", [[], ["sex"]])
def test_certain_counts(names, where):
    conditions = [having for having in HAVINGS if "loss" not in having]
    query = f"SELECT {', '.join([*names, 'COUNT(*) AS n'])} FROM microdata"
    query += (f" WHERE {where}" if where else "") + (" GROUP BY sex" if names else "")
    met, texts = Counter(), rewritten_texts(query, PATIENTS, conditions)
    for seed in range(4):
        tables, _ = patients(f"certain {seed}")
        worlds = counts_in_worlds(tables, COUNTED[where], 1 if names else None)
        cells = {(sex,) for counts in worlds for sex in counts} if names else {()}
        outcomes = {
            cell: {(None,) * counts[cell[0] if names else None] for counts in worlds}
            for cell in cells
        }
        with engine(tables, PATIENTS) as asking, session(tables) as connection:
            for having in conditions:
                asked_for = f"{query} HAVING {having}"
                question = read_question(asked_for, PATIENTS)
                answer = ask(asking, PATIENTS, question)
                met += in_every_world(answer, names, having, outcomes)
                for reading, text in texts[having].items():
                    rows_found = connection.execute(text).fetchall()
                    assert_same_rows(
                        [row[:-1] for row in rows_found],
                        expected_rows(question, answer, reading),
                        query,
                    )
    assert met["certain"] or (names and where)
    assert met["empty"] or not names
