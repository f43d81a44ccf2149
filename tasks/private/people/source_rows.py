"""The rows of a source by keyed hashes, so that versions and lines can be compared by them.

A *unit* is the identifier of the person (or household) that a row is about.

<line>/rows-normal/<version>   the rows in a version (Parquet, 0600), unless its line is to remember
                               only units: 8-byte hashes of the normal form of each published
                               column's values, and of the row's unit
<line>/rows/<version>          hashes of values as they were written: for versions before state
                               format 3 whose rows have no unit

Rows are in the order of their hashes, and are compared over the columns that two tables have in
common, whichever these are. Someone who has the file and the key of the work directory can test
whether a row was among them.

A column without a value that is in both tables, such as the month of monthly files, is left out.
Then the rows are compared over all other columns and, for each column, over all but that one: one
column may have changed for everyone, as ages do. If there are many rows, the comparisons without a
column use a sample of the combinations of values, chosen by their hashes: the same combinations in
both tables. These comparisons share one level of significance (see `composition.same_people`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.composition.same_people import RowsOfTwo, rows_of_two
from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.notation.normal_form import normal_form
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.durable import copy_atomically, write_atomically
from sfumato.tasks.private.keys import hashes_of, keyed_hashes
from sfumato.tasks.private.people.keys import spellings_of, text_of
from sfumato.tasks.private.people.spelled import half_of
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import regular

WHOSE = "/unit"
"""The column of each row's unit, as half of its hash (see `half_of`); 0 is nobody's."""
_SAMPLED = 1 << 16  # a sample (see `_many`) has from so many to twice as many rows of both tables
_IN_MEMORY = 1 << 26  # most hashes of a table that stays in memory
_NONE = np.array([], dtype=np.uint64)


ROWS, ROWS_NORMAL = "rows", "rows-normal"


_BYTES, _NULL = 8, b"\0null"  # bytes of a hash, and the text that is hashed for null


# a multiplier and shifts that mix the bits of hashes
_ODD, _HALF, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(17)


def normal_rows(rows: Microdata, secret: bytes, names: np.ndarray | None = None) -> pa.Table:
    """Return the rows as keyed hashes of each value's normal form (uint64), sorted by hashes.

    Args:
        rows: the columns that are published, as they were read.
        secret: the key of the work directory.
        names: the name of each row's person (S16), None if rows are people.

    Returns:
        A column of hashes for each column, and `WHOSE` if there are names.
    """
    hashed = {column.name: _hash_normal_forms(column, secret) for column in rows.columns}
    if names is None:
        return _as_table(hashed, rows.rows)
    whose, codes = np.unique(half_of(names), return_inverse=True)
    return _as_table({**hashed, WHOSE: (whose, codes)}, rows.rows)


def _as_table(columns: Mapping[str, tuple[np.ndarray, np.ndarray]], rows: int) -> pa.Table:
    """Return a table in an order that reveals nothing.

    Args:
        columns: by name, the distinct hashes and each row's place in them.
        rows: the number of rows.
    """
    hashes = [values[codes] for values, codes in columns.values()]
    order = np.argsort(_hash_rows(hashes, rows))  # equal hashes are equal rows
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(
                pa.array(codes[order], pa.int32()), pa.array(values, pa.uint64())
            )
            for name, (values, codes) in columns.items()
        }
    )


def hashed_rows(rows: Microdata, secret: bytes) -> pa.Table:
    """Return the rows as keyed hashes of each value as it was written, sorted by hashes.

    Versions before state format 3 kept such rows.
    """
    return _as_table(
        {column.name: _hash_values(column, secret) for column in rows.columns}, rows.rows
    )


def row_hashes(rows: Microdata, secret: bytes) -> np.ndarray:
    """Return one keyed hash of each row (uint64), in the order of the rows."""
    hashed = (_hash_values(column, secret) for column in rows.columns)
    return _hash_rows((values[codes] for values, codes in hashed), rows.rows)


@dataclass(frozen=True)
class RowsInFile:
    """The hashed rows of a source in a file, too many to be read at once."""

    path: Path

    @cached_property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(pq.read_metadata(regular(self.path)).num_rows)

    @cached_property
    def column_names(self) -> list[str]:
        """The columns whose values are hashed."""
        return list(pq.read_schema(regular(self.path)).names)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the hashes of a column, as they are encoded."""
        with pq.ParquetFile(regular(self.path)) as file:
            return file.read([name])[name]


Rows: TypeAlias = pa.Table | RowsInFile
"""Hashed rows, read or in a file."""


def write_rows(line: Path, version: str, rows: Rows, folder: str = ROWS_NORMAL) -> None:
    """Keep the rows of a version in a folder of a line (see `normal_rows`)."""
    place = private_directory(line / folder) / version
    if isinstance(rows, RowsInFile):
        copy_atomically(rows.path, place)
        return
    write_atomically(place, _bytes_of(rows))


def read_rows(line: Path, version: str, folder: str = ROWS_NORMAL) -> RowsInFile | None:
    """Return the rows of a version, or None if they were not kept.

    Raises:
        PromiseError: where they cannot be read.
    """
    rows = RowsInFile(line / folder / version)
    try:
        return rows if rows.num_rows >= 0 else None  # always True: counting opens the file
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowException) as error:
        require_machine(error)
        raise PromiseError(
            f"{rows.path}: cannot be read as rows of a source. Restore it from a backup: "
            "sfumato line restore SPEC FILE"
        ) from None


def with_other_units(content: bytes, units: Mapping[int, int | None]) -> bytes:
    """Return the content of a file of rows, with units renamed or their rows left out.

    Args:
        content: the content of the file.
        units: by unit (half of its hash) the new unit, or None to leave out its rows.
    """
    table = pq.read_table(pa.BufferReader(content))
    if WHOSE not in table.column_names or not units:
        return content
    named = np.array(sorted(units), dtype=np.uint64)
    gone = np.array([units[unit] is None for unit in named.tolist()])
    renamed = np.array([units[unit] or 0 for unit in named.tolist()], dtype=np.uint64)
    whose = _values(table[WHOSE])
    place = np.minimum(np.searchsorted(named, whose), len(named) - 1)
    met = named[place] == whose
    stays = ~(met & gone[place])
    changed = pa.array(np.where(met, renamed[place], whose)[stays], pa.uint64())
    index = table.column_names.index(WHOSE)
    table = table.filter(pa.array(stays))
    return _bytes_of(table.set_column(index, WHOSE, changed.dictionary_encode()))


def _bytes_of(rows: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    pq.write_table(rows, content, compression="zstd")
    return bytes(content.getvalue().to_pybytes())


def _hash_values(column: Column, secret: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes of a column's values (uint64), that of null last, and each row's place."""
    return _with_null(hashes_of(column.values, text_of, secret), column, secret)


def _hash_normal_forms(column: Column, secret: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the result of `_hash_values` for the normal forms of the column's values."""
    texts = normal_form(spellings_of(column.values))
    return _with_null(hashes_of(texts, str, secret), column, secret)


def _with_null(
    of_values: np.ndarray, column: Column, secret: bytes
) -> tuple[np.ndarray, np.ndarray]:
    whole = np.concatenate([of_values, keyed_hashes([_NULL], secret)])
    hashes = np.ascontiguousarray(whole[:, :_BYTES]).view("<u8").ravel()
    codes = np.where(column.codes < 0, len(column.values), column.codes)
    return hashes.astype(np.uint64), codes


def _hash_rows(columns: Iterable[np.ndarray], rows: int) -> np.ndarray:
    """Return one hash of each row (uint64) from the hashes of its columns, in their order."""
    return reduce(_mix_in, columns, np.zeros(rows, dtype=np.uint64))


def _mix_in(so_far: np.ndarray, more: np.ndarray) -> np.ndarray:
    product = (so_far ^ more) * _ODD
    return np.asarray(product ^ (product >> _HALF))


def _values(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.cast(pa.uint64()).to_numpy())


@dataclass(frozen=True)
class RowsInCommon:
    """The counts of combinations of values that two tables have in common over some columns.

    Attributes:
        columns: the names of the columns that were compared.
        rows: the counts.
        are_related: whether they are rows of the same people.
    """

    columns: tuple[str, ...]
    rows: RowsOfTwo
    are_related: bool


def columns_of_both(first: Rows, second: Rows) -> list[str]:
    """Return the names of the columns that both tables have, sorted, without `WHOSE`."""
    return sorted((set(first.column_names) & set(second.column_names)) - {WHOSE})


def compare_rows(ours: Rows, theirs: Rows) -> RowsInCommon | None:
    """Compare two tables; rows whose unit is in both tables are left out.

    Returns:
        None if no column has a value that is in both tables.
    """
    first, second, both = _HashedTable(ours), _HashedTable(theirs), columns_of_both(ours, theirs)
    names = [name for name in both if _meet(first.column(name), second.column(name))]
    if not names:
        return None
    sides = _sides(first, second, names)
    whole = rows_of_two(*(side.distinct(side.total) for side in sides))
    if whole.are_related or len(names) == 1:
        return RowsInCommon(tuple(names), whole, whole.are_related)
    for place, name in enumerate(names):
        rows = rows_of_two(*(side.sample_without(place, name, _many(sides)) for side in sides))
        if rows.is_beyond_chance(tests=len(names)):
            return RowsInCommon(tuple(n for n in names if n != name), rows, are_related=True)
    return RowsInCommon(tuple(names), whole, are_related=False)


@dataclass(frozen=True, eq=False)
class _HashedColumn:
    """A column of hashes: for each chunk its values (uint64), and each row's place in them."""

    pieces: tuple[tuple[np.ndarray, np.ndarray], ...]

    @property
    def values(self) -> np.ndarray:
        """The hashes that occur in the column (uint64)."""
        return np.concatenate(
            [_NONE, *(_used_values(values, places) for values, places in self.pieces)]
        )

    def rows(self, change: Callable[[np.ndarray], np.ndarray] = np.asarray) -> np.ndarray:
        """Return the hash of each row (uint64), changed value by value."""
        return np.concatenate([_NONE, *(change(values)[places] for values, places in self.pieces)])


class _HashedTable:
    """Hashed rows by column, which stay in memory if they are few."""

    def __init__(self, source: Rows) -> None:
        self._source, self._known = source, dict[str, _HashedColumn]()
        self.rows = source.num_rows
        self._is_small = source.num_rows * len(source.column_names) <= _IN_MEMORY

    def column(self, name: str) -> _HashedColumn:
        """Return one of the columns."""
        if name in self._known:
            return self._known[name]
        encoded = (
            self._source[name] if isinstance(self._source, pa.Table) else self._source.column(name)
        )
        pieces = (_values_and_places(chunk) for chunk in encoded.chunks)
        column = _HashedColumn(tuple(pieces))
        if self._is_small:
            self._known[name] = column
        return column

    def whose(self) -> np.ndarray | None:
        """Return the person of each row (uint64), or None if rows are people."""
        return self.column(WHOSE).rows() if WHOSE in self._source.column_names else None


def _used_values(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    is_used = np.zeros(len(values), dtype=bool)
    is_used[places] = True
    return np.asarray(values[is_used])


def _values_and_places(chunk: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    return np.asarray(coded.dictionary.to_numpy()), np.asarray(coded.indices.to_numpy())


def _meet(first: _HashedColumn, second: _HashedColumn) -> bool:
    """Decide whether some value of a column is in both tables."""
    return bool(np.isin(first.values, second.values).any())


@dataclass(frozen=True, eq=False)
class _Side:
    """The rows of one table that are compared.

    Attributes:
        table: all its rows.
        kept: the rows that are compared (bool).
        total: for each compared row the sum of its columns' hashes (uint64), from which the hash of
            a single column can be subtracted.
        whose: the unit of each compared row (uint64), None if no unit has several rows.
    """

    table: _HashedTable
    kept: np.ndarray
    total: np.ndarray
    whose: np.ndarray | None

    def distinct(self, hashes: np.ndarray, whose: np.ndarray | None = None) -> np.ndarray:
        """Return the hashes of rows (uint64), equal rows of one person only once.

        Args:
            hashes: one per row.
            whose: the unit of each row; those of all compared rows unless given.
        """
        whose = self.whose if whose is None else whose
        if whose is None:
            return hashes
        _, first = np.unique(_mix(hashes ^ whose), return_index=True)
        return np.asarray(hashes[first])

    def sample_without(self, place: int, name: str, every: int) -> np.ndarray:
        """Return hashes of rows over all columns but one, for a sample of combinations.

        Args:
            place: the place of the column among those that are compared.
            name: the column.
            every: 1 in so many combinations is in the sample; a power of two.
        """
        hashes = self.total - _salted_hashes(self.table.column(name), place)[self.kept]
        some = (hashes >> _HALF) & np.uint64(every - 1) == 0
        return self.distinct(hashes[some], None if self.whose is None else self.whose[some])


def _many(sides: Sequence[_Side]) -> int:
    """Return how many combinations there are for each sampled one, a power of two."""
    return 1 << max(0, (sum(len(side.total) for side in sides) // _SAMPLED).bit_length() - 1)


def _sides(first: _HashedTable, second: _HashedTable, names: Sequence[str]) -> tuple[_Side, _Side]:
    mine, theirs = first.whose(), second.whose()
    return _side(first, names, mine, theirs), _side(second, names, theirs, mine)


def _side(
    table: _HashedTable, names: Sequence[str], mine: np.ndarray | None, theirs: np.ndarray | None
) -> _Side:
    is_compared = np.ones(table.rows, dtype=bool)
    if mine is not None and theirs is not None:
        is_compared = ~np.isin(mine, theirs)
    total = np.zeros(table.rows, dtype=np.uint64)
    for place, name in enumerate(names):
        total += _salted_hashes(table.column(name), place)
    several = mine is not None and pc.count_distinct(pa.array(mine)).as_py() < len(mine)
    return _Side(
        table,
        is_compared,
        total[is_compared],
        mine[is_compared] if several and mine is not None else None,
    )


def _salted_hashes(column: _HashedColumn, place: int) -> np.ndarray:
    """Return the hash of each row (uint64), salted with the place of its column."""
    salt = np.uint64((place + 1) * int(_ODD) % 2**64)
    return column.rows(lambda values: _mix(values + salt))


def _mix(hashes: np.ndarray) -> np.ndarray:
    product = (hashes ^ (hashes >> _HALF)) * _ODD
    return np.asarray(product ^ (product >> _SHIFT) ^ (product >> _HALF))
