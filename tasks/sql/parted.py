"""A table in several Parquet files, one for each part of a release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from sfumato.tasks.schema.names import GROUP_ID


@dataclass(frozen=True)
class TableInParts:
    """Files of the same columns, and what is added to the group ids of each."""

    files: tuple[Path, ...]
    first_groups: tuple[int, ...]

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The table of each part, with group ids that are those of all parts.

        Texts are dictionaries where only some columns are asked for.

        Raises:
            OSError: where a file is missing or cannot be read.
            ArrowException: where one is no Parquet file.
        """
        for path, first in zip(self.files, self.first_groups, strict=True):
            with pq.ParquetFile(path, read_dictionary=list(columns or ())) as file:
                yield with_group_ids_from(first, file.read(columns))


def with_group_ids_from(first: int, table: pa.Table) -> pa.Table:
    """The table with so much added to its group ids, where it has any."""
    if GROUP_ID not in table.column_names or not first:
        return table
    place = table.column_names.index(GROUP_ID)
    ids = pc.add(table[GROUP_ID], pa.scalar(first, table[GROUP_ID].type))
    return table.set_column(place, table.schema.field(place), ids)


def union_of_parts(sources: Sequence[exp.Expr], first_groups: Sequence[int]) -> exp.Query:
    """All rows of several tables, one below the other, with so much added to their group ids."""
    selected = (_rows_of(of, first) for of, first in zip(sources, first_groups, strict=True))
    whole: exp.Query = next(selected)
    for more in selected:
        whole = exp.union(whole, more, distinct=False)
    return whole


def _rows_of(source: exp.Expr, first: int) -> exp.Select:
    if not first:
        return exp.select("*").from_(source)
    ids = exp.alias_(exp.column(GROUP_ID) + exp.Literal.number(first), GROUP_ID)
    return exp.select(exp.Star(replace=[ids])).from_(source)
