"""Values as texts, as a spec names the values of a column, whatever the column's type."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

NUMBERS = ("integer", "decimal", "float")
ORDERED = frozenset(
    {*NUMBERS, "date", "timestamp"}
)  # the types of columns whose values have ranges
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive, as the values are


def as_text(value: Any) -> Any:
    """A scalar of YAML as the text that a CSV file has for it; anything else as it is.

    >>> [as_text(value) for value in (True, 3, "3", date(2020, 1, 31))]
    ['true', '3', '3', '2020-01-31']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float | Decimal) else value


Value = Annotated[
    str,
    BeforeValidator(as_text),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


def as_number(text: str, kind: str) -> Decimal:
    """The number that a text means in a column of a kind: days for dates, seconds for timestamps.

    Raises:
        ValueError: where it means none.
    """
    if kind == "date":
        return Decimal((date.fromisoformat(text) - _EPOCH.date()).days)
    if kind == "timestamp":
        since = datetime.fromisoformat(text).replace(tzinfo=None) - _EPOCH
        return since.days * Decimal(86400) + since.seconds + Decimal(since.microseconds) / 10**6
    try:
        number = Decimal(text)
    except ArithmeticError:
        raise ValueError("not a number") from None
    if not number.is_finite() or (kind == "integer" and number != number.to_integral_value()):
        raise ValueError("not a finite number of this kind")
    return number


def ordinal(rank: int) -> str:
    """The ordinal number of a rank in figures.

    >>> [ordinal(rank) for rank in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{rank}{'th' if rank % 100 in (11, 12, 13) else endings.get(rank % 10, 'th')}"
