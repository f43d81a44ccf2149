"""Strata: columns, bands or levels of them, by which the owner wants groups kept apart."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import SpecError
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.schema.strata import Bands, HierarchyLevel, Stratum


def with_strata(
    microdata: Microdata, strata: Iterable[Stratum]
) -> tuple[Microdata, tuple[str, ...]]:
    """The table with columns for bands and levels (never published), and the names of all strata.

    Raises:
        SpecError: where a hierarchy does not reach a level.
    """
    names = []
    for stratum in strata:
        name = str(stratum)
        if not isinstance(stratum, str):
            column = _cut(microdata[stratum.column], stratum, name)
            microdata = replace(microdata, columns=(*microdata.columns, column))
        names.append(name)
    return microdata, tuple(names)


def _cut(column: Column, stratum: Bands | HierarchyLevel, name: str) -> Column:
    if isinstance(stratum, Bands):
        return _banded(column, stratum, name)
    return _nodes(column, stratum, name)


def _banded(column: Column, stratum: Bands, name: str) -> Column:
    starts = [Fraction(start) for start in stratum.bands]
    numbers = [_number(value) for value in column.values.to_pylist()]
    band = [-1 if n is None else bisect_right(starts, n) for n in numbers]
    codes = np.array([*band, -1], dtype=np.int32)[column.codes]
    return Column(name, "drop", pa.array(range(len(starts) + 1)), codes)


def _nodes(column: Column, level: HierarchyLevel, name: str) -> Column:
    levels = column.levels()
    if column.ancestors is None or level.level >= len(levels):
        raise SpecError(
            f"strata: {level.column!r} has no level {level.level}: its hierarchy has levels up to "
            f"{len(levels) - 1}"
        )
    nodes = levels[level.level][column.category()[0]]
    return Column(
        name, "drop", pa.array(range(int(nodes.max(initial=0)) + 1)), nodes.astype(np.int32)
    )


def _number(value: object) -> Fraction | None:
    number = Decimal(str(value))
    return Fraction(number) if number.is_finite() else None
