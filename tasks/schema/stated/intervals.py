"""The factors of a release's intervals: stated by the publisher, for nobody else can know them.

How often intervals miss depends on the original, so each factor says a little of it. It is one of
few numbers, frozen for the line, and nothing else of the calibration is published.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainSerializer

from sfumato.tasks.schema.stated.statement import PublisherStatement

_STEPS = ("1", "1.25", "1.5", "2", "3", "5", "7.5")
_DECADES = 4

GRID: tuple[Decimal, ...] = tuple(
    Decimal(f"{Decimal(step) * 10**decade:f}") for decade in range(_DECADES) for step in _STEPS
)
"""The factors that there are, ascending."""


def _on_grid(factor: Decimal) -> Decimal:
    if factor not in GRID:
        raise ValueError("not a factor of the fixed grid")
    return GRID[GRID.index(factor)]


Factor = Annotated[Decimal, AfterValidator(_on_grid), PlainSerializer(str)]
"""A factor of the grid, written in one way."""


class CalibratedFamily(PublisherStatement):
    """A family of queries, and by what their intervals are widened."""

    family: Annotated[str, Field(pattern="^[a-z]+(-[a-z]+)*$", max_length=63)]
    of: Annotated[str, Field(description="the sensitive column; empty where rows are counted")]
    factor: Factor


class CalibratedIntervals(PublisherStatement):
    """All that is told of a release's intervals."""

    coverage: Literal["at least 95 % asked, met"] = "at least 95 % asked, met"
    standing: Literal["stated by the publisher, not verifiable"] = (
        "stated by the publisher, not verifiable"
    )
    families: tuple[CalibratedFamily, ...]

    def factor_of(self, family: tuple[str, str] | None) -> Decimal | None:
        """The factor of a family, by its name and its column; None where it was not calibrated."""
        known = {(one.family, one.of): one.factor for one in self.families}
        return None if family is None else known.get(family)


def rounded_up(factor: float) -> Decimal | None:
    """The next factor of the grid; None beyond it.

    >>> rounded_up(0.2), rounded_up(1.25), rounded_up(5.001), rounded_up(float("inf"))
    (Decimal('1'), Decimal('1.25'), Decimal('7.5'), None)
    """
    return next((step for step in GRID if factor <= step), None)
