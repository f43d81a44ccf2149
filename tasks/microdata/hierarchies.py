"""Hierarchies of columns: from CSV files with one row per leaf, or from intervals."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations.hierarchy import Hierarchy, from_dates, from_intervals, from_prefixes
from tasks.microdata.place import wrong
from tasks.microdata.schema import ColumnSpec, Dates, Intervals, Prefixes
from tasks.microdata.table import Column, Microdata


def hierarchies(
    columns: Mapping[str, ColumnSpec], microdata: Microdata, base: Path
) -> dict[str, Hierarchy]:
    """The hierarchy of every column that declares one; files are relative to `base`.

    A hierarchy of intervals has the values of the column as its leaves.

    Raises:
        InputError: where a file cannot be read, or is no hierarchy.
    """
    return {
        name: _of(column.hierarchy, microdata[name], base)
        for name, column in columns.items()
        if column.hierarchy is not None
    }


def read_hierarchy(path: Path, file: str) -> Hierarchy:
    """Read a hierarchy from CSV; `;` separates where the first line has one, else `,`.

    Row n of errors is line n of the file.

    Args:
        path: the file.
        file: what to call it in errors.

    Raises:
        InputError: where it cannot be read, or is no hierarchy.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    except UnicodeDecodeError:
        raise wrong(file, "not UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path"
        raise wrong(file, f"cannot be read ({reason})") from None
    delimiter = ";" if ";" in lines[0] else ","
    rows = [_record(line, delimiter, file, row) for row, line in enumerate(lines)]
    return Hierarchy(file, tuple(rows) if any(rows) else ())


def require_leaves(column: Column, known: Hierarchy, file: str, rows: np.ndarray) -> None:
    """Make sure that every value of a column has its leaf.

    Raises:
        InputError: with the first row of `file` (`rows` are the column's) whose value has none.
    """
    texts = pc.cast(column.values, pa.string()).to_pylist()
    absent = np.array([text not in known for text in texts] + [False])[column.codes]
    if absent.any():
        row = int(rows[np.argmax(absent)])
        rule = f"a value absent from its hierarchy {known.name}"
        raise wrong(file, rule, row=row, column=column.name)


def with_ancestors(column: Column, known: Hierarchy) -> Column:
    """A column whose values, all of them leaves, have the ancestors that a hierarchy gives them."""
    texts = pc.cast(column.values, pa.string()).to_pylist()
    levels = [
        [known.generalize(text, level) for text in texts] for level in range(known.height + 1)
    ]
    numbers = [np.unique(labels, return_inverse=True)[1] for labels in levels]
    return replace(column, ancestors=np.array(numbers, dtype=np.int64))


def _record(line: str, delimiter: str, file: str, row: int) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader([line], delimiter=delimiter, strict=True), ()))
    except csv.Error:
        raise wrong(file, "cannot be parsed as CSV", row=row) from None


def _of(
    declared: str | Intervals | Dates | Prefixes | None, column: Column, base: Path
) -> Hierarchy:
    values = column.values.to_pylist()
    match declared:
        case Intervals(intervals=widths):
            return from_intervals(column.name, widths, values or [0])
        case Dates(dates=periods):
            return from_dates(column.name, periods, values or [date.min])
        case Prefixes(prefixes=lengths):
            return from_prefixes(column.name, lengths, values or ["0"])
    return read_hierarchy(base / str(declared), str(declared))
