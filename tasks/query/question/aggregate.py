"""An aggregate that bounds are asked of."""

from dataclasses import dataclass
from typing import Literal

Function = Literal["count", "sum", "avg", "min", "max"]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of a sensitive column; without one, COUNT(*)."""

    function: Function
    sensitive: str | None
    label: str


ROWS = Aggregate("count", None, "count(*)")
"""How many rows there are."""
