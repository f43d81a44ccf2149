"""HAVING: certain where every answer between the bounds keeps it, possible where some does."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.query.aggregate import Aggregate
from tasks.query.answer import answer_on, document
from tasks.query.bounds import Bounds
from tasks.query.having import Comparison, Joined
from tasks.query.question import read_question
from tasks.query.rewrite import rewrite
from tasks.sql.session import fetch, session
from tests.query.test_matched import declare, in_form, random_rows

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
    kept = [COMPARED[operator](answer, constant) for answer in range(low, low + width + 1)]
    assert comparison.holds(bounds, "certain") == all(kept)
    assert comparison.holds(bounds, "possible") == any(kept)


def test_what_may_be_null_is_never_certain():
    comparison = Comparison(COUNT, ">=", Fraction(0), None)
    assert comparison.holds({COUNT: Bounds(1, 2, may_be_empty=True)}, "possible")
    assert not comparison.holds({COUNT: Bounds(1, 2, may_be_empty=True)}, "certain")
    assert not comparison.holds({COUNT: Bounds(None, None)}, "possible")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("COUNT(*) > 2", ">"),
        ("2 < COUNT(*)", ">"),
        ("NOT COUNT(*) <= 2", ">"),
        ("NOT (COUNT(*) = 2)", "<>"),
        ("((COUNT(*) >= 2))", ">="),
    ],
)
def test_comparisons_as_they_are_read(written, meant):
    question = read_question(
        f"SELECT COUNT(*) FROM microdata HAVING {written}", declare("permuted")
    )
    assert (question.having.operator, question.having.value) == (meant, 2)


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
    "SUM(loss) > 0",
    "AVG(loss) BETWEEN -1 AND 1 OR MAX(loss) = 2",
    "NOT (MIN(loss) < 0) AND COUNT(*) <> 3",
]


@pytest.mark.parametrize("having", HAVINGS)
@pytest.mark.parametrize("where", ["", "WHERE age < 2", "WHERE loss >= 0"])
@pytest.mark.parametrize("form", ["permuted", "split"])
def test_the_rewritten_query_keeps_the_same_rows(form, where, having):
    declared, kept = declare(form), 0
    query = f"SELECT sex, COUNT(*) AS n FROM microdata {where} GROUP BY sex HAVING {having}"
    everything = query.partition(" HAVING")[0]
    for seed in range(2):
        table = random_rows(np.random.default_rng(seed), [3, 4, 2, 5])
        tables = in_form(table, declared)
        answer = answer_on(tables, declared, query)
        possible = {row["sex"] for row in answer.rows}
        certain = {r["sex"] for r, c in zip(answer.rows, answer.certain, strict=True) if c}
        assert certain <= possible
        assert possible <= {row["sex"] for row in answer_on(tables, declared, everything).rows}
        with session(tables) as connection:
            for reading, expected in (("possible", possible), ("certain", certain)):
                found = fetch(connection, rewrite(query, declared, reading).tree)
                assert {row[0] for row in found} == expected, reading
        kept += len(possible)
    assert kept or "MIN" in having


def test_a_document_says_which_rows_are_certain():
    declared = declare("permuted")
    table = random_rows(np.random.default_rng(1), [3, 4, 2, 5])
    query = "SELECT sex, SUM(loss) FROM microdata GROUP BY sex HAVING SUM(loss) > 0"
    told = document(answer_on(in_form(table, declared), declared, query))
    assert len(told.get("certain", told["rows"])) == len(told["rows"])
    assert all(set(row) == {"sex", "sum(loss)"} for row in told["rows"])


def test_wide_clauses_are_refused():
    from expectations.errors import QueryError

    many = " AND ".join(itertools.repeat("COUNT(*) > 1", 101))
    with pytest.raises(QueryError, match="at most 100"):
        read_question(f"SELECT COUNT(*) FROM microdata HAVING {many}", declare("permuted"))
