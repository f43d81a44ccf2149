"""Tables in memory as private files, and specs that are about them."""

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError, SpecError

Place = str | os.PathLike[str]
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
_KEYS_OF_ROWS = (
    "where",
    "seen",
)  # keys of a source that are about its rows, and not about its file


@contextmanager
def table_file(table: Any) -> Iterator[str]:
    """A table as a file, for as long as a `with` block runs.

    Args:
        table: a path or pattern, which is given back; or an Arrow table, a pandas or Polars data
            frame, or whatever else gives Arrow's C stream, which is written as Parquet into the
            private work directory.

    Raises:
        InputError: where it is none of them.
    """
    if isinstance(table, str | os.PathLike):
        yield os.fspath(table)
        return
    import pyarrow.parquet as pq

    from sfumato.tasks.private.scratch import scratch_directory

    content = arrow_table(table)
    with scratch_directory() as scratch:
        file = scratch / "table.parquet"
        pq.write_table(content, file, store_schema=False)
        yield str(file)


def arrow_table(table: Any) -> pa.Table:
    """Return the columns of a table; an index without a name is none.

    Raises:
        InputError: where it is none that Arrow can read.
    """
    try:
        content = table if isinstance(table, pa.Table) else pa.table(table)
    except (TypeError, ValueError, pa.ArrowException):
        raise InputError(
            f"{type(table).__name__}: is not a path or a table that Arrow can read. "
            "Give a path, a data frame (pandas, Polars) or an Arrow table"
        ) from None
    names = [name for name in content.column_names if not _UNNAMED_INDEX.fullmatch(name)]
    return content.select(names).replace_schema_metadata(None)


@contextmanager
def spec_file(table: Any, spec: Place | Mapping[str, Any]) -> Iterator[Path]:
    """A spec as a file, whose source is a table where one is given.

    Where it has to be written, it stands for as long as the `with` block runs beside the given one,
    or in the current directory, so that relative paths in it mean what they meant.

    Args:
        table: as for `table_file`; None for the spec's own source.
        spec: a path, or the content of a spec.

    Raises:
        InputError: where the table is none, or the spec cannot be written there.
        SpecError: where the spec is no mapping.
    """
    if table is None and not isinstance(spec, Mapping):
        yield Path(spec)
        return
    document, base = _read(spec)
    if table is None:
        with _temporary_file(document, base) as path:
            yield path
        return
    with table_file(table) as file:
        document["source"] = _source(file, document.get("source"))
        with _temporary_file(document, base) as path:
            yield path


def _read(spec: Place | Mapping[str, Any]) -> tuple[dict[str, Any], Path]:
    """Return the content of a spec, and the directory that its paths are relative to."""
    if isinstance(spec, Mapping):
        return dict(spec), Path.cwd()
    from sfumato.flows.inputs.documents import read_yaml

    path = Path(spec)
    document = read_yaml(path)
    if not isinstance(document, dict):
        raise SpecError(f"{path}: is not a spec. Write keys and values, such as `name: costs`")
    return document, path.absolute().parent


def _source(file: str, before: Any) -> dict[str, Any]:
    """Return the file as a spec's source, with the keys of the old source that are about rows.

    A source that had a pinned `sha256` gets the one of the file.
    """
    from sfumato.tasks.microdata.readers.inferred import format_of
    from sfumato.tasks.schema.files import sha256_of

    path = Path(file).absolute()
    declared = before if isinstance(before, Mapping) else {}
    pinned = {"sha256": sha256_of(path)} if "sha256" in declared else {}
    rows = {key: declared[key] for key in _KEYS_OF_ROWS if key in declared}
    return {"uri": str(path), "format": format_of(file), **rows, **pinned}


@contextmanager
def _temporary_file(document: Mapping[str, Any], base: Path) -> Iterator[Path]:
    """Write a document as YAML under a random name in `base`; remove it when the block ends."""
    path = base / f".{secrets.token_hex(8)}.yaml"
    content = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(with_remedies(f"{base}: no spec can be written there", error)) from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
        yield path
    finally:
        path.unlink(missing_ok=True)
