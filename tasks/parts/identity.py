"""Identity of the source and people of a release in parts, computed while rows pass by.

The fingerprint is that of a multiset: a keyed hash of 128 bits for each row, added up, so that
neither the order of rows nor the number read at once makes a difference. A *unit* is the identifier
of the person or household that a row is about.
"""

import hashlib
import hmac
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.keys import HASH_BYTES
from sfumato.tasks.private.people.identity import unit_hashes
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.lines import other_lines, units_met
from sfumato.tasks.private.people.source_rows import hashed_rows, normal_rows, row_hashes
from sfumato.tasks.private.people.spelled import SPELLED, spelled_units

_BUCKETS = 256  # files, by the first byte of hashes


class RowsSeen:
    """Rows of a source as a keyed fingerprint, and each as keyed hashes in files."""

    def __init__(self, secret: bytes, people: bytes, normal: Path, written: Path | None) -> None:
        """Open the files of the rows' hashes, which are made with the key `people`.

        Args:
            secret: the secret of the line.
            people: the secret of the work directory.
            normal: the file of normal forms.
            written: the file of the rows as written, or None.
        """
        self._secret, self._people = secret, people
        self._normal = _RowsOnDisk(normal)
        self._written = None if written is None else _RowsOnDisk(written)
        self._keys = [hmac.digest(secret, f"rows in parts {n}".encode(), "sha256") for n in (0, 1)]
        self._sums = [0, 0]
        self._columns: list[list[str]] = []
        self._rows = 0

    def add(
        self,
        rows: Microdata,
        as_read: Microdata,
        names: np.ndarray | None = None,
        *,
        tells_whose: bool = False,
    ) -> None:
        """Add more rows, with the columns that are published.

        Args:
            rows: the rows as published.
            as_read: the rows before they were coded.
            names: the name of each row's person (S16), None if rows are people.
            tells_whose: whether the fingerprint also depends on the person of each row.
        """
        self._columns = [[column.name, str(column.values.type)] for column in rows.columns]
        self._rows += rows.rows
        for place, secret in enumerate(self._keys):
            hashes = row_hashes(rows, secret)
            if names is not None and tells_whose:
                hashes = hashes * (_words(names)[:, place] | np.uint64(1))
            total = hashes.sum(dtype=np.uint64)
            self._sums[place] = (self._sums[place] + int(total)) % 2**64
        self._normal.add(normal_rows(as_read, self._people, names))
        if self._written is not None:
            self._written.add(hashed_rows(as_read, self._people))

    def fingerprint(self) -> str:
        """Return the keyed digest of all rows."""
        for file in (self._normal, self._written):
            if file is not None:
                file.close()
        seen = json.dumps([self._columns, self._rows, self._sums]).encode()
        return hmac.digest(self._secret, seen, hashlib.sha256).hex()


class _RowsOnDisk:
    """A file of hashed rows, written as they pass by; no file without rows."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._writer: pq.ParquetWriter | None = None

    def add(self, table: pa.Table) -> None:
        """Write more of them."""
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._place, table.schema, compression="zstd")
        self._writer.write_table(table)

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


def _words(names: np.ndarray) -> np.ndarray:
    """Return the two halves of each name (uint64, one row per name)."""
    return np.ascontiguousarray(names, dtype=NAME).view("<u8").reshape(-1, 2)


class UnitsSeen:
    """Units of a source by their keyed hashes, and the numbers of them that other lines know."""

    def __init__(self, directory: Path, line: Path, secret: bytes, people: bytes) -> None:
        """Keep hashes in `directory`, by their first bits."""
        self._line, self._secret, self._people = line, secret, people
        self._hashes = _SortedOnDisk(directory / "units", np.dtype(f"S{HASH_BYTES}"))
        self._spelled = _SortedOnDisk(directory / "units-normal", SPELLED, "normal")
        self._others = bool(other_lines(line.parent, line.name))
        self.met: dict[str, int] = {}

    def add(self, unit: Column, names: np.ndarray) -> None:
        """Add the unit of more rows, and the names of the column's values (S16)."""
        self._hashes.add(unit_hashes(unit, self._secret))
        self._spelled.add(spelled_units(unit, names, self._people))
        if self._others:
            of_rows = names[unit.codes]
            for other, number in units_met(
                self._line.parent, self._line.name, unit, of_rows
            ).items():
                self.met[other] = self.met.get(other, 0) + number

    def write(self, hashes: Path, spelled: Path) -> None:
        """Write all hashes (S32), and the units by their normal forms (SPELLED), as sorted arrays.

        Raises:
            InputError: if a unit occurs twice.
        """
        if self._hashes.write(hashes):
            raise InputError("a unit occurs in two rows, and each person must have one row only")
        self._spelled.write(spelled)


class _SortedOnDisk:
    """Records that are sorted on disk, some at a time, by the first bits of their sort field.

    Args:
        place: the beginning of its files' names.
        dtype: the type of the records.
        sort_field: the field that they are sorted by; None for the whole record.
    """

    def __init__(self, place: Path, dtype: np.dtype, sort_field: str | None = None) -> None:
        self._place, self._dtype, self._by = place, dtype, sort_field
        self._number = 0

    def _sorted_by(self, records: np.ndarray) -> np.ndarray:
        return records if self._by is None else records[self._by]

    def add(self, records: np.ndarray) -> None:
        """Add more records, which are sorted."""
        self._number += len(records)
        sort_keys = self._sorted_by(records)
        edges = [bytes([bucket]) for bucket in range(1, _BUCKETS)]
        bounds = [
            0,
            *np.searchsorted(sort_keys, np.array(edges, dtype=sort_keys.dtype)).tolist(),
            len(records),
        ]
        for bucket, (start, end) in enumerate(pairwise(bounds)):
            if start < end:
                with self._file(bucket).open("ab") as file:
                    file.write(records[start:end].tobytes())

    def write(self, path: Path) -> bool:
        """Write all records, sorted, as an array; return whether any occurs twice."""
        whole = np.lib.format.open_memmap(path, mode="w+", dtype=self._dtype, shape=(self._number,))
        written, twice = 0, False
        for bucket in range(_BUCKETS):
            place = self._file(bucket)
            records = np.fromfile(place, dtype=self._dtype) if place.exists() else whole[:0]
            place.unlink(missing_ok=True)
            records = records[np.argsort(self._sorted_by(records), kind="stable")]
            twice |= bool((records[1:] == records[:-1]).any())
            whole[written : written + len(records)] = records
            written += len(records)
        whole.flush()
        return twice

    def _file(self, bucket: int) -> Path:
        return self._place.with_name(f"{self._place.name}-{bucket}")
