"""Values that DuckDB returned, as exact numbers."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.tasks.query.bounds.bounds import Value


def sum_of(number: Fraction, whole: bool) -> Value:
    """A sum of numbers, as an integer where they are."""
    return int(number) if whole else number


def value_of(value: Any, whole: bool) -> Value:
    """The exact value that DuckDB returned: a float counts as the decimal number it prints as."""
    if whole:
        return int(value)
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Decimal | date | str | int):
        return value
    raise TypeError(type(value).__name__)
