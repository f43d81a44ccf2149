"""HAVING: certain where every answer between the bounds keeps it, possible where some does."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.question.having import Comparison, Joined
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import fetch, session
from tests.query.test_matched import FORMS, declare, in_form, random_rows
from tests.query.test_matched import worlds as every_world
from tests.query.test_subdomains import SMALL
from tests.query.worlds import HAVINGS as OF_LOSS
from tests.query.worlds import answers_on, in_every_world

COUNT = Aggregate("count", None, "count(*)")
COMPARED = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
}


@given(st.sampled_from(list(COMPARED)), st.integers(-1, 5), st.integers(0, 4), st.integers(0, 3))
def test_a_comparison_holds_for_all_or_for_some_answers(operator, constant, low, width):
    bounds = {COUNT: Bounds(low, low + width)}
    comparison = Comparison(COUNT, operator, Fraction(constant), None)
    results = [COMPARED[operator](answer, constant) for answer in range(low, low + width + 1)]
    assert comparison.holds(bounds, "certain") == all(results)
    assert comparison.holds(bounds, "possible") == any(results)


def test_what_may_be_null_is_never_certain():
    comparison = Comparison(COUNT, ">=", Fraction(0), None)
    assert comparison.holds({COUNT: Bounds(1, 2, may_be_empty=True)}, "possible")
    assert not comparison.holds({COUNT: Bounds(1, 2, may_be_empty=True)}, "certain")
    assert not comparison.holds({COUNT: Bounds(None, None)}, "possible")


@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        ("COUNT(*) > 2", ">"),
        ("2 < COUNT(*)", ">"),
        ("NOT COUNT(*) <= 2", ">"),
        ("NOT (COUNT(*) = 2)", "<>"),
        ("((COUNT(*) >= 2))", ">="),
    ],
)
def test_comparisons_as_they_are_read(written, meaning):
    question = read_question(
        f"SELECT COUNT(*) FROM microdata HAVING {written}", declare("permuted")
    )
    assert (question.having.operator, question.having.value) == (meaning, 2)


def test_negations_are_pushed_down():
    query = "SELECT COUNT(*) FROM microdata HAVING NOT (COUNT(*) > 2 AND SUM(loss) BETWEEN 1 AND 3)"
    having = read_question(query, declare("permuted")).having
    assert isinstance(having, Joined)
    assert having.kind == "or"
    assert having.parts[0].operator == "<="
    assert [part.operator for part in having.parts[1].parts] == ["<", ">"]
    assert having.parts[1].kind == "or"


HAVINGS = [
    "COUNT(*) >= 2",
    "COUNT(*) < 5",
    "COUNT(*) >= 0",
    "COUNT(loss) <> 9 OR MAX(loss) = 2",
    "SUM(loss) > 0",
    "AVG(loss) BETWEEN -1 AND 1 OR MAX(loss) = 2",
    "NOT (MIN(loss) < 0) AND COUNT(*) <> 3",
]


@pytest.mark.parametrize("where", ["", "WHERE age < 2", "WHERE loss >= 0"])
@pytest.mark.parametrize("form", ["permuted", "split"])
def test_the_rewritten_query_keeps_the_same_rows(form, where):
    declared, counts_by_having = declare(form), Counter()
    everything = f"SELECT sex, COUNT(*) AS n FROM microdata {where} GROUP BY sex"
    queries = {having: f"{everything} HAVING {having}" for having in HAVINGS}
    for seed in range(2):
        table = random_rows(np.random.default_rng(seed), [3, 4, 2, 5])
        tables = in_form(table, declared)
        unlimited, *answers = answers_on(tables, declared, [everything, *queries.values()])
        with session(tables) as connection:
            for (having, query), answer in zip(queries.items(), answers, strict=True):
                possible = {row["sex"] for row in answer.rows}
                certain = {r["sex"] for r, c in zip(answer.rows, answer.certain, strict=True) if c}
                assert certain <= possible
                assert possible <= {row["sex"] for row in unlimited.rows}
                for reading, expected in (("possible", possible), ("certain", certain)):
                    rows_found = fetch(connection, rewrite(query, declared, reading).duckdb_tree)
                    assert {row[0] for row in rows_found} == expected, (having, reading)
                counts_by_having[having] += len(possible)
    assert all(counts_by_having[having] or "MIN" in having for having in HAVINGS)


@pytest.mark.parametrize("having", ["COUNT(*) = 0", "COUNT(*) < 1", "NOT COUNT(age) > 0.5"])
@pytest.mark.parametrize("form", ["permuted", "split"])
def test_no_group_of_an_answer_has_no_rows(form, having):
    declared = declare(form)
    tables = in_form(random_rows(np.random.default_rng(1), [3, 4]), declared)
    query = f"SELECT sex, COUNT(*) AS n FROM microdata WHERE loss > 0 GROUP BY sex HAVING {having}"
    assert answer_on(tables, declared, query.partition(" HAVING")[0]).rows != ()
    assert answer_on(tables, declared, query).rows == ()
    with session(tables) as connection:
        assert fetch(connection, rewrite(query, declared, "possible").duckdb_tree) == []
    several = query.replace(having, "COUNT(*) <> 1")
    more = answer_on(tables, declared, several.replace("<>", ">"))
    assert answer_on(tables, declared, several) == more


def test_a_document_says_which_rows_are_certain():
    declared = declare("permuted")
    table = random_rows(np.random.default_rng(1), [3, 4, 2, 5])
    query = "SELECT sex, SUM(loss) FROM microdata GROUP BY sex HAVING SUM(loss) > 0"
    document_ = document(answer_on(in_form(table, declared), declared, query))
    assert len(document_.get("certain", document_["rows"])) == len(document_["rows"])
    assert all(set(row) == {"sex", "sum(loss)"} for row in document_["rows"])


def test_wide_clauses_are_refused():
    from sfumato.expectations.shared.errors import QueryError

    many = " AND ".join(itertools.repeat("COUNT(*) > 1", 101))
    with pytest.raises(QueryError, match="at most 100"):
        read_question(f"SELECT COUNT(*) FROM microdata HAVING {many}", declare("permuted"))


WHERE = {
    "": lambda _: True,
    "loss > 0": lambda r: r["loss"] > 0,
    "gain = 0 AND age < 2": lambda r: r["gain"] == 0 and r["age"] < 2,
}


def losses_of(table, together, names, where):
    """By group columns the losses that are meant in each world, whose rows may be none."""
    cells = [tuple(row[name] for name in names) for row in table.to_pylist()]
    losses_by_cell = {cell: set() for cell in cells}
    for world in every_world(table, together):
        losses_in_world = {cell: [] for cell in losses_by_cell}
        for cell, row in zip(cells, world, strict=True):
            if WHERE[where](row):
                losses_in_world[cell].append(row["loss"])
        for cell, losses in losses_in_world.items():
            losses_by_cell[cell].add(tuple(losses))
    return losses_by_cell


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("group_by", ["", "sex"])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_a_certain_row_is_in_the_answer_of_every_world(form, sensitive, group_by, where):
    declared, counts_by_having = declare(form, sensitive), {having: Counter() for having in OF_LOSS}
    names = [group_by] if group_by else []
    for seed in range(2):
        table = random_rows(np.random.default_rng(seed), [2, 3])
        tables = in_form(table, declared)
        outcomes = losses_of(table, sensitive == "together", names, where)
        query = f"SELECT {', '.join([*names, 'MIN(gain) AS least'])} FROM microdata"
        query += f" WHERE {where}" if where else ""
        query += " GROUP BY sex" if names else ""
        answers = answers_on(
            tables, declared, (f"{query} HAVING {having}" for having in counts_by_having)
        )
        for (having, counts), answer in zip(counts_by_having.items(), answers, strict=True):
            counts += in_every_world(answer, names, having, outcomes)
    assert counts_by_having["COUNT(*) >= 0"]["certain"] or where.startswith("gain")
    for having in ("COUNT(*) < 3", "COUNT(loss) < 9"):
        assert bool(counts_by_having[having]["empty"]) == bool(names and where)


@pytest.mark.parametrize("form", ["permuted", "split"])
def test_without_groups_there_is_a_row_of_no_rows(form):
    declared = declare(form)
    tables = in_form(random_rows(np.random.default_rng(1), [3, 4]), declared)
    for where, having in itertools.product(
        ["age = 99", "loss = 99", "age = 99 AND loss > 0"], ["COUNT(*) < 5", "COUNT(*) = 0"]
    ):
        query = f"SELECT SUM(loss) FROM microdata WHERE {where} HAVING {having}"
        answer = answer_on(tables, declared, query)
        assert answer.certain == (True,)
        grouped = query.replace(" HAVING", " GROUP BY sex HAVING")
        assert answer_on(tables, declared, grouped).rows == ()
        with session(tables) as connection:
            for reading in ("possible", "certain"):
                rows_found = fetch(connection, rewrite(query, declared, reading).duckdb_tree)
                assert rows_found == [(None, None)]
                assert fetch(connection, rewrite(grouped, declared, reading).duckdb_tree) == []


@pytest.mark.parametrize(
    ("where", "group_by", "reading", "expected_text"),
    [
        ("WHERE loss > 0", "GROUP BY sex", "certain", "u0 < 5 AND least > 0"),
        ("WHERE loss > 0", "GROUP BY sex", "possible", "l0 < 5"),
        ("WHERE loss > 0", "", "certain", "u0 < 5"),
        ("WHERE age > 0", "GROUP BY sex", "certain", '"0_upper" < 5'),
    ],
)
@pytest.mark.parametrize("declared", [declare("permuted"), declare("split"), SMALL])
def test_rewritten_queries_ask_for_rows_where_there_may_be_none(
    declared, where, group_by, reading, expected_text
):
    query = f"SELECT COUNT(*) FROM microdata {where} {group_by} HAVING COUNT(*) < 5"
    text = rewrite(query, declared, reading).sql()
    assert " ".join(text.rpartition("WHERE")[2].split()) == expected_text
