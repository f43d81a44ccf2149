"""How often each value of a sensitive column occurs in all parts, and each in the rows of one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.strata import read_columns
from sfumato.tasks.publication.in_parts.rest import Totals, places

_VALUE, _COUNT = "value", "count"


def totals_of_part(part: PartOnDisk, name: str) -> Totals:
    """How often each value of a column occurs in the rows of a part."""
    totals = Totals(name)
    for table in read_columns(part.strata, [name]):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        found = pc.value_counts(column)
        totals.add_values(found.field("values"), found.field("counts").to_numpy())
    return totals


def totals_of_parts(of_parts: Sequence[Totals]) -> Totals:
    """The same of all parts."""
    whole = Totals(of_parts[0].name)
    for one in of_parts:
        whole.add_totals(one)
    return whole


def write_values(parts: Sequence[PartOnDisk], terms: Terms, stage: Path) -> Path | None:
    """Leave how often values occur in a stage, for whoever makes a part; None where none asks.

    Distributions that groups are declared to have are over the values of all parts.
    """
    if not terms.form.declares:
        return None
    (name,) = terms.named("sensitive")
    whole = totals_of_parts([totals_of_part(part, name) for part in parts])
    path = stage / "values.parquet"
    found = pa.table({_VALUE: whole.values, _COUNT: whole.counts})
    pq.write_table(found.filter(pc.is_valid(found[_VALUE])), path)  # parts with nulls are refused
    return path


def read_values(path: Path, name: str) -> Totals:
    """What was left."""
    table = pq.ParquetFile(path).read()
    return Totals(name, table[_VALUE].combine_chunks(), table[_COUNT].to_numpy())


def over_all_values(rows: Microdata, totals: Totals) -> Microdata:
    """The rows of a part, whose column may have every value that occurs in any part."""
    column, values = rows[totals.name], totals.values
    place = np.append(places(column.values, values), -1).astype(np.int32)  # nulls have code -1
    wide = replace(column, values=values, codes=place[column.codes])
    return Microdata(
        tuple(wide if one.name == totals.name else one for one in rows.columns), rows.rows
    )
