"""Exact numbers of promises and verdicts in JSON, and formats in which a key came later."""

from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Annotated

from pydantic import AfterValidator, PlainSerializer

Number = int | Fraction | float | None  # exact; a float is infinity
LARGEST = 2**53 - 1  # of the integers that every reader of JSON holds exactly
_PLACES = 40
SINCE = "x-since-format"
"""The mark of such a key, in its JSON schema, with the number of the format."""


def plain(number: Decimal | Number) -> int | str | None:
    """Return an exact number for JSON: an integer that it holds exactly, otherwise text.

    The text is an integer, a decimal, or a fraction.
    """
    if number is None:
        return None
    if number == inf:
        return "infinite"
    as_fraction = Fraction(number)
    if as_fraction.denominator == 1:
        whole = int(as_fraction)
        return whole if abs(whole) <= LARGEST else str(whole)
    return _decimal_text(as_fraction)


def _decimal_text(number: Fraction) -> str:
    denominator = number.denominator
    while denominator % 2 == 0:
        denominator //= 2
    while denominator % 5 == 0:
        denominator //= 5
    if denominator != 1:
        return str(number)
    digits = next(d for d in range(1, 10_000) if (number * 10**d).denominator == 1)
    units = int(abs(number) * 10**digits)
    sign = "-" if number < 0 else ""
    return f"{sign}{units // 10**digits}.{units % 10**digits:0{digits}d}"


def exact(number: int | str | None) -> Number:
    """Return the number that `plain` wrote."""
    if number is None or isinstance(number, int):
        return number
    return inf if number == "infinite" else Fraction(number)


def _refuse_long(number: Decimal) -> Decimal:
    """Refuse numbers whose fractions would fill the memory: 1e999999999 is an integer, too."""
    if number and max(abs(number.adjusted()), len(number.as_tuple().digits)) > _PLACES:
        raise ValueError(f"a number may have at most {_PLACES} places before and after the point")
    return number


ExactNumber = Annotated[
    Decimal, AfterValidator(_refuse_long), PlainSerializer(plain, return_type=int | str)
]
