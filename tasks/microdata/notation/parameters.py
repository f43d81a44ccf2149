"""Parameters of a query, declared with their types and bound by the database."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from sfumato.expectations.shared.arrow import ORDERED, Value, as_number
from sfumato.tasks.schema.columns import ColumnType


class BindParameter(BaseModel):
    """A value that a query names as `:name`. Prefect stores overrides of it: no person in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    type: ColumnType
    value: Value

    @model_validator(mode="after")
    def _value_fits_the_type(self) -> Self:
        try:
            self.bound()
        except (ValueError, ArithmeticError):
            raise ValueError(f"value: not of type {self.type}") from None
        return self

    def bound(self) -> Any:
        """Return the value as drivers take it.

        >>> BindParameter(type="date", value="2026-01-31").bound()
        datetime.date(2026, 1, 31)

        Raises:
            ValueError: if the text is no such value.
        """
        if self.type == "boolean":
            return _truth(self.value)
        if self.type in ORDERED:
            as_number(self.value, self.type)
        return _BOUND[self.type](self.value)


_BOUND: dict[ColumnType, Any] = {
    "integer": int,
    "decimal": Decimal,
    "float": float,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "string": str,
}


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("not true or false")
    return text == "true"
