"""Strata as a spec writes them: columns, or bands of them."""

from typing import Annotated, Any, Self

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


def _kind(stratum: Any) -> str:
    return "column" if isinstance(stratum, str) else "band"


Stratum = Annotated[
    Annotated[str, Tag("column")] | Annotated[Bands, Tag("band")], Discriminator(_kind)
]
"""A column by its name, or bands of one."""


def column_of(stratum: Stratum) -> str:
    """The column that a stratum is told by."""
    return stratum.column if isinstance(stratum, Bands) else stratum
