"""Strata: columns, or bands of them, by which the data owner wants groups kept apart."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.schema.strata import Bands, Stratum


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
