"""The factors of a release's intervals: stated by the publisher, for nobody else can know them.

How often intervals miss depends on the original, so each factor says a little of it. It is one of
few numbers, frozen for the line, and nothing else of the calibration is published.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PlainSerializer, model_validator

from sfumato.tasks.schema.formats import since
from sfumato.tasks.schema.stated.statement import PublisherStatement

_FIRST = "1 1.25 1.5 2 3 5 7.5"
_E24 = "1 1.1 1.2 1.3 1.5 1.6 1.8 2 2.2 2.4 2.7 3 3.3 3.6 3.9 4.3 4.7 5.1 5.6 6.2 6.8 7.5 8.2 9.1"


def _decades(steps: str, powers: Iterable[int]) -> tuple[Decimal, ...]:
    return tuple(
        Decimal(f"{Decimal(step) * Decimal(10) ** power:f}")
        for power in powers
        for step in steps.split()
    )


FIRST_GRID = _decades(_FIRST, range(4))
"""The factors that there were at first, ascending: they widened intervals by up to two thirds."""

GRID: tuple[Decimal, ...] = tuple(sorted({*FIRST_GRID, *_decades(_E24, range(-1, 4))}))
"""The factors that there are, ascending: those at first, and preferred numbers (IEC 60063, E24)."""


def _on_grid(factor: Decimal) -> Decimal:
    if factor not in GRID:
        raise ValueError("not a factor of the fixed grid")
    return GRID[GRID.index(factor)]


Factor = Annotated[Decimal, AfterValidator(_on_grid), PlainSerializer(str)]
"""A factor of the grid, written in one way."""


_LATER = {"spread": 8, "median": 8, "quantile": 8}
"""The aggregates whose families came after the others, and the formats that they came with."""


class CalibratedFamily(PublisherStatement):
    """A family of queries, and by what their intervals are widened."""

    family: Annotated[str, Field(pattern="^[a-z]+(-[a-z]+)*$", max_length=63)]
    of: Annotated[str, Field(description="the sensitive column; empty where rows are counted")]
    factor: Factor

    @property
    def since(self) -> int:
        """The lowest format that knows the family; 0 of those that there were at first."""
        return _LATER.get(self.family.partition("-")[0], 0)


class CalibratedIntervals(PublisherStatement):
    """All that is told of a release's intervals."""

    coverage: Literal["at least 95 % asked, met"] = "at least 95 % asked, met"
    standing: Literal["stated by the publisher, not verifiable"] = (
        "stated by the publisher, not verifiable"
    )
    grid: Literal["first", "fine"] = since(
        6, "first", "which factors there are: the few of format 5, or 24 in each power of ten"
    )
    families: tuple[CalibratedFamily, ...]

    @property
    def factors(self) -> tuple[Decimal, ...]:
        """All that a factor could have been, ascending."""
        return GRID if self.grid == "fine" else FIRST_GRID

    @model_validator(mode="after")
    def _factors_are_of_the_grid(self) -> Self:
        if not {one.factor for one in self.families} <= set(self.factors):
            raise ValueError("not a factor of the fixed grid")
        return self

    def factor_of(self, family: tuple[str, str] | None) -> Decimal | None:
        """The factor of a family, by its name and its column; None where it was not calibrated."""
        known = {(one.family, one.of): one.factor for one in self.families}
        return None if family is None else known.get(family)


def rounded_up(factor: float) -> Decimal | None:
    """The next factor of the grid; None beyond it.

    >>> rounded_up(0.25), rounded_up(1.25), rounded_up(5.001), rounded_up(float("inf"))
    (Decimal('0.27'), Decimal('1.25'), Decimal('5.1'), None)
    """
    return next((step for step in GRID if factor <= step), None)
