"""Tables of an analyst's own, which queries may join."""

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.expectations.errors import InputError
from sfumato.flows.cli.options import pairs
from sfumato.tasks.schema.files import regular

if TYPE_CHECKING:
    import pyarrow as pa


def own_tables(given: tuple[str, ...]) -> "dict[str, pa.Table]":
    """Tables by their names, from `NAME=FILE` each: CSV with a header, or Parquet.

    Raises:
        InputError: where a file is not there, or is no such table.
    """
    return {name: _read(Path(place)) for name, place in pairs("--table", given).items()}


def _read(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix.casefold() == ".parquet":
            return pyarrow.parquet.read_table(regular(path))
        return pyarrow.csv.read_csv(regular(path))
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"--table: {path}: not a CSV or Parquet file ({reason})") from None
