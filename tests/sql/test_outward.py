"""Quotients that databases round outwards, held in each dialect against exact fractions."""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from sqlglot import exp

from sfumato.tasks.sql.dialects.outward import quotient
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.target import target
from tests.query.dialect_laws import LOCAL, SERVERS, address

CASES = 400
EXACT = [(0, 7), (5, 2), (-10, 4), (12, 4), (-9, 8), (2**40, 2**20), (3 * 2**31, 3), (1, 1024)]


def integers(rng, _):
    over = rng.choice((-1, 1)) * rng.randrange(2 ** rng.choice((4, 20, 52, 54, 62)))
    return over, rng.randrange(1, 2 ** rng.choice((3, 10, 30)))


def long_integers(rng, _):
    """Sums beyond 64 bits, whose means are within."""
    under = rng.randrange(2**6, 2**30)
    return rng.choice((-1, 1)) * under * rng.randrange(2**50, 2**62) + rng.randrange(99), under


def decimals(rng, scale):
    units = rng.choice((-1, 1)) * rng.randrange(10 ** rng.choice((3, 12, 17, 28)))
    return Decimal(units).scaleb(-scale), rng.randrange(1, 2 ** rng.choice((3, 10, 30)))


KINDS = {
    "integer": (integers, 0),
    "long integer": (long_integers, 0),
    "decimal 2": (decimals, 2),
    "decimal 20": (decimals, 20),
}
TYPES = {"integer": {"duckdb": "INT128", "postgres": "NUMERIC", "mariadb": "DECIMAL(38, 0)"}}


def rows_of(cases, scale, dialect):
    """The query of the dividends and divisors."""
    type_ = TYPES["integer"].get(dialect, "INTEGER") if not scale else f"DECIMAL(38, {scale})"
    numbers = [f"{over:f}" if scale else str(over) for over, _ in cases]
    if dialect != "sqlite":
        numbers = [f"CAST('{number}' AS {type_})" for number in numbers]
    parts = [
        f"SELECT {n} AS id, {number} AS o, {under} AS u"
        for n, (number, (_, under)) in enumerate(zip(numbers, cases, strict=True))
    ]
    return " UNION ALL ".join(parts)


def bounds(kind, cases, scale, database):
    dialect = database.dialect
    over, under = exp.column("o"), exp.column("u")
    type_ = "decimal" if scale else "integer"
    ends = [quotient(over, under, type_, upper, dialect.arithmetic) for upper in (False, True)]
    selection = ", ".join(end.sql(dialect.sqlglot) for end in ends)
    query = f"SELECT {selection} FROM ({rows_of(cases, scale, dialect.name)}) AS cases ORDER BY id"
    return database.execute(query)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", [*LOCAL, *SERVERS])
def test_quotients_are_enclosed_by_few_units(dialect, kind, tmp_path):
    if dialect == "sqlite" and kind != "integer":
        return  # there sums that long, and decimals, are floats
    draw, scale = KINDS[kind]
    rng = random.Random(kind)
    with localcontext(prec=60), target(address(dialect, tmp_path)) as database:
        cases = [draw(rng, scale) for _ in range(CASES)]
        cases += [(Decimal(over) if scale else over, under) for over, under in EXACT]
        rows_found = bounds(kind, cases, scale, database)
        for (over, under), (low, high) in zip(cases, rows_found, strict=True):
            exact = Fraction(over) / under
            unit = Fraction(math.ulp(float(exact)))
            assert Fraction(low) <= exact <= Fraction(high), (over, under)
            assert exact - Fraction(low) <= 4 * unit, (over, under)
            assert Fraction(high) - exact <= 4 * unit, (over, under)
        if not scale:
            assert all(low == high for low, high in rows_found[-len(EXACT) :])


def test_every_dialect_says_how_it_calculates():
    assert all(dialect.arithmetic is not None for dialect in DIALECTS.values())
