"""Texts cut short, and rare ones replaced by one."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.codings.recode import recode, rows_of_values
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.codings.declared import RareFold


def code_prefix(column: Column, declared: int, _found: None = None) -> Column:
    """Every text becomes its first characters (code points, never bytes)."""
    return recode(column, pc.utf8_slice_codeunits(column.values, 0, declared))


def code_fold(column: Column, declared: RareFold, found: Sequence[str]) -> Column:
    """Every value that is not among those that were found to be frequent becomes another."""
    kept = pc.is_in(column.values, value_set=pa.array(list(found), column.values.type))
    into = pa.scalar(declared.into, column.values.type)
    return recode(column, pc.if_else(kept, column.values, into))


def find_fold(column: Column, declared: RareFold) -> list[str]:
    """The values that enough rows have, ascending."""
    enough = rows_of_values(column) >= declared.below
    frequent: list[str] = column.values.filter(pa.array(np.asarray(enough))).to_pylist()
    return frequent
