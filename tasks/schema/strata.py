"""Strata as a spec writes them: columns, bands of them, or levels of their hierarchies."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Discriminator, Field, Tag, model_validator

from sfumato.expectations.numbers import ExactNumber, plain
from sfumato.tasks.schema.part import Part


class Bands(Part):
    """Bands of a column of numbers: one begins at each of these, and one lies below the first.

    >>> str(Bands(column="age", bands=(30, 50)))
    'age in bands from 30, 50'
    """

    column: str
    bands: Annotated[
        tuple[ExactNumber, ...], Field(min_length=1, description="where bands begin, ascending")
    ]

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        if list(self.bands) != sorted(set(self.bands)):
            raise ValueError("bands: do not ascend")
        return self

    def __str__(self) -> str:
        return f"{self.column} in bands from {', '.join(str(plain(b)) for b in self.bands)}"


class HierarchyLevel(Part):
    """The nodes of a column's hierarchy at a level: 1 is the one above the values themselves.

    >>> str(HierarchyLevel(column="town", level=2))
    'town at level 2'
    """

    since: ClassVar[int] = 5

    column: str
    level: Annotated[int, Field(ge=1, description="steps up from the values")]

    def __str__(self) -> str:
        return f"{self.column} at level {self.level}"


def _kind(stratum: Any) -> str:
    if isinstance(stratum, str):
        return "column"
    told = isinstance(stratum, Mapping) and "level" in stratum
    return "level" if told or isinstance(stratum, HierarchyLevel) else "band"


Stratum = Annotated[
    Annotated[str, Tag("column")]
    | Annotated[Bands, Tag("band")]
    | Annotated[HierarchyLevel, Tag("level")],
    Discriminator(_kind),
]
"""A column by its name, bands of one, or a level of its hierarchy."""


def column_of(stratum: Stratum) -> str:
    """The column that a stratum is told by."""
    return stratum if isinstance(stratum, str) else stratum.column
