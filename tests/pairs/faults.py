"""The ways in which bounds deny a value.

Bounds in Python are exact, or rounded outward where they are roots: a value may be outside by
nothing, of a root by 2^-100 of itself, which is what this side computes it to. JSON may be outward
of that by 10^-12 of the number.
"""

from decimal import Decimal
from fractions import Fraction
from math import ulp
from typing import Any

from sfumato.tasks.query.bounds.bounds import Bounds
from tests.pairs.semantics.aggregates import ROOTS, Aggregate
from tests.pairs.semantics.formulas import Called
from tests.pairs.semantics.rows import Node

OF_ROOT = Fraction(1, 2**100)
NEAR = Fraction(1, 10**9)
_OF_JSON = Fraction(1, 10**12)


def fault_of(bounds: Bounds, value: Any, slack: Fraction) -> str:
    """Return how a value is not within bounds: "outside", "null", or "" where it is."""
    if bounds.unbounded:
        return ""
    if value is None:
        return "" if bounds.lower is None or bounds.may_be_empty else "null"
    if bounds.lower is None:
        return "outside"
    if isinstance(value, str) or isinstance(bounds.lower, str):
        return "" if bounds.lower <= value <= bounds.upper else "outside"
    low, high = (Fraction(end) for end in (bounds.lower, bounds.upper))
    room = abs(value) * slack
    return "" if low - room <= value <= high + room else "outside"


_LEAST_FLOAT = Fraction(ulp(0.0))


def json_fault(bounds: Bounds) -> bool:
    """Tell whether JSON narrows bounds, or widens them by more than rounding does."""
    written = bounds.document()
    for side, sign in (("lower", -1), ("upper", 1)):
        end = getattr(bounds, side)
        if not isinstance(end, int | Fraction | Decimal):
            continue
        outward = (Fraction(written[side]) - Fraction(end)) * sign
        if not 0 <= outward <= abs(Fraction(end)) * _OF_JSON + _LEAST_FLOAT:
            return True
    return False


def has_root(formula: Node) -> bool:
    """Tell whether a formula has a square root."""
    return any(
        (isinstance(part, Aggregate) and part.kind in ROOTS)
        or (isinstance(part, Called) and part.name == "SQRT")
        for part in formula.parts()
    )


def is_near(value: Any, end: Any, near: Fraction) -> bool:
    """Tell whether a value is an end of bounds."""
    if value is None or isinstance(value, str) or isinstance(end, str):
        return bool(value == end)
    return abs(value - Fraction(end)) <= near * max(abs(value), 1)


def sort_key_of(value: Any) -> tuple[bool, str, Any]:
    """Return a key that sorts values of any type."""
    text = value if isinstance(value, str) else ""
    return value is None, text, 0 if value is None or text else value
