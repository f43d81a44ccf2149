"""Strata: columns, or bands of them, by which the data owner wishes groups kept apart."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Self

import numpy as np
import pyarrow as pa
from pydantic import Discriminator, Field, Tag, model_validator

from expectations.model import ExactNumber, plain
from tasks.microdata.schema import Part
from tasks.microdata.table import Column, Microdata


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


def with_strata(
    microdata: Microdata, strata: Iterable[Stratum]
) -> tuple[Microdata, tuple[str, ...]]:
    """The table with a column for each band (never published), and the names of all strata."""
    names = []
    for stratum in strata:
        name = str(stratum)
        if isinstance(stratum, Bands):
            column = _banded(microdata[stratum.column], stratum, name)
            microdata = replace(microdata, columns=(*microdata.columns, column))
        names.append(name)
    return microdata, tuple(names)


def _banded(column: Column, stratum: Bands, name: str) -> Column:
    starts = [Fraction(start) for start in stratum.bands]
    numbers = [_number(value) for value in column.values.to_pylist()]
    band = [-1 if n is None else bisect_right(starts, n) for n in numbers]
    codes = np.array([*band, -1], dtype=np.int32)[column.codes]
    return Column(name, "drop", pa.array(range(len(starts) + 1)), codes)


def _number(value: object) -> Fraction | None:
    number = Decimal(str(value))
    return Fraction(number) if number.is_finite() else None
