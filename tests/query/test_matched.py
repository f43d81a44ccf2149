"""Conditions on sensitive values: the bounds are the extremes over every world."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.query.ask import answer_on, ask
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.help_tables.rows import helped_columns
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.sql.dialect_fixes import spell_bounds
from sfumato.tasks.query.sql.sensitive_conditions import SensitiveConditions
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.session import fetch, session
from tests.query.worlds import aggregate, answers_on, assert_attained, column, shape, with_help

FUNCTIONS = ("count", "sum", "avg", "min", "max")
ALL = ", ".join(f"{function}(loss)" for function in FUNCTIONS)


def declare(form, sensitive="independent", *, nulls=False):
    from tests.query.worlds import declare as plain

    declared = plain(
        form,
        age=column("quasi-identifier", "integer"),
        sex=column("quasi-identifier", "string", nulls=True),
        loss=column("sensitive", "integer", nulls=nulls),
        gain=column("sensitive", "integer"),
    )
    return declared.model_copy(update={"form": shape(form, sensitive=sensitive)})


def random_rows(generator, sizes):
    group = np.repeat(np.arange(len(sizes)), sizes)
    rows = len(group)
    return pa.table(
        {
            "age": generator.integers(0, 3, rows),
            "sex": pa.array(generator.choice(["f", "m", None], rows).tolist(), pa.string()),
            "loss": generator.integers(-2, 3, rows),
            "gain": generator.integers(0, 3, rows),
            "group_id": group,
        }
    )


def some_missing(generator, table):
    """The same table with some losses missing."""
    losses = [None if generator.random() < 0.3 else loss for loss in table["loss"].to_pylist()]
    return table.set_column(2, "loss", pa.array(losses, pa.int64()))


def in_form(table, declared):
    """The tables that a release in this form would have."""
    helped = helped_columns(declared)
    if declared.form.method == "permuted":
        return with_help(table, *helped)
    together = declared.form.sensitive == "together"
    bundles = {"st": ["loss", "gain"]} if together else {"st_loss": ["loss"], "st_gain": ["gain"]}
    tables = {"qit": table.select(["age", "sex", "group_id"])}
    for name, columns in bundles.items():
        counted = table.group_by(["group_id", *columns]).aggregate([([], "count_all")])
        tables[name] = counted.rename_columns(["group_id", *columns, "count"])
    helping = {n: t for n, t in with_help(table, *helped).items() if n != "microdata"}
    return tables | helping


def worlds(table, together):
    """Every way in which the values of each group can belong to its rows."""
    rows = table.to_pylist()
    groups = sorted({row["group_id"] for row in rows})
    members = [[i for i, row in enumerate(rows) if row["group_id"] == g] for g in groups]
    orders = [list(itertools.permutations(rows_of_group)) for rows_of_group in members]
    for losses in itertools.product(*orders):
        for gains in [losses] if together else itertools.product(*orders):
            world = [dict(row) for row in rows]
            for rows_of_group, loss, gain in zip(members, losses, gains, strict=True):
                for row, a, b in zip(rows_of_group, loss, gain, strict=True):
                    world[row]["loss"] = rows[a]["loss"]
                    world[row]["gain"] = rows[b]["gain"]
            yield world


CONDITIONS = [
    ("loss > 0", lambda r: r["loss"] > 0),
    ("loss <> 0 AND age < 2", lambda r: r["loss"] != 0 and r["age"] < 2),
    ("loss IN (-2, 1) AND sex = 'f'", lambda r: r["loss"] in (-2, 1) and r["sex"] == "f"),
    ("loss < -5", lambda r: r["loss"] < -5),
    ("NOT (loss = 0 OR loss = 1) AND age >= 0", lambda r: r["loss"] not in (0, 1)),
]
BOTH = [
    ("gain > 0", lambda r: r["gain"] > 0),
    ("gain > 0 AND loss >= 0 AND age > 0", lambda r: r["gain"] > 0 <= r["loss"] and r["age"] > 0),
]
FORMS = [
    (form, sensitive) for form in ("permuted", "split") for sensitive in ("independent", "together")
]


def extremes(table, together, holds, key=lambda _: ()):
    """Per cell and function the least and greatest answer, and whether it may be null."""
    values_by_cell = {}
    for world in worlds(table, together):
        cells = {}
        for row in world:
            if holds(row):
                cells.setdefault(key(row), []).append(row["loss"])
        for cell in {key(row) for row in world}:
            for function in FUNCTIONS:
                seen = values_by_cell.setdefault(cell, {}).setdefault(function, [])
                seen.append(aggregate(function, cells.get(cell, [])))
    limits = {}
    for cell, functions in values_by_cell.items():
        for function, seen in functions.items():
            some = [value for value in seen if value is not None]
            ends = (min(some), max(some)) if some else (None, None)
            limits.setdefault(cell, {})[function] = (*ends, bool(some) and None in seen)
    return limits


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("where", "holds"), CONDITIONS)
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_bounds_are_the_extremes_over_all_worlds(form, sensitive, where, holds, seed):
    generator = np.random.default_rng(seed)
    declared = declare(form, sensitive)
    for _ in range(3):
        table = random_rows(generator, generator.integers(1, 4, int(generator.integers(1, 4))))
        query = f"SELECT {ALL} FROM microdata WHERE {where}"
        (row,) = answer_on(in_form(table, declared), declared, query).rows
        assert_attained(row, extremes(table, True, holds)[()])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("where", "holds"), BOTH)
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_conditions_on_another_sensitive_column(form, sensitive, where, holds, seed):
    generator = np.random.default_rng(seed)
    declared = declare(form, sensitive)
    table = random_rows(generator, generator.integers(1, 4, 2))
    query = f"SELECT {ALL} FROM microdata WHERE {where}"
    (row,) = answer_on(in_form(table, declared), declared, query).rows
    assert_attained(row, extremes(table, sensitive == "together", holds)[()])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", ["permuted", "split"])
def test_cells(form, seed):
    generator = np.random.default_rng(seed)
    declared = declare(form)
    table = random_rows(generator, [3, 2, 3])
    query = f"SELECT sex, {ALL} FROM microdata WHERE loss > -2 GROUP BY sex"
    answer = answer_on(in_form(table, declared), declared, query)
    expected = extremes(table, True, lambda r: r["loss"] > -2, lambda r: (r["sex"],))
    possible = {cell for cell, limits in expected.items() if limits["count"][1] > 0}
    assert {(row["sex"],) for row in answer.rows} == possible
    for row in answer.rows:
        assert_attained(row, expected[row["sex"],])


REWRITTEN = ["loss > 0", "loss <> 0 AND age < 2", "loss < -5", "gain > 0 AND loss >= 0"]


@pytest.mark.parametrize("group_by", ["", "sex", "sex, age"])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_the_rewritten_query_gives_the_same_bounds(form, sensitive, group_by):
    declared, compared = declare(form, sensitive), Counter()
    keys = f"{group_by}, " if group_by else ""
    group_clause = f" GROUP BY {group_by}" if group_by else ""
    query = f"SELECT {keys}{ALL}, SUM(gain) FROM microdata WHERE {{}}{group_clause}"
    queries = [query.format(where) for where in REWRITTEN]
    for seed in range(2):
        table = random_rows(np.random.default_rng(seed), [3, 4, 2, 5])
        tables = in_form(table, declared)
        answers = answers_on(tables, declared, queries)
        with session(tables) as connection:
            for where, asked_for, answer in zip(REWRITTEN, queries, answers, strict=True):
                question = read_question(asked_for, declared)
                marked = SensitiveConditions(question, relations(declared)).bounds()
                tree = spell_bounds(marked, DIALECTS["duckdb"])
                compared[where] += same_bounds(question, answer, fetch(connection, tree))
    assert all(compared[where] or where == "loss < -5" for where in REWRITTEN)


def same_bounds(question, answer, rows):
    """Hold rows of a rewritten query against an answer; how many sides of bounds they have."""
    width, compared = len(question.group_by), 0
    rows_by_key = {tuple(row[:width]): row[width:-1] for row in rows}
    assert len(rows_by_key) == len(answer.rows)
    for row in answer.rows:
        values = rows_by_key[tuple(row[name] for name in question.group_by)]
        for number, item in enumerate(question.aggregates):
            bounds = row[item.label]
            for side, value in zip(
                (bounds.lower, bounds.upper), values[2 * number :], strict=False
            ):
                assert value == (side if side is None else pytest.approx(float(side)))
                compared += 1
    return compared


MEANT = [
    ("loss > 0 AND age < 2", lambda r: r["loss"] > 0 and r["age"] < 2),
    ("loss > -9 AND age < 1", lambda r: r["age"] < 1),  # of a group's values those between, too
    ("loss <> 0 AND age = 1", lambda r: r["loss"] != 0 and r["age"] == 1),
]


@pytest.mark.parametrize("engine", [None, RowsEngine])
@pytest.mark.parametrize("sizes", [[4, 3], [6], [5, 2]], ids=str)
@pytest.mark.parametrize(("where", "holds"), MEANT)
def test_estimates_are_the_means_over_all_worlds(where, holds, sizes, engine):
    declared = declare("permuted")
    generator, rows = np.random.default_rng(5), sum(sizes)
    table = random_rows(generator, sizes)
    table = table.set_column(2, "loss", pa.array(generator.permutation(rows) - 2))
    table = table.set_column(0, "age", pa.array(np.arange(rows) % 3))
    query = f"SELECT COUNT(*), SUM(loss) FROM microdata WHERE {where}"
    tables = in_form(table, declared)
    if engine is None:
        (row,) = answer_on(tables, declared, query).rows
    else:
        with session(tables) as connection:
            question = read_question(query, declared)
            (row,) = ask(engine(connection, declared), declared, question).rows
    losses_by_world = [[r["loss"] for r in world if holds(r)] for world in worlds(table, True)]
    counts, sums = (
        [len(losses) for losses in losses_by_world],
        [sum(losses) for losses in losses_by_world],
    )
    assert float(row["count(*)"].estimate) == pytest.approx(sum(counts) / len(counts))
    assert float(row["sum(loss)"].estimate) == pytest.approx(float(Fraction(sum(sums), len(sums))))
