"""An analyst's own tables, joined to the microdata by columns that are published as they are.

A row of the microdata has one row of the table, or none: so what it says is known of every row, as
are the columns by which it is joined.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from sfumato.tasks.schema.published import DerivedColumn

OwnTables = Mapping[str, pa.Table]
"""An analyst's own tables by their names."""


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """A table of the analyst's.

    Attributes:
        table: with the columns that are asked for, and those of the key under published names.
        keys: the published columns by which it is joined.
        columns: the declarations of its columns by the names that stand for them.
        matched: the name of the column that says whether a row of the microdata has one in it.
    """

    table: pa.Table
    keys: tuple[str, ...]
    columns: Mapping[str, DerivedColumn]
    matched: str
