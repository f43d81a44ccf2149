"""Measure: every model's value on a table as it is, in one pass over its groups."""

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from expectations.errors import InputError
from expectations.ke_anonymity import KEAnonymity
from expectations.model import plain
from tasks.microdata.table import Microdata, encode
from tasks.stages.verify import grouped


def measured(
    file: Path,
    quasi_identifiers: Sequence[str],
    sensitive: str | None,
    header: tuple[str, ...] | None = None,
    nulls: Sequence[str] = (),
) -> dict[str, Any]:
    """The values of the models on the groups of equal quasi-identifiers; nulls are a category.

    Args:
        file: a CSV or Parquet file (by its ending: .parquet, else CSV); types are inferred.
        quasi_identifiers: columns whose equal values make a group.
        sensitive: the sensitive attribute, where there is one.
        header: names of the columns of a CSV file without a header line.
        nulls: texts that mean a missing value, besides the empty one.

    Raises:
        InputError: where the file cannot be read or has no such column.
    """
    wanted = [*quasi_identifiers, *([sensitive] if sensitive else [])]
    table = _read(file, header, nulls, wanted)
    microdata = Microdata(
        tuple(encode(name, "insensitive", table[name]) for name in dict.fromkeys(wanted)),
        table.num_rows,
    )
    groups = grouped(microdata, quasi_identifiers, [sensitive] if sensitive else [])
    document: dict[str, Any] = {
        "rows": groups.rows,
        "groups": len(groups),
        "k": int(groups.sizes.min()) if len(groups) else None,
    }
    if sensitive:
        document["ke"] = _ke(KEAnonymity(k=1, e=Decimal(0), sensitive=sensitive), groups)
    return document


def _ke(model: KEAnonymity, groups: Any) -> Mapping[str, Any]:
    counts = groups.sensitive[model.sensitive]
    if counts.numbers is not None:
        return {name: plain(value) for name, value in model.check(groups).observed.items()}
    return {"k": model.distinct(groups), "e": None}


def _read(
    file: Path, header: tuple[str, ...] | None, nulls: Sequence[str], wanted: Sequence[str]
) -> pa.Table:
    try:
        if file.suffix == ".parquet":
            table = pq.ParquetFile(file).read()
        else:
            table = _read_csv(file, header, nulls)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({os.strerror(error.errno or 0)})") from None
    except pa.ArrowException:
        raise InputError(f"{file}: cannot be read as a table") from None
    for name in wanted:
        if table.column_names.count(name) != 1:
            raise InputError(f"{file}: column {name!r} is not there once")
    return table


def _read_csv(file: Path, header: tuple[str, ...] | None, nulls: Sequence[str]) -> pa.Table:
    names = list(header) if header else None
    table = pa.csv.read_csv(
        file,
        read_options=pa.csv.ReadOptions(column_names=names),
        convert_options=pa.csv.ConvertOptions(
            null_values=["", *nulls, *(f" {null}" for null in nulls)], strings_can_be_null=True
        ),
    )
    return table.rename_columns([name.strip() for name in table.column_names])
