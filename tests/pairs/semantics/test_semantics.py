"""SQL's semantics, by hand and beside DuckDB on a complete table."""

from fractions import Fraction

import pytest

from tests.pairs.semantics.aggregates import Aggregate, root
from tests.pairs.semantics.answers import Answers
from tests.pairs.semantics.formulas import (
    Apart,
    Both,
    Called,
    Combined,
    Compared,
    Not,
    Number,
    Result,
    Total,
)
from tests.pairs.semantics.queries import OwnTable, Query
from tests.pairs.semantics.rows import Arithmetic, Case, Column, Constant, Function
from tests.pairs.semantics.truths import Among, Comparison, IsNull, Joined, Negated

X, Y, G = map(Column, "xyg")
TRUE, FALSE, UNKNOWN = (Comparison(Constant(value), "=", Constant(1)) for value in (1, 0, None))
TRUTHS = (TRUE, FALSE, UNKNOWN)
ROWS = [
    {"g": "a", "x": 1, "y": None},
    {"g": "a", "x": 2, "y": 3},
    {"g": "b", "x": None, "y": 5},
    {"g": None, "x": 4, "y": 0},
    {"g": None, "x": 4, "y": 2},
]


def test_truth_has_three_values():
    def table(kind):
        return [[Joined(a, kind, b).value({}) for b in TRUTHS] for a in TRUTHS]

    assert table("AND") == [[True, False, None], [False, False, False], [None, False, None]]
    assert table("OR") == [[True, True, True], [True, False, None], [True, None, None]]
    assert [Negated(a).value({}) for a in TRUTHS] == [False, True, None]


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (Arithmetic(Constant(1), "/", Constant(0)), None),
        (Arithmetic(Constant(1), "/", Constant(4)), Fraction(1, 4)),
        (Arithmetic(Constant(None), "*", Constant(0)), None),
        (Arithmetic(Constant(5), "//", Constant(2)), 2),
        (Among(Constant(None), (1, 2)), None),
        (Among(Constant(3), (1, None)), None),
        (Among(Constant(1), (1, None)), True),
        (IsNull(Constant(None)), True),
        (IsNull(Constant(None), True), False),
        (Comparison(Constant(None), "<>", Constant(1)), None),
        (Case(UNKNOWN, Constant(1)), None),
        (Case(UNKNOWN, Constant(1), Constant(0)), 0),
        (Function("COALESCE", (Constant(None), Constant(3))), 3),
        (Function("NULLIF", (Constant(3), Constant(3))), None),
        (Function("NULLIF", (Constant(3), Constant(None))), 3),
        (Function("GREATEST", (Constant(None), Constant(3))), 3),
        (Function("ABS", (Constant(None),)), None),
    ],
)
def test_values_of_a_row(node, value):
    assert node.value({}) == value


@pytest.mark.parametrize(
    ("kind", "values", "result"),
    [
        ("COUNT", [None, 1, 1], 2),
        ("COUNT", [], 0),
        ("SUM", [None, 1, 2], 3),
        ("SUM", [None], None),
        ("AVG", [None, 1, 2], Fraction(3, 2)),
        ("MIN", [None, 2, 1], 1),
        ("MAX", [], None),
        ("MEDIAN", [1, 2, 3, None], 2),
        ("MEDIAN", [1, 2], Fraction(3, 2)),
        ("VARIANCE", [1], None),
        ("VAR_POP", [1], 0),
        ("VARIANCE", [1, 3], 2),
        ("VAR_POP", [1, 3], 1),
        ("STDDEV_POP", [1, 3], 1),
        ("STDDEV", [1, 9, None], root(32)),
    ],
)
def test_aggregates_leave_nulls_out(kind, values, result):
    assert Aggregate(kind, X).of_arguments(values) == result


@pytest.mark.parametrize(
    ("share", "between", "among"),
    [(0, 1, 1), (Fraction(1, 4), Fraction(7, 4), 1), (Fraction(1, 2), 3, 2), (1, 9, 9)],
)
def test_quantiles(share, between, among):
    values = [4, 1, 9, None, 2]
    assert Aggregate("QUANTILE_CONT", X, share=share).of_arguments(values) == between
    assert Aggregate("QUANTILE_DISC", X, share=share).of_arguments(values) == among


def test_different_values_and_rows_that_filter_leaves_out():
    assert Aggregate("COUNT", X, distinct=True).of_arguments([1, 1, None, 2]) == 2
    call = Aggregate("SUM", X, Comparison(Y, ">", Constant(2)))
    assert [call.argument_of(row) for row in ROWS] == [None, 2, None, None, None]


def test_a_root_is_exact_or_next_to_it():
    assert root(Fraction(9, 4)) == Fraction(3, 2)
    assert 0 < 2 - root(2) ** 2 < Fraction(1, 2**200)


WORLD = tuple(range(len(ROWS)))


def answer(query, rows=ROWS, world=WORLD):
    return Answers(query, rows).in_world(world)


def test_rows_of_an_answer():
    calls = tuple(map(Result, (Aggregate("COUNT"), Aggregate("SUM", Y), Aggregate("AVG", X))))
    rows_found = answer(Query(keys=(G,), formulas=calls))
    assert {key: row.values for key, row in rows_found.items()} == {
        ("a",): (2, 3, Fraction(3, 2)),
        ("b",): (1, 5, None),
        (None,): (2, 2, 4),
    }


def test_without_group_by_there_is_a_row_of_no_rows():
    query = Query(
        formulas=(Result(Aggregate("COUNT")), Result(Aggregate("SUM", X))),
        where=Comparison(X, ">", Constant(9)),
    )
    assert answer(query)[()].values == (0, None)
    assert answer(query, world=())[()].values == (0, None)
    assert answer(Query(keys=(G,)), world=()) == {}


def test_calculations_of_aggregates():
    total, count = Result(Aggregate("SUM", X)), Result(Aggregate("COUNT", Y))
    all_ = Apart(Aggregate("COUNT"), Comparison(X, ">", Constant(1)))
    formulas = (
        Combined(total, "/", count),
        Combined(total, "/", all_),
        Combined(total, "/", Total("SUM", Aggregate("SUM", X))),
        Called("COALESCE", (total, Number(-3))),
        Called("NULLIF", (count, Number(1))),
        Called("ROUND", (Combined(total, "/", Number(8)), Number(0))),
    )
    rows_found = answer(Query(keys=(G,), formulas=formulas))
    third, eleventh = Fraction(1, 3), Fraction(1, 11)
    assert rows_found["a",].values == (3, 3 * third, 3 * eleventh, 3, None, 0)
    assert rows_found["b",].values == (None, None, None, -3, None, None)
    assert rows_found[None,].values == (4, 8 * third, 8 * eleventh, 8, 2, 1)


def test_having_keeps_what_is_true():
    least = Compared(Result(Aggregate("SUM", X)), ">", 3)
    having = Both(least, "OR", Not(Compared(Result(Aggregate("COUNT")), "=", 2)))
    rows_found = answer(Query(keys=(G,), having=having))
    assert {key: row.kept for key, row in rows_found.items()} == {
        ("a",): False,
        ("b",): True,
        (None,): True,
    }
    assert not answer(Query(keys=(G,), having=Not(least)))["b",].kept


def test_joins_and_queries_that_are_read():
    own = OwnTable(
        "own", "x", {1: {"rate": 7, "area": "n"}, 4: {"rate": None, "area": "s"}}, ("rate", "area")
    )
    calls = (Result(Aggregate("COUNT")), Result(Aggregate("SUM", Column("rate"))))
    assert answer(Query(formulas=calls, own=own))[()].values == (3, 7)
    assert answer(Query(formulas=calls, own=own, outer=True))[()].values == (5, 7)
    derived = (("d", Arithmetic(X, "*", Constant(2))),)
    inner = Comparison(X, "<", Constant(4))
    query = Query(
        formulas=(Result(Aggregate("SUM", Column("d"))),), through="calculated", derived=derived
    )
    assert answer(query)[()].values == (22,)
    assert answer(Query(formulas=calls[:1], through="filter", inner=inner))[()].values == (2,)
