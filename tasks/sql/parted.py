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
"""What is added to the numbers of a part, by the names of columns that have such numbers."""


@dataclass(frozen=True)
class TableInParts:
    """Files of the same columns, and what is added to numbers of each: ids run on through parts."""

    files: tuple[Path, ...]
    added: tuple[Added, ...]

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The table of each part, with numbers that are those of all parts.

        Texts are dictionaries where only some columns are asked for.

        Raises:
            OSError: where a file is missing or cannot be read.
            ArrowException: where one is no Parquet file.
        """
        for path, added in zip(self.files, self.added, strict=True):
            with pq.ParquetFile(regular(path), read_dictionary=list(columns or ())) as file:
                yield _renumbered(file.read(columns), added)


def _renumbered(table: pa.Table, added: Added) -> pa.Table:
    for name in (name for name, first in added.items() if first and name in table.column_names):
        place = table.column_names.index(name)
        ids = pc.add(table[name], pa.scalar(added[name], table[name].type))
        table = table.set_column(place, table.schema.field(place), ids)
    return table


def union_of_parts(sources: Sequence[exp.Expr], added: Sequence[Added]) -> exp.Query:
    """All rows of several tables, one below the other, with so much added to their numbers."""
    selected = (_rows_of(of, more) for of, more in zip(sources, added, strict=True))
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
