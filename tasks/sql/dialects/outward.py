"""Bounds that databases compute, rounded outwards by the most that their arithmetic can lose.

Floats have 53 bits: u = 2**-53 is the largest relative error of one operation. Where q is a float,
`q - u (1 + 2 u) |q|`, rounded to the nearest float, is the float below it: one unit in the last
place (Rump, Zimmermann, Boldo, Melquiond: Computing predecessor and successor in rounding to
nearest, BIT 2009). So many steps make up for an error of so many units.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from sqlglot import exp

Numeric = Literal["integer", "decimal", "float"]
"""The type of a number that a bound is computed from; sums of floats lose precision."""
Whole = Callable[[exp.Expr, exp.Expr], exp.Expr]
"""Makes the whole part of a quotient from an exact dividend and divisor, without changing them."""
Rest = Callable[[exp.Expr, exp.Expr, Numeric], exp.Expr]
"""Makes the rest of a division, given the type of the dividend."""

_STEP = "1.1102230246251568e-16"  # u, a trifle more
_ROUNDING = "1.12e-16"  # u, and a hundredth for sums of sizes, which are rounded themselves
_SPARE = 4  # roundings besides additions: of values, products, and uses of the sum
_BITS = 20  # after the point: quotients with so many bits are exact floats
_WHOLE = 2**32
_FIT = 2 ** (53 - _BITS)


@dataclass(frozen=True)
class Arithmetic:
    """Arithmetic of exact numbers in a database.

    Attributes:
        whole: the whole part of a quotient of integers, as a float.
        rest: the rest of the division of an exact number, null if it is not known.
        factor: a value of integers, so that its product with a count cannot be too long.
        total: a sum of integers, in a database whose sums can be too long, rounded outwards.
        decimals: whether sums of decimals are exact.
        may_be_floats: a test that a number of integers is a float after all, if it can be.
    """

    whole: Whole
    rest: Rest
    factor: Callable[[exp.Expr], exp.Expr] = lambda value: value
    total: Callable[[Sequence[exp.Expr], bool], exp.Expr] | None = None
    decimals: bool = True
    may_be_floats: Callable[[exp.Expr], exp.Expr] | None = None


def as_double(node: exp.Expr) -> exp.Expr:
    """Return a number as a float."""
    return exp.Cast(this=node.copy(), to=exp.DataType.build("double"))


def number(text: str | int) -> exp.Expr:
    """Return a number as it is written."""
    return exp.Literal.number(text)


def divide(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    """Return the quotient of floats, rounded to the nearest."""
    return exp.Div(this=as_double(over), expression=as_double(under), typed=False, safe=False)


def multiply(*factors: exp.Expr) -> exp.Expr:
    """Return a product."""
    return reduce(lambda product, factor: exp.Mul(this=product, expression=factor), factors)


def add(*terms: exp.Expr) -> exp.Expr:
    """Return a sum of terms."""
    return reduce(lambda total, term: exp.Add(this=total, expression=term), terms)


def move_out(bound: exp.Expr, upper: bool, spare: exp.Expr) -> exp.Expr:
    """Return a bound, moved outwards by a number that is not negative."""
    direction = exp.Add if upper else exp.Sub
    return direction(this=exp.paren(bound.copy()), expression=spare)


def step_out(bound: exp.Expr, upper: bool, step: exp.Expr | None = None) -> exp.Expr:
    """Return a float, moved outwards by one unit in its last place, or another part of itself."""
    size = number(_STEP) if step is None else step
    return move_out(bound, upper, multiply(exp.Abs(this=bound.copy()), size))


def quotient(
    over: exp.Expr, under: exp.Expr, kind: Numeric, upper: bool, arithmetic: Arithmetic
) -> exp.Expr:
    """Return a quotient, rounded outwards unless it certainly is a float itself.

    Args:
        over: the dividend, itself rounded outwards if it is of floats.
        under: the divisor, a positive integer or null.
        kind: the type of the dividend.
        upper: whether it is an upper bound.
        arithmetic: the arithmetic of the database.
    """
    if kind == "float":
        return step_out(divide(over, under), upper)
    rest = exp.paren(arithmetic.rest(over, under, kind))
    shifted = multiply(rest.copy(), number(2**_BITS))
    ends = exp.EQ(this=exp.Mod(this=shifted, expression=under.copy()), expression=number(0))
    if kind == "decimal":  # off by two units: one for the dividend as a float, one for the quotient
        value = divide(over, under)
        exact = exp.If(this=_and_small(ends, over, number(_FIT)), true=value.copy())
        return exp.Case(ifs=[exact], default=step_out(step_out(value, upper), upper))
    value = add(arithmetic.whole(over, under), divide(rest, under))
    small = _and_small(ends, over, multiply(number(_WHOLE), under.copy()))
    step = exp.Case(ifs=[exp.If(this=small, true=number(0))], default=number(_STEP))
    bound = step_out(value, upper, step)
    if arithmetic.may_be_floats is not None:
        floats = step_out(divide(over, under), upper)
        return exp.Case(
            ifs=[exp.If(this=arithmetic.may_be_floats(over), true=floats)], default=bound
        )
    return bound


def _and_small(ends: exp.Expr, over: exp.Expr, most: exp.Expr) -> exp.Expr:
    """Return the condition that a quotient ends after few bits and its dividend is small."""
    return exp.and_(ends, exp.LTE(this=exp.Abs(this=over.copy()), expression=most))


def sum_of_floats(sums: Sequence[exp.Expr], upper: bool, times: int = 1) -> exp.Expr:
    """Return a total of sums of floats, rounded outwards.

    A sum of n floats is off by at most n - 1 roundings of the sum of their sizes.

    Args:
        sums: each a SUM, or one over a window.
        upper: whether it is an upper bound.
        times: by how many times of the most that it can be off.
    """
    sizes = [
        over_same_rows(term, exp.Sum(this=exp.Abs(this=sum_within(term).this.copy())))
        for term in sums
    ]
    rows = over_same_rows(sums[-1], exp.Count(this=exp.Star()))
    spare = multiply(exp.paren(add(*sizes)), exp.paren(add(rows, number(_SPARE))))
    spare = multiply(spare, number(_ROUNDING), *([number(times)] if times > 1 else []))
    return move_out(add(*(term.copy() for term in sums)), upper, spare)


def sum_within(node: exp.Expr) -> exp.Expr:
    """Return the SUM itself, without its window."""
    return node.this if isinstance(node, exp.Window) else node


def over_same_rows(node: exp.Expr, aggregate: exp.Expr) -> exp.Expr:
    """Return another aggregate over the rows of a SUM."""
    if not isinstance(node, exp.Window):
        return aggregate
    window = node.copy()
    window.set("this", aggregate)
    return window
