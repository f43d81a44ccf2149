"""A table in several Parquet files, one for each part of a release."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from sfumato.tasks.schema.files import regular

Added = Mapping[str, int]
"""The offsets of a part's numbers, by the names of the columns with such numbers."""


@dataclass(frozen=True)
class TableInParts:
    """Files of the same columns, and what is added to the numbers of each: ids run on."""

    files: tuple[Path, ...]
    added: tuple[Added, ...]

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the table of each part, with the numbers of all parts.

        Texts are dictionaries if only some columns are asked for.

        Raises:
            OSError: if a file is missing or cannot be read.
            ArrowException: if one is no Parquet file.
        """
        for path, added in zip(self.files, self.added, strict=True):
            with pq.ParquetFile(regular(path), read_dictionary=list(columns or ())) as file:
                yield _renumber(file.read(columns), added)


def _renumber(table: pa.Table, added: Added) -> pa.Table:
    for name in (name for name, first in added.items() if first and name in table.column_names):
        place = table.column_names.index(name)
        ids = pc.add(table[name], pa.scalar(added[name], table[name].type))
        table = table.set_column(place, table.schema.field(place), ids)
    return table


def union_of_parts(sources: Sequence[exp.Expr], added: Sequence[Added]) -> exp.Query:
    """Return all rows of several tables, one after the other, with offsets added to their ids."""
    selected = (_rows_of(source, more) for source, more in zip(sources, added, strict=True))
    whole: exp.Query = next(selected)
    for more in selected:
        whole = exp.union(whole, more, distinct=False)
    return whole


def _rows_of(source: exp.Expr, added: Added) -> exp.Select:
    ids = [
        exp.alias_(exp.column(name) + exp.Literal.number(first), name)
        for name, first in added.items()
        if first
    ]
    return exp.select(exp.Star(replace=ids) if ids else "*").from_(source)
