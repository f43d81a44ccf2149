"""The source of each version of a line, and the people that it was about.

Two releases of the same people grouped differently can reveal them, so a line remembers a keyed
fingerprint of the rows in each version, and a keyed hash of every unit. A *unit* is the identifier
of the person or household that a row is about.
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

from sfumato.expectations.shared.errors import Fault
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Column, Microdata, OwnedRows, key
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.keys import HASH_BYTES, hashes_of, keyed_hashes
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_bytes, regular

if TYPE_CHECKING:
    from sfumato.tasks.private.people.frozen import FrozenCodings
    from sfumato.tasks.private.people.source_rows import Rows

_AT_ONCE = 1 << 20  # units that are looked up at once


@dataclass(frozen=True, eq=False)
class Identity:
    """The identity of a release.

    Attributes:
        rows: the keyed digest of its rows.
        spec: the digest of its terms.
        units: its units as keyed hashes (S32, sorted), None if rows are people.
        codings: the inputs to its codings besides their declaration.
        met: the number of units that other lines know, by the lines' names.
        spelled: the same units by their normal forms (see `people.spelled`), None if not known.
        normal: the rows as keyed hashes of their normal forms (see `source_rows`), None if earlier
            software read the source.
        hashed: the rows as keyed hashes of values as written, None unless they are to be compared
            with versions that earlier software published.
        keeps_rows: whether the line is to keep its rows' hashes.
        others: whether the user states that newcomers are not people who left, under other names.
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
    """Return a keyed digest of a table's rows as a multiset: their order makes no difference.

    Args:
        microdata: the table.
        secret: the key of the line.
        names: the name of each row's person (S16), if the digest depends on these; otherwise None.
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
    if microdata.related is not None:
        _add_related(digest, microdata.related, names)
    return digest.hexdigest()


def _add_related(digest: hmac.HMAC, related: OwnedRows, names: np.ndarray | None) -> None:
    """Add related rows to a digest, each with the name of its owner, as a multiset.

    Raises:
        Fault: if the owners have no names.
    """
    if names is None:
        raise Fault("related rows belong to people, and these have no names")
    columns = related.table.columns
    for column in columns:
        values = [str(value) for value in column.values.to_pylist()]
        described = [column.name, str(column.values.type), values]
        digest.update(json.dumps(described).encode())
    owner = names[related.owner]
    order = np.lexsort([*(column.codes for column in columns), owner])
    digest.update(owner[order].tobytes())
    for column in columns:
        digest.update(column.codes[order].astype("<i4").tobytes())


def _sorted_rows(microdata: Microdata) -> bytes:
    """Return the rows' codes, ascending: packed if an integer holds a row, otherwise in parts."""
    sizes = [column.category()[1] for column in microdata.columns]
    if math.prod(sizes) <= INT64_MAX:
        return np.sort(key(microdata.columns, microdata.rows)[0]).astype("<i8").tobytes()
    codes = [column.codes for column in microdata.columns]
    order = np.lexsort(codes[::-1])
    return b"".join(column[order].astype("<i4").tobytes() for column in codes)


def unit_hash(unit: str, secret: bytes) -> bytes:
    """Return the keyed hash of a unit, given as text (32 bytes)."""
    return keyed_hashes([unit.encode()], secret).tobytes()


def unit_hashes(unit: Column, secret: bytes) -> np.ndarray:
    """Return the keyed hash of each distinct unit, sorted (S32, one per unit)."""
    hashes = hashes_of(unit.values, str, secret)
    return np.sort(hashes.view(f"S{HASH_BYTES}").ravel())


def write_units(line: Path, version: str, units: np.ndarray) -> None:
    """Remember the units of a version by their hashes (S32, one per unit)."""
    content = np.ascontiguousarray(units).view(np.uint8).data
    write_atomically(private_directory(line / "units") / version, content)


def read_units(line: Path, versions: Sequence[str]) -> np.ndarray:
    """Return the hashes of the units of these versions (S32, one per unit and version)."""
    content = b"".join(read_bytes(line / "units" / version) for version in versions)
    return np.frombuffer(content, dtype=f"S{HASH_BYTES}")


def units_in_common(line: Path, versions: Sequence[str], units: np.ndarray) -> int:
    """Return how many of some units (S32, sorted) are in these versions, read in batches."""
    common = np.zeros(len(units), dtype=bool)
    for version in versions:
        published = np.memmap(regular(line / "units" / version), dtype=f"S{HASH_BYTES}", mode="r")
        for start in range(0, len(units), _AT_ONCE):
            part = units[start : start + _AT_ONCE]
            first, end = np.searchsorted(published, part[[0, -1]])
            common[start : start + len(part)] |= np.isin(part, published[first : end + 1])
    return int(common.sum())


def canonical_row_order(microdata: Microdata) -> np.ndarray:
    """Return positions of the rows (int64) in an order that depends only on their values."""
    return stable_order(key(microdata.columns, microdata.rows)[0])


def write_suppressed_rows(line: Path, version: str, suppressed: np.ndarray | None) -> None:
    """Remember the rows (bool, in canonical order) that a version does not represent.

    If `suppressed` is None the version represents all rows, and rows remembered by a killed attempt
    at the same number are forgotten.
    """
    place = private_directory(line / "left-out") / version
    if suppressed is None:
        place.unlink(missing_ok=True)
        return
    write_atomically(place, np.packbits(suppressed).tobytes())


def represented_part(line: Path, version: str, microdata: Microdata) -> Microdata:
    """Return the rows that a version represents: without the suppressed ones."""
    suppressed = suppressed_rows(line, version, microdata.rows)
    return microdata if suppressed is None else without_suppressed(microdata, suppressed)


def suppressed_rows(line: Path, version: str, rows: int) -> np.ndarray | None:
    """Return the rows (bool, in canonical order) that a version does not represent.

    Returns None if it represents all rows. If a version is in parts, its parts follow one another,
    each in its own order.
    """
    path = line / "left-out" / version
    if not path.exists():
        return None
    bits = np.unpackbits(np.frombuffer(read_bytes(path), np.uint8), count=rows)
    return bits.astype(bool)


def without_suppressed(microdata: Microdata, suppressed: np.ndarray) -> Microdata:
    """Return the other rows, in their order; `suppressed` (bool) is in canonical order."""
    return microdata.take(np.sort(canonical_row_order(microdata)[~suppressed]))
