"""Ingestion: from a declared source to microdata in dictionary codes.

Rows are taken in this order: read and typed, filtered, null policies, one row per unit, encoded.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import SpecError
from sfumato.tasks.microdata.filter import rows_where
from sfumato.tasks.microdata.hierarchies import hierarchies, require_leaves
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.rows import one_per_unit, without_nulls
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy, Role
from sfumato.tasks.schema.files import unreadable


@dataclass(frozen=True, eq=False)
class Ingested:
    """The represented rows with all declared columns, and what became of the others."""

    microdata: Microdata
    read: int
    dropped_by_filter: int
    dropped_for_nulls: int
    dropped_as_repeats: int


def ingest(
    source: Source,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
    base: Path,
    environ: Mapping[str, str],
) -> Ingested:
    """Read a source as it is declared.

    Args:
        source: where the microdata are and how they are written.
        columns: every column of the source.
        nulls: the null policy of columns that name none.
        base: the directory that paths are relative to.
        environ: what `${NAME}` in the address stands for.

    Raises:
        SpecError: where the declaration itself is wrong.
        InputError: where the file is not as declared, with file, row and column.
    """
    return represented_rows(read(source, columns, base, environ), source, columns, nulls, base)


def read(
    source: Source, columns: Mapping[str, ColumnSpec], base: Path, environ: Mapping[str, str]
) -> Microdata:
    """All rows of a source with its declared columns, typed and encoded.

    Raises:
        SpecError: where the declaration itself is wrong.
        InputError: where the file is not as declared, with file, row and column.
    """
    path = local_path(source.uri, base, environ)
    _require_digest(path, source)
    whole = _encoded(path, source, columns)
    if not whole.rows:
        raise input_error(source.uri, "has no rows")
    return whole


def represented_rows(
    whole: Microdata,
    source: Source,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
    base: Path,
) -> Ingested:
    """The rows of a whole source that a release speaks of.

    Raises:
        SpecError: where the declaration itself is wrong.
        InputError: where a row breaks a null policy, repeats a unit or is in no hierarchy.
    """
    filtered = _filtered(whole, source, columns)
    complete = without_nulls(whole, filtered, columns, nulls, source.uri)
    kept = one_per_unit(whole, complete, columns, source.uri)
    microdata = whole if len(kept) == whole.rows else whole.take(kept)
    for name, known in hierarchies(columns, microdata, base).items():
        require_leaves(microdata[name], known, source.uri, kept)
    return Ingested(
        microdata=microdata,
        read=whole.rows,
        dropped_by_filter=whole.rows - len(filtered),
        dropped_for_nulls=len(filtered) - len(complete),
        dropped_as_repeats=len(complete) - len(kept),
    )


def local_path(uri: str, base: Path, environ: Mapping[str, str]) -> Path:
    """The path that an address means on this machine.

    Raises:
        SpecError: for a variable that is not set, or an address that is no path.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in environ:
            raise SpecError(f"{uri}: environment variable {match[1]} is not set")
        return environ[match[1]]

    address = re.sub(r"\$\{(\w+)\}", value, uri)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://(localhost(?=/))?", address)
    if scheme is None:
        return base / address
    if scheme[1].lower() != "file":
        raise SpecError(f"{uri}: addresses with {scheme[1]}:// are not supported")
    if not (path := address[scheme.end() :]).startswith("/"):
        raise SpecError(f"{uri}: a file:// address needs an absolute path on this machine")
    return Path(unquote(path))


def _require_digest(path: Path, source: Source) -> None:
    if reason := unreadable(path):
        raise input_error(source.uri, reason)
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path"
        raise input_error(source.uri, f"cannot be read ({reason})") from None
    if source.sha256 not in (None, found):
        raise input_error(source.uri, "its SHA-256 is not the one that the spec pins")


def _encoded(path: Path, source: Source, columns: Mapping[str, ColumnSpec]) -> Microdata:
    """All rows of the file, in the order of the declared columns."""
    found = READERS[source.format].read(path, source.uri, source.csv)
    return encode_columns(found, source, columns, source.uri)


def encode_columns(
    found: dict[str, Any], source: Source, columns: Mapping[str, ColumnSpec], file: str
) -> Microdata:
    """Columns as a reader gives them, typed and encoded, in the order of the declared ones.

    Args:
        found: by name, taken out one by one.
        source: what they are of.
        columns: as declared.
        file: what to call it in errors.

    Raises:
        InputError: where they are not as declared, with row and column.
    """
    reader, typed = READERS[source.format], {}
    read = {name: column for name, column in columns.items() if column.generated is None}
    _require_columns(list(found), source, read)
    for name, column in read.items():
        typed[name] = reader.convert(found.pop(name), column.type, file, name)
    encoded = {n: encode(n, column.role, typed.pop(n).array()) for n, column in read.items()}
    rows = len(next(iter(encoded.values())).codes) if encoded else 0
    numbered = [encoded.get(n) or _row_numbers(n, columns[n].role, rows) for n in columns]
    return Microdata(tuple(numbered), rows)


def _row_numbers(name: str, role: Role, rows: int) -> Column:
    """The number of each row of a source, from 1."""
    return encode(name, role, pa.array(range(1, rows + 1), pa.int64()))


def _require_columns(
    found: Sequence[str], source: Source, columns: Mapping[str, ColumnSpec]
) -> None:
    for name in columns:
        if name not in found:
            raise input_error(source.uri, "is missing", column=name)
    for number, name in enumerate(found, start=1):
        if name not in columns:  # the name may be a value, where a header line is missing
            raise input_error(source.uri, f"column {number} of {len(found)} is not in the spec")


def _filtered(whole: Microdata, source: Source, columns: Mapping[str, ColumnSpec]) -> np.ndarray:
    if source.where is None:
        return np.arange(whole.rows)
    types = {name: column.type for name, column in columns.items()}
    return rows_where(whole, source.where, types)
