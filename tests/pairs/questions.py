"""Questions that were once answered wrongly, and the shapes of releases that are asked them."""

from collections.abc import Mapping
from fractions import Fraction

from tests.pairs.possible.shapes import Shape
from tests.pairs.run import OWN
from tests.pairs.semantics.aggregates import Aggregate
from tests.pairs.semantics.formulas import Apart, Called, Combined, Number, Result
from tests.pairs.semantics.queries import Query
from tests.pairs.semantics.rows import Arithmetic, Case, Column, Constant, Node
from tests.pairs.semantics.truths import Comparison, Joined, Negated

AGE, SEX, Y, W, S, T = map(Column, ("age", "sex", "y", "w", "s", "t"))
COUNT = Result(Aggregate("COUNT"))
EXACT = (
    Shape("permuted", together=False),
    Shape("permuted", composed=True, parts=2),
    Shape("split", composed=True),
    Shape("split", parts=2),
    Shape("redistributed", parts=2),
)
LABELS = (Shape("generalized"), Shape("suppressed"), Shape("generalized", composed=True))
EVERY = (*EXACT, *LABELS)


def equal(column: Node, value: object) -> Comparison:
    """Return the condition that a column has a value."""
    return Comparison(column, "=", Constant(value))


def is_above(column: Node, value: object) -> Comparison:
    """Return the condition that a column is above a value."""
    return Comparison(column, ">", Constant(value))


def case(when: Node, then: object, otherwise: object = 0) -> Case:
    """Return a CASE of constants or columns."""
    branches = [
        result if isinstance(result, Node) else Constant(result) for result in (then, otherwise)
    ]
    return Case(when, branches[0], branches[1])


def share(when: Node) -> Result:
    """Return the share of rows on which a condition is true."""
    return Result(Aggregate("AVG", case(when, 1)))


def total(column: Node, where: Node | None = None) -> Result:
    """Return a sum."""
    return Result(Aggregate("SUM", column, where))


EITHER = Joined(equal(AGE, 1), "OR", is_above(S, 1))
NEITHER = Negated(Joined(equal(AGE, 1), "AND", is_above(S, 1)))
EMPTY = Joined(is_above(AGE, 90), "OR", is_above(S, 90))
HALF = Arithmetic(S, "*", W)
ALL = Apart(Aggregate("COUNT"))
QUESTIONS: Mapping[str, tuple[tuple[Shape, ...], Query]] = {
    "a share where OR joins": (EXACT, Query(where=EITHER, formulas=(share(is_above(S, 2)),))),
    "a share in groups where NOT AND joins": (
        EXACT,
        Query(keys=(SEX,), where=NEITHER, formulas=(share(is_above(S, 1)),)),
    ),
    "a share of no row": (EXACT, Query(where=EMPTY, formulas=(share(is_above(S, 2)),))),
    "100 times a count by all rows": (
        EVERY,
        Query(formulas=(Combined(total(case(is_above(S, 1), 100)), "/", ALL),)),
    ),
    "100 times an exact count by all rows": (
        EXACT,
        Query(formulas=(Combined(total(case(is_above(AGE, 0), 100)), "/", ALL),)),
    ),
    "a sum by the count of a column with nulls": (
        EVERY,
        Query(formulas=(Combined(total(S), "/", Result(Aggregate("COUNT", Y))),)),
    ),
    "a count by a sum of fractions": (
        EXACT,
        Query(keys=(AGE,), formulas=(Combined(COUNT, "/", total(HALF)),)),
    ),
    "NULLIF of a sum of fractions": (
        EXACT,
        Query(keys=(AGE,), formulas=(Called("NULLIF", (total(HALF), Number(0))),)),
    ),
    "a sum of CASE of a column with nulls": (
        EVERY,
        Query(keys=(SEX,), formulas=(total(case(is_above(S, 1), Y)),)),
    ),
    "a sum of CASE of an exact column with nulls": (
        EVERY,
        Query(keys=(Y,), formulas=(total(case(is_above(W, -9), Y)),)),
    ),
    "and what stands instead": (
        EVERY,
        Query(
            keys=(Y,),
            formulas=(Called("COALESCE", (total(case(is_above(W, -9), Y)), Number(-3))),),
        ),
    ),
    "a quantile of next to nothing": (
        EVERY,
        Query(formulas=(Result(Aggregate("QUANTILE_CONT", Y, share=Fraction(1, 10**400))),)),
    ),
    "a sum of CASE in a row that may be absent": (
        EXACT,
        Query(keys=(S,), where=equal(AGE, 1), formulas=(total(case(is_above(S, -5), S)), total(S))),
    ),
    "a count of a joined column with nulls": (
        (Shape("ambiguous"), Shape("ambiguous", composed=True)),
        Query(own=OWN[0], outer=True, formulas=(Result(Aggregate("COUNT", Column("rate"))),)),
    ),
    "a join by a labelled column": (
        LABELS,
        Query(own=OWN[1], formulas=(COUNT, Result(Aggregate("AVG", Column("years"))))),
    ),
}
"""By what they are: releases, and the query."""
