"""Composed releases of labels: bounds are the extremes over every world."""

import itertools
import random
from collections import Counter
from functools import cache

import pytest

from sfumato.tasks.forms.labels import admits
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.query.ask import answer_on
from tests.query.composed import (
    AGES,
    ALL,
    FUNCTIONS,
    SEXES,
    as_composed,
    assert_outcomes,
    combine_groups,
    publish_composed,
    random_columns,
    random_groups,
)
from tests.query.test_recoded import KINDS
from tests.query.worlds import (
    HAVINGS,
    aggregate,
    answers_on,
    column,
    declare,
    in_every_world,
    shape,
)

PETS = declare(
    "generalized",
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string", nulls=True),
    kind=column("quasi-identifier", "string", hierarchy=KINDS),
    loss=column("sensitive", "integer"),
    word=column("insensitive", "string"),
)
LABELS = [
    ("TRUE", lambda r: True),
    ("age <= 1", lambda r: r["age"] <= 1),
    ("age < 99", lambda r: True),
    ("sex = 'f' AND loss > 0", lambda r: r["sex"] == "f" and r["loss"] > 0),
    ("loss > 0", lambda r: r["loss"] > 0),
    ("loss > 0 OR age = 1", lambda r: r["loss"] > 0 or r["age"] == 1),
    ("word = 'a' OR sex = 'm'", lambda r: r["word"] == "a" or r["sex"] == "m"),
    ("NOT kind = 'cat'", lambda r: r["kind"] != "cat"),
]


UNIVERSE = {"age": AGES, "sex": SEXES, "kind": ["cat", "dog", "wolf"]}


def rows_behind(row):
    """The rows that a row of labels may be, where it is somebody's."""
    behind = [
        [value for value in values if admits(readers("generalized")[name](row[name]), value)]
        for name, values in UNIVERSE.items()
    ]
    for values in itertools.product(*behind):
        yield row | dict(zip(UNIVERSE, values, strict=True))


@cache
def readers(method):
    """The readers of the labels of a form."""
    read_label_of = reader_for(FORMS[method])
    return {name: read_label_of(name, PETS.columns[name]) for name in UNIVERSE}


def outcomes_of_labels(tables, holds, name="loss"):
    """The values of a column that a question means in every world."""
    live = dict(
        zip(
            *(tables["lineage"][column].to_pylist() for column in ("group_id", "rows")), strict=True
        )
    )
    outcomes_by_group = {}
    for row in tables["microdata"].to_pylist():
        outcomes_of_row = {(row[name],) if holds(row) else () for row in rows_behind(row)}
        outcomes_by_group.setdefault(row["group_id"], []).append(outcomes_of_row)
    return combine_groups(
        {
            tuple(sorted(itertools.chain(*world)))
            for people in itertools.combinations(rows, live[group])
            for world in itertools.product(*people)
        }
        for group, rows in outcomes_by_group.items()
    )


def labelled_release(seed, form="generalized"):
    """A release of labels, and its rows with what was behind."""
    declared, rng = as_composed(PETS.model_copy(update={"form": shape(form)})), random.Random(seed)
    group, kind = random_groups(rng, largest=5)
    columns = random_columns(rng, len(group), kind=["cat", "dog", "wolf"])
    people = [
        {name: column_values[i] for name, column_values in columns.items()}
        for i in range(len(group))
        if not kind[i]
    ]
    return declared, publish_composed(declared, columns, group, kind), people


@pytest.mark.parametrize(("where", "holds"), LABELS)
def test_labels(where, holds):
    apart = 0
    for seed in range(8):
        declared, tables, people = labelled_release(f"labels {seed}")
        query = f"SELECT {ALL} FROM microdata WHERE {where}"
        (row,) = answer_on(tables, declared, query).rows
        outcomes = outcomes_of_labels(tables, holds)
        assert tuple(sorted(row["loss"] for row in people if holds(row))) in outcomes
        assert_outcomes(row, outcomes, FUNCTIONS[:-1])
        bounds = row["count(loss)"]
        if where in ("TRUE", "age < 99"):
            assert bounds.lower == bounds.upper == bounds.estimate == len(people)
        apart += bounds.lower < bounds.upper
    assert bool(apart) == (where not in ("TRUE", "age < 99"))


@pytest.mark.parametrize(("where", "holds"), [*LABELS[:4], LABELS[-1]])
def test_numbers_behind_labels(where, holds):
    functions = ("sum", "avg", "min", "max")
    selection = ", ".join(f"{function}(age)" for function in functions)
    for seed in range(6):
        declared, tables, _ = labelled_release(f"numbers {seed}")
        query = f"SELECT {selection} FROM microdata WHERE {where}"
        (row,) = answer_on(tables, declared, query).rows
        outcomes = outcomes_of_labels(tables, holds, "age")
        for function in functions:
            seen = [aggregate(function, list(values)) for values in outcomes if values]
            bounds = row[f"{function}(age)"]
            ends = (min(seen), max(seen)) if seen else (None, None)
            assert (bounds.lower, bounds.upper) == ends, (function, seed)
            assert bounds.may_be_empty == (bool(seen) and () in outcomes)


@pytest.mark.parametrize("names", [["age"], ["sex"], ["word"], ["kind", "word"]])
def test_cells_of_labels(names):
    for seed in range(6):
        declared, tables, _ = labelled_release(f"cells {seed}")
        keys = ", ".join(names)
        query = f"SELECT {keys}, {ALL} FROM microdata WHERE age < 2 GROUP BY {keys}"
        rows_by_cell = {
            tuple(r[n] for n in names): r for r in answer_on(tables, declared, query).rows
        }
        rows = tables["microdata"].to_pylist()
        possible = {
            tuple(row_[n] for n in names)
            for row in rows
            for row_ in rows_behind(row)
            if row_["age"] < 2
        }
        assert set(rows_by_cell) == possible
        for cell, row in rows_by_cell.items():
            outcomes = outcomes_of_labels(
                tables,
                lambda row, cell=cell: row["age"] < 2 and tuple(row[n] for n in names) == cell,
            )
            assert_outcomes(row, outcomes, FUNCTIONS[:-1])


@pytest.mark.parametrize("names", [[], ["sex"], ["word"]])
def test_certain_rows_of_labels(names):
    met = Counter()
    query = f"SELECT {', '.join([*names, 'MIN(loss) AS least'])} FROM microdata WHERE age < 3"
    query += f" GROUP BY {', '.join(names)}" if names else ""
    for seed in range(5):
        declared, tables, _ = labelled_release(f"certain {seed}")
        rows = tables["microdata"].to_pylist()
        cells = {tuple(row_[n] for n in names) for row in rows for row_ in rows_behind(row)}
        worlds = {
            cell: outcomes_of_labels(
                tables,
                lambda row, cell=cell: tuple(row[n] for n in names) == cell,
            )
            for cell in cells
        }
        worlds = {
            cell: outcomes_of_cell
            for cell, outcomes_of_cell in worlds.items()
            if not names or outcomes_of_cell != {()}
        }
        queries = [f"{query} HAVING {having}" for having in HAVINGS]
        for having, answer in zip(HAVINGS, answers_on(tables, declared, queries), strict=True):
            met += in_every_world(answer, names, having, worlds)
    assert met["certain"]


def test_stars():
    for seed in range(6):
        declared, tables, people = labelled_release(f"stars {seed}", "suppressed")
        query = "SELECT COUNT(*) AS n, SUM(loss) AS s FROM microdata WHERE age <= 1"
        (row,) = answer_on(tables, declared, query).rows
        losses = [row["loss"] for row in people if row["age"] <= 1]
        assert row["n"].lower <= len(losses) <= row["n"].upper <= len(people)
        if losses:
            assert row["s"].lower <= sum(losses) <= row["s"].upper
