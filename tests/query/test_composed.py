"""Composed releases of exact rows: bounds are the extremes over every world."""

import itertools
import random
from collections import Counter

import pytest

from sfumato.tasks.query.ask import answer_on, ask, engine
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import fetch, session
from tests.query.composed import (
    ALL,
    FUNCTIONS,
    as_composed,
    assert_outcomes,
    combine_groups,
    ends,
    publish_composed,
    random_columns,
    random_groups,
    values_of,
)
from tests.query.dialect_laws import assert_same_rows, expected_rows, rewritten_texts
from tests.query.test_subdomains import SMALL, outcomes
from tests.query.worlds import (
    HAVINGS,
    answers_on,
    column,
    declare,
    in_every_world,
    shape,
)


def small(form):
    """Two sensitive columns beside exact quasi-identifiers."""
    declared = declare(
        form["method"],
        age=column("quasi-identifier", "integer"),
        sex=column("quasi-identifier", "string", nulls=True),
        loss=column("sensitive", "integer"),
        word=column("sensitive", "string"),
    )
    return as_composed(declared.model_copy(update={"form": shape(**form)}))


EXACT = [
    {"method": form, "sensitive": sensitive}
    for form in ("permuted", "split")
    for sensitive in ("together", "independent")
]
CONDITIONS = {
    "": (lambda _: True, lambda _: True),
    "loss > 0": (lambda loss: loss > 0, lambda _: True),
    "loss IN (-2, 1, 3)": (lambda loss: loss in (-2, 1, 3), lambda _: True),
    "word = 'a'": (lambda _: True, lambda word: word == "a"),
    "loss <= 1 AND word = 'b'": (lambda loss: loss <= 1, lambda word: word == "b"),
}


def rows_of(tables):
    """The rows of people in each group."""
    rows_by_group = {}
    for row in next(tables[name] for name in ("qit", "microdata") if name in tables).to_pylist():
        rows_by_group.setdefault(row["group_id"], []).append(row)
    return rows_by_group


def worlds_of(tables, group, people, together):
    """Every way in which a group's people have its values: a loss and a word each."""
    if together:
        values_shown = values_of(tables, group, ["loss", "word"])
        yield from set(itertools.permutations(values_shown, people))
        return
    ways = (
        set(itertools.permutations(values_of(tables, group, [name]), people))
        for name in ("loss", "word")
    )
    for losses, words in itertools.product(*ways):
        yield [(a, b) for (a,), (b,) in zip(losses, words, strict=True)]


def outcomes_of(tables, selected, where, together):
    """The losses that a question means in every world."""
    of_loss, of_word = CONDITIONS[where]
    return combine_groups(
        {
            tuple(
                sorted(
                    loss
                    for row, (loss, word) in zip(rows, world, strict=True)
                    if selected(row) and of_loss(loss) and of_word(word)
                )
            )
            for world in worlds_of(tables, group, len(rows), together)
        }
        for group, rows in rows_of(tables).items()
    )


@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("form", EXACT, ids=lambda form: "-".join(form.values()))
def test_exact_rows(form, where):
    declared, together, gone = small(form), form["sensitive"] == "together", 0
    of_loss, of_word = CONDITIONS[where]
    for seed in range(4):
        rng = random.Random(f"{where} {seed}")
        group, kind = random_groups(rng, largest=4 if together else 3)
        columns = random_columns(rng, len(group))
        people = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        people = [row for row, left_kind in zip(people, kind, strict=True) if not left_kind]
        tables = publish_composed(declared, columns, group, kind, seed)
        gone += sum(kind)
        parts = [f"age < {{}}{f' AND {where}' if where else ''}".format(age) for age in (1, 2, 3)]
        queries = [f"SELECT {ALL} FROM microdata WHERE {part}" for part in parts]
        for age, answer in enumerate(answers_on(tables, declared, queries), 1):
            (row,) = answer.rows
            worlds = outcomes_of(tables, lambda row, age=age: row["age"] < age, where, together)
            true = (
                row["loss"]
                for row in people
                if row["age"] < age and of_loss(row["loss"]) and of_word(row["word"])
            )
            assert tuple(sorted(true)) in worlds
            assert_outcomes(row, worlds, FUNCTIONS[:-1])
            least = ends(worlds)["stddev"][0]
            if not where and least is not None:
                assert float(row["stddev(loss)"].lower) ** 2 == pytest.approx(float(least))
            assert where or row["count(loss)"].lower == row["count(loss)"].upper
    assert gone


@pytest.mark.parametrize("form", EXACT, ids=lambda form: "-".join(form.values()))
@pytest.mark.parametrize("group_by", ["", "sex"])
def test_certain_rows_of_exact_rows(form, group_by):
    declared, together = small(form), form["sensitive"] == "together"
    names, where, met = [group_by] if group_by else [], "loss IN (-2, 1, 3)", Counter()
    query = f"SELECT {', '.join([*names, 'MIN(loss) AS least'])} FROM microdata WHERE {where}"
    query += " GROUP BY sex" if names else ""
    texts = rewritten_texts(query, declared, HAVINGS)
    for seed in (2, 3):
        rng = random.Random(f"certain {seed}")
        group, kind = random_groups(rng, largest=3)
        tables = publish_composed(declared, random_columns(rng, len(group)), group, kind, seed)
        people = itertools.chain(*rows_of(tables).values())
        cells = {tuple(row[name] for name in names) for row in people}
        worlds = {
            cell: outcomes_of(
                tables,
                lambda row, cell=cell: tuple(row[name] for name in names) == cell,
                where,
                together,
            )
            for cell in cells
        }
        with engine(tables, declared) as asking, session(tables) as connection:
            for having in HAVINGS:
                asked_for = f"{query} HAVING {having}"
                question = read_question(asked_for, declared)
                answer = ask(asking, declared, question)
                met += in_every_world(answer, names, having, worlds)
                for reading, text in texts[having].items():
                    expected = expected_rows(question, answer, reading)
                    rows_found = connection.execute(text).fetchall()
                    assert_same_rows(rows_found, expected, (asked_for, reading))
    assert met["certain"]


RANGES = as_composed(SMALL)


@pytest.mark.parametrize("where", ["", "loss > 0", "loss IN (-2, 1, 3)"])
def test_subdomains(where):
    holds = CONDITIONS[where][0]
    for seed in range(4):
        rng = random.Random(f"ranges {seed}")
        group, kind = random_groups(rng)
        columns = random_columns(rng, len(group))
        tables = publish_composed(RANGES, columns, group, kind)
        domain = sorted(set(columns["loss"]))
        copies = {}
        for row in tables["st"].to_pylist():
            within = tuple(v for v in domain if row["lower"] <= v <= row["upper"])
            copies.setdefault(row["group_id"], []).extend([within] * row["count"])
        parts = [f"age < {age}{f' AND {where}' if where else ''}" for age in (1, 3)]
        queries = [f"SELECT {ALL} FROM microdata WHERE {part}" for part in parts]
        with session(tables) as connection:
            for age, query, answer in zip(
                (1, 3), queries, answers_on(tables, RANGES, queries), strict=True
            ):
                hits = Counter(r["group_id"] for r in tables["qit"].to_pylist() if r["age"] < age)
                assert_outcomes(answer.rows[0], outcomes(copies, hits, holds), FUNCTIONS[:-1])
                counted = f"SELECT COUNT(*), MIN(loss), SUM(loss){query[query.index(' FROM') :]}"
                question = read_question(counted, RANGES)
                expected = expected_rows(question, answer_on(tables, RANGES, counted), "possible")
                assert_same_rows(
                    fetch(connection, rewrite(counted, RANGES).duckdb_tree), expected, counted
                )
