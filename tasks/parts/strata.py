"""Strata on disk: rows on their way from the source to the part that they belong to.

A *stratum* is the rows that have certain values in the columns that the spec names under `strata`;
a *share* states the values of one column. Each stratum has some files, one for every chunk of the
source that has rows of it. Texts are dictionaries in these files, other values are unchanged. In
composed lines, each row also has the name of its person (a keyed hash of the person's unit).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Column, Microdata, encode, key
from sfumato.tasks.partitions.partition import with_strata
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.slots import column_of_names, names_of_column
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.hierarchy_rules import Bands, Stratum, column_of
from sfumato.tasks.terms.parts import Share, Where

_MOST = 10_000  # most strata
_NAME = "/name"  # no column can have this name


@dataclass
class StratumOnDisk:
    """The rows of a stratum, or of a piece of one.

    Attributes:
        where: the shares that define it.
        rows: the number of its rows.
        files: the files with its rows.
    """

    where: Where
    rows: int = 0
    files: list[Path] = field(default_factory=list)

    def add(self, table: pa.Table, path: Path) -> None:
        """Write more of its rows."""
        if table.num_rows:
            pq.write_table(table, path, compression="zstd", compression_level=1)
            self.rows += table.num_rows
            self.files.append(path)

    def delete(self) -> None:
        """Delete its files."""
        for path in self.files:
            path.unlink()


class StrataOnDisk:
    """All strata so far, in a private directory."""

    def __init__(self, directory: Path, strata: Sequence[Stratum]) -> None:
        """Start without strata, and without files."""
        self._directory, self._strata = directory, strata
        self._met: dict[Where, tuple[int, StratumOnDisk]] = {}
        self._chunks = 0

    @property
    def all_strata(self) -> list[StratumOnDisk]:
        """Every stratum, in the order of its defining shares."""
        met = (stratum for _, stratum in self._met.values())
        return sorted(met, key=lambda stratum: _order(stratum.where))

    def add(self, rows: Microdata, people: np.ndarray | None = None) -> None:
        """Write more rows, each to its stratum.

        Args:
            rows: some rows of the source.
            people: the name of each row's person (S16), None if people are not followed.

        Raises:
            InputError: if there are too many strata.
        """
        table, number = as_stage_table(rows), self._chunks
        if people is not None:
            table = table.append_column(_NAME, column_of_names(people))
        self._chunks += 1
        marked, names = with_strata(rows, self._strata)
        keys, _ = key([marked[name] for name in names], rows.rows)
        order = stable_order(keys)
        starts = np.append(np.flatnonzero(np.diff(keys[order], prepend=-1)), rows.rows)
        whole = table if len(starts) == 2 else table.take(pa.array(order))
        for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            where = self._where(marked, names, int(order[first]))
            place, stratum = self._met.setdefault(where, (len(self._met), StratumOnDisk(where)))
            if place >= _MOST:
                raise InputError(
                    f"strata: there are more than {_MOST}, and a release in parts "
                    "writes a file for each. Name columns with fewer values, or bands"
                )
            stratum.add(
                whole.slice(first, end - first), self._directory / f"{place}-{number}.parquet"
            )

    def _where(self, marked: Microdata, names: Sequence[str], row: int) -> Where:
        """Return the shares that define the stratum of a row."""
        pairs = zip(self._strata, names, strict=True)
        return tuple(_share(stratum, marked[name], row) for stratum, name in pairs)


def as_stage_table(rows: Microdata) -> pa.Table:
    """Return the rows decoded, except texts."""
    return pa.table({column.name: _array(column) for column in rows.columns})


def read_rows_of(pieces: Sequence[StratumOnDisk], roles: dict[str, Role]) -> Microdata:
    """Return the rows of some strata, encoded."""
    table = pa.concat_tables(read_columns(pieces, list(roles)))
    columns = tuple(encode(n, role, _single_array(table[n])) for n, role in roles.items())
    return Microdata(columns, table.num_rows)


def read_columns(pieces: Sequence[StratumOnDisk], names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield some columns of the rows of some strata, a file at a time."""
    for path in (path for piece in pieces for path in piece.files):
        with pq.ParquetFile(path) as file:
            yield file.read(list(names))


def read_names_of(pieces: Sequence[StratumOnDisk]) -> np.ndarray:
    """Return the name of each row's person (S16), in the order in which rows are read."""
    names = [names_of_column(table[_NAME]) for table in read_columns(pieces, [_NAME])]
    return np.concatenate([np.array([], dtype=NAME), *names])


def _array(column: Column) -> pa.Array:
    if not pa.types.is_string(column.values.type):
        return column.array()
    codes = pa.array(column.codes, mask=column.codes < 0)
    return pa.DictionaryArray.from_arrays(codes, column.values)


def _single_array(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _share(stratum: Stratum, column: Column, row: int) -> Share:
    code = int(column.codes[row])
    name = column_of(stratum)
    if code < 0:
        return Share(column=name, null=True)
    if not isinstance(stratum, Bands):
        return Share(column=name, values=(pc.cast(column.values, pa.string())[code].as_py(),))
    ends = [None, *(str(band) for band in stratum.bands), None]
    return Share(column=name, least=ends[code], below=ends[code + 1])


def _order(where: Where) -> list[tuple[object, ...]]:
    """Return a sort key: nulls first, then by the numbers that texts are, then by the texts."""
    return [
        (not share.null, share.values or (), share.least is not None, _number(share.least))
        for share in where
    ]


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
