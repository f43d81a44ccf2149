"""Of which source, and about whom, each version of a line was.

Two releases of the same people grouped differently betray them, so a line remembers what it
published: a keyed fingerprint of the represented rows, and a keyed hash of every unit.
"""

import hashlib
import hmac
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.keys import HASH_BYTES, hashes_of, keyed_hashes
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_bytes, regular

if TYPE_CHECKING:
    from sfumato.tasks.private.people.frozen import FrozenCodings
    from sfumato.tasks.private.people.source_rows import Rows

_AT_ONCE = 1 << 20  # units


@dataclass(frozen=True, eq=False)
class Identity:
    """The identity of a release.

    Attributes:
        rows: as a digest.
        spec: as a digest.
        units: as keyed hashes (S32, sorted), None where rows are people.
        codings: what its columns were coded by beside their declaration.
        met: how many of them other lines know, by the lines' names.
        spelled: the same units by their normal forms (see `people.spelled`).
        normal: the rows as keyed hashes of their normal forms (see `source_rows`), None of what
            earlier software read.
        hashed: the same of what was written, where versions of before are to be compared.
        keeps_rows: whether the line is to keep its rows' hashes.
        others: whether people who come are said not to be those who left, under other names.
    """

    rows: str
    spec: str
    units: np.ndarray | None
    codings: "FrozenCodings"
    met: Mapping[str, int] = field(default_factory=dict)
    spelled: np.ndarray | None = None
    normal: "Rows | None" = None
    hashed: "Rows | None" = None
    keeps_rows: bool = True
    others: bool = False


def fingerprint(microdata: Microdata, secret: bytes, names: np.ndarray | None = None) -> str:
    """A keyed digest of a table's rows as a multiset: their order makes no difference.

    Args:
        microdata: the table.
        secret: of the line.
        names: of each row's person (S16), where it matters whose rows they are.
    """
    digest = hmac.new(secret, digestmod=hashlib.sha256)
    for column in microdata.columns:
        described = [
            column.name,
            str(column.values.type),
            [str(v) for v in column.values.to_pylist()],
        ]
        digest.update(json.dumps(described).encode())
    digest.update(_sorted_rows(microdata))
    if names is not None:
        order = np.lexsort([names, *(column.codes for column in microdata.columns)])
        digest.update(names[order].tobytes())
    return digest.hexdigest()


def _sorted_rows(microdata: Microdata) -> bytes:
    """The rows' codes in ascending order: packed where an integer holds a row, else in parts."""
    sizes = [column.category()[1] for column in microdata.columns]
    if math.prod(sizes) <= INT64_MAX:
        return np.sort(key(microdata.columns, microdata.rows)[0]).astype("<i8").tobytes()
    codes = [column.codes for column in microdata.columns]
    order = np.lexsort(codes[::-1])
    return b"".join(column[order].astype("<i4").tobytes() for column in codes)


def unit_hash(unit: str, secret: bytes) -> bytes:
    """The keyed hash of a unit, given as text (32 bytes)."""
    return keyed_hashes([unit.encode()], secret).tobytes()


def unit_hashes(unit: Column, secret: bytes) -> np.ndarray:
    """The keyed hash of each distinct unit, sorted (S32, one per unit)."""
    hashes = hashes_of(unit.values, str, secret)
    return np.sort(hashes.view(f"S{HASH_BYTES}").ravel())


def write_units(line: Path, version: str, units: np.ndarray) -> None:
    """Remember the units of a version by their hashes (S32, one per unit)."""
    content = np.ascontiguousarray(units).view(np.uint8).data
    write_atomically(private_directory(line / "units") / version, content)


def read_units(line: Path, versions: Sequence[str]) -> np.ndarray:
    """The hashes of the units of these versions (S32, one per unit and version)."""
    content = b"".join(read_bytes(line / "units" / version) for version in versions)
    return np.frombuffer(content, dtype=f"S{HASH_BYTES}")


def units_in_common(line: Path, versions: Sequence[str], units: np.ndarray) -> int:
    """How many of some units (S32, sorted) are in these versions, some at a time."""
    common = np.zeros(len(units), dtype=bool)
    for version in versions:
        known = np.memmap(regular(line / "units" / version), dtype=f"S{HASH_BYTES}", mode="r")
        for start in range(0, len(units), _AT_ONCE):
            part = units[start : start + _AT_ONCE]
            first, end = np.searchsorted(known, part[[0, -1]])
            common[start : start + len(part)] |= np.isin(part, known[first : end + 1])
    return int(common.sum())


def canonical_row_order(microdata: Microdata) -> np.ndarray:
    """Positions of the rows (int64) in an order that depends on their values alone."""
    return stable_order(key(microdata.columns, microdata.rows)[0])


def write_suppressed_rows(line: Path, version: str, suppressed: np.ndarray | None) -> None:
    """Remember which rows (bool, in canonical order) a version does not represent.

    None where it represents all: what a killed attempt at the same number left is forgotten.
    """
    place = private_directory(line / "left-out") / version
    if suppressed is None:
        place.unlink(missing_ok=True)
        return
    write_atomically(place, np.packbits(suppressed).tobytes())


def represented_part(line: Path, version: str, microdata: Microdata) -> Microdata:
    """Those of a version's rows that it represents: without the suppressed ones."""
    suppressed = suppressed_rows(line, version, microdata.rows)
    return microdata if suppressed is None else without_suppressed(microdata, suppressed)


def suppressed_rows(line: Path, version: str, rows: int) -> np.ndarray | None:
    """Which of so many rows (bool, in canonical order) a version does not represent.

    Of a version in parts, those of each part follow one another. None where it represents all.
    """
    path = line / "left-out" / version
    if not path.exists():
        return None
    bits = np.unpackbits(np.frombuffer(read_bytes(path), np.uint8), count=rows)
    return bits.astype(bool)


def without_suppressed(microdata: Microdata, suppressed: np.ndarray) -> Microdata:
    """The other rows, in their order; which are suppressed (bool) is told in canonical order."""
    return microdata.take(np.sort(canonical_row_order(microdata)[~suppressed]))
