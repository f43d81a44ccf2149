"""Of which source, and about whom, a release in parts is: told while rows pass by, and keep.

The fingerprint is that of a multiset: a keyed hash of 128 bits for each row, added up, so that
neither the order of rows nor how many are read at once makes a difference.
"""

import hashlib
import hmac
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.expectations.errors import InputError
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.keys import HASH_BYTES
from sfumato.tasks.private.line import unit_hashes
from sfumato.tasks.private.people.keys import NAME, names_of
from sfumato.tasks.private.people.lines import other_lines, units_met
from sfumato.tasks.private.source_rows import hashed_rows, row_hashes

_BUCKETS = 16
_HASH = np.dtype(f"S{HASH_BYTES}")


class RowsSeen:
    """The rows of a source as a keyed fingerprint, and each as keyed hashes in a file."""

    def __init__(self, secret: bytes, people: bytes, file: Path | None) -> None:
        """Write hashes under the key `people` to `file`, where there is one."""
        self._secret, self._people, self._file = secret, people, file
        self._keys = [hmac.digest(secret, f"rows in parts {n}".encode(), "sha256") for n in (0, 1)]
        self._sums = [0, 0]
        self._columns: list[list[str]] = []
        self._rows = 0
        self._writer: pq.ParquetWriter | None = None

    def add(self, rows: Microdata, as_read: Microdata, names: np.ndarray | None = None) -> None:
        """See more rows, with the columns that are published: coded, and as they were read.

        And the names of their people (S16), where other people's rows make another version.
        """
        self._columns = [[column.name, str(column.values.type)] for column in rows.columns]
        self._rows += rows.rows
        for place, secret in enumerate(self._keys):
            hashes = row_hashes(rows, secret)
            if names is not None:
                hashes = hashes * (_words(names)[:, place] | np.uint64(1))
            found = hashes.sum(dtype=np.uint64)
            self._sums[place] = (self._sums[place] + int(found)) % 2**64
        if self._file is not None:
            table = hashed_rows(as_read, self._people)
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._file, table.schema, compression="zstd")
            self._writer.write_table(table)

    def fingerprint(self) -> str:
        """The keyed digest of all rows."""
        if self._writer is not None:
            self._writer.close()
        seen = json.dumps([self._columns, self._rows, self._sums]).encode()
        return hmac.digest(self._secret, seen, hashlib.sha256).hex()


def _words(names: np.ndarray) -> np.ndarray:
    """The two halves of each name (uint64, one row per name)."""
    return np.ascontiguousarray(names, dtype=NAME).view("<u8").reshape(-1, 2)


class UnitsSeen:
    """The units of a source by their keyed hashes, and how many of them other lines know."""

    def __init__(self, directory: Path, line: Path, secret: bytes, people: bytes) -> None:
        """Keep hashes in `directory`, by their first bits."""
        self._directory, self._line = directory, line
        self._secret, self._people = secret, people
        self._others = bool(other_lines(line.parent, line.name))
        self.met: dict[str, int] = {}
        self._number = 0

    def add(self, unit: Column) -> None:
        """See the unit of more rows."""
        hashes = unit_hashes(unit, self._secret)
        self._number += len(hashes)
        edges = [bytes([256 // _BUCKETS * bucket]) for bucket in range(1, _BUCKETS)]
        bounds = [0, *np.searchsorted(hashes, np.array(edges, dtype=_HASH)).tolist(), len(hashes)]
        for bucket in range(_BUCKETS):
            with (self._directory / f"units-{bucket}").open("ab") as file:
                file.write(hashes[bounds[bucket] : bounds[bucket + 1]].tobytes())
        if self._others:
            names = names_of(unit, self._people)
            for other, known in units_met(self._line.parent, self._line.name, unit, names).items():
                self.met[other] = self.met.get(other, 0) + known

    def write(self, path: Path) -> None:
        """Write all hashes, sorted, as an array (S32).

        Raises:
            InputError: where a unit occurs twice.
        """
        whole = np.lib.format.open_memmap(path, mode="w+", dtype=_HASH, shape=(self._number,))
        written = 0
        for bucket in range(_BUCKETS):
            place = self._directory / f"units-{bucket}"
            hashes = np.sort(np.fromfile(place, dtype=_HASH)) if place.exists() else np.array([])
            place.unlink(missing_ok=True)
            if (hashes[1:] == hashes[:-1]).any():
                raise InputError("a unit occurs in two rows: each person must be there once")
            whole[written : written + len(hashes)] = hashes
            written += len(hashes)
        whole.flush()
