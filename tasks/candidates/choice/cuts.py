"""Bands and levels of quasi-identifiers as further strata: candidates like any others.

Bands are about equal in rows. Levels are those of a hierarchy between its values and its root.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.expectations.exact import is_number
from sfumato.tasks.candidates.choice.wished import Choice, Choosing
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.aimed.parameters import WindowsAim
from sfumato.tasks.schema.strata import Bands, HierarchyLevel

_NUMBERS = (2, 4, 9, 16)


def with_cuts(microdata: Microdata, choosing: Choosing) -> list[Choice]:
    """All candidates, and those that cut nothing by themselves within bands and levels, too."""
    found = list(choosing.candidates)
    over = dict.fromkeys(aim.over for aim in choosing.aims if isinstance(aim, WindowsAim))
    plain = [
        one
        for one in choosing.candidates
        if one.partition.method in ("ke", "anatomy") and one.form.rows_table is not None
    ]
    for cut in (cut for name in over for cut in _cuts(microdata, name)):
        found += [
            one.model_copy(update={"strata": (*one.strata, cut)})
            for one in plain
            if cut not in one.strata
        ]
    return found


def _cuts(microdata: Microdata, name: str) -> Iterator[Bands | HierarchyLevel]:
    """The bands and levels of a column that tell rows apart."""
    column = microdata[name]
    for number in _NUMBERS:
        bands = _bands(column, number)
        if bands is not None:
            yield bands
    for level in range(1, len(column.levels()) - 1):
        yield HierarchyLevel(column=name, level=level)


def _bands(column: Column, number: int) -> Bands | None:
    """So many bands of a column's numbers; None where it has too few, or no numbers."""
    if not is_number(column.values.type):
        return None
    known = np.sort(column.codes[column.codes >= 0])
    at = [known[len(known) * place // number] for place in range(1, number)] if len(known) else []
    starts = sorted({_number(column.values[int(code)].as_py()) for code in at})
    least = _number(column.values[0].as_py()) if len(column.values) else Decimal(0)
    starts = [start for start in starts if start > least]
    return Bands(column=column.name, bands=tuple(starts)) if starts else None


def _number(value: Any) -> Decimal:
    return Decimal(str(value))
