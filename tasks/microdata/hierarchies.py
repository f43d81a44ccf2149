"""Hierarchies of columns: from CSV files with one row per leaf, or from intervals."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.machine.fault import reason_of
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.files import read_text, unreadable
from sfumato.tasks.schema.hierarchy import (
    Hierarchy,
    from_dates,
    from_intervals,
    from_order,
    from_prefixes,
)
from sfumato.tasks.schema.hierarchy_rules import (
    Dates,
    HierarchyFile,
    HierarchyRule,
    Intervals,
    Ordered,
    Prefixes,
    Written,
)


def read_side_file(path: Path, file: str) -> list[list[str]]:
    """Return the fields of every line, empty for a blank one; row n of errors is line n.

    The separator is `;` if the first line has one, otherwise `,`.

    Args:
        path: the file, in UTF-8.
        file: its name in errors.

    Raises:
        InputError: if it cannot be read, or a line is no CSV.
    """
    if reason := unreadable(path):
        raise input_error(file, reason)
    try:
        lines = read_text(path, encoding="utf-8-sig").rstrip("\n").split("\n")
    except UnicodeDecodeError:
        raise input_error(file, "not UTF-8") from None
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "no path"
        raise input_error(file, f"cannot be read ({reason})") from None
    delimiter = ";" if ";" in lines[0] else ","
    return [_fields(line, delimiter, file, row) for row, line in enumerate(lines)]


def _fields(line: str, delimiter: str, file: str, row: int) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        raise input_error(file, "cannot be parsed as CSV", row=row) from None


def declared_hierarchy(name: str, written: Written, base: Path) -> HierarchyRule:
    """Return a column's hierarchy as a spec writes it, after reading files relative to `base`.

    Raises:
        InputError: if a file cannot be read, or is not a hierarchy.
    """
    match written:
        case str(file) | HierarchyFile(file=file):
            return read_hierarchy(base / file, file).rows
        case Ordered(ordered=values, runs=runs):
            return from_order(name, runs, values).rows
    return written


def hierarchies(
    columns: Mapping[str, ColumnSpec], microdata: Microdata, base: Path
) -> dict[str, Hierarchy]:
    """Return the hierarchy of every column that declares one; files are relative to `base`.

    A hierarchy that is made by a rule has the values of the column as its leaves.

    Raises:
        InputError: if a file cannot be read, or is not a hierarchy.
    """
    written = {name: c.hierarchy for name, c in columns.items() if c.hierarchy is not None}
    return {
        name: hierarchy_of(
            microdata[name],
            declared_hierarchy(name, how, base),
            file_of(how) or name,
        )
        for name, how in written.items()
    }


def file_of(written: Written) -> str | None:
    """Return the file of a hierarchy as a spec writes it, or None without a file."""
    if isinstance(written, HierarchyFile):
        return written.file
    return written if isinstance(written, str) else None


def hierarchy_of(column: Column, declared: HierarchyRule, called: str = "") -> Hierarchy:
    """Return a declared hierarchy over the values of its column, `called` by its file if any."""
    values = column.values.to_pylist()
    match declared:
        case Intervals(intervals=widths):
            return from_intervals(column.name, widths, values or [0])
        case Dates(dates=periods):
            return from_dates(column.name, periods, values or [date.min])
        case Prefixes(prefixes=lengths):
            return from_prefixes(column.name, lengths, values or ["0"])
        case rows:
            return Hierarchy(called or column.name, rows)


def with_hierarchies(microdata: Microdata, declared: Mapping[str, HierarchyRule]) -> Microdata:
    """Return the same table, with the ancestors that declared hierarchies give its columns."""
    return microdata.keep(
        with_ancestors(column, hierarchy_of(column, declared[column.name]))
        if column.name in declared
        else column
        for column in microdata.columns
    )


def read_hierarchy(path: Path, file: str) -> Hierarchy:
    """Read a hierarchy from CSV; the separator is `;` if the first line has one, otherwise `,`.

    Row n of errors is line n of the file.

    Args:
        path: the file.
        file: its name in errors.

    Raises:
        InputError: if it cannot be read, or is not a hierarchy.
    """
    rows = [tuple(fields) for fields in read_side_file(path, file)]
    return Hierarchy(file, tuple(rows) if any(rows) else ())


def require_leaves(column: Column, hierarchy: Hierarchy, file: str, rows: np.ndarray) -> None:
    """Make sure that every value of a column has its leaf.

    Raises:
        InputError: with the first row of `file` whose value has none; `rows` are the positions in
            the file (int64, one per row of the column).
    """
    lacking = _lacking(column, hierarchy)
    absent = lacking[column.codes]
    if absent.any():
        row, number = int(rows[np.argmax(absent)]), int(lacking[np.unique(column.codes)].sum())
        several = f" ({number} values are)" if number > 1 else ""
        rule = f"a value is not in the hierarchy {hierarchy.name}{several}"
        raise input_error(file, rule, row=row, column=column.name)


def absent_leaves(
    microdata: Microdata, columns: Mapping[str, ColumnSpec], base: Path
) -> dict[str, list[str]]:
    """Return the values of columns that have no leaf in their hierarchies: only for the steward.

    Raises:
        InputError: if a file cannot be read, or is not a hierarchy.
    """
    whole = {name: column for name, column in columns.items() if not column.codings}
    absent = {}
    for name, hierarchy in hierarchies(whole, microdata, base).items():
        lacking = pa.array(_lacking(microdata[name], hierarchy)[:-1])
        absent[name] = pc.cast(microdata[name].values.filter(lacking), pa.string()).to_pylist()
    return {name: values for name, values in absent.items() if values}


def _lacking(column: Column, hierarchy: Hierarchy) -> np.ndarray:
    """Return whether each value of a column lacks a leaf (bool, one per value, False for null)."""
    texts = pc.cast(column.values, pa.string()).to_pylist()
    return np.array([text not in hierarchy for text in texts] + [False])


def with_ancestors(column: Column, hierarchy: Hierarchy) -> Column:
    """Return a column with the ancestors that a hierarchy gives its values, all of them leaves."""
    texts = pc.cast(column.values, pa.string()).to_pylist()
    levels = [
        [hierarchy.generalize(text, level) for text in texts]
        for level in range(hierarchy.height + 1)
    ]
    numbered = [np.unique(labels, return_inverse=True) for labels in levels]
    return replace(
        column,
        ancestors=np.array([numbers for _, numbers in numbered], dtype=np.int64),
        labels=tuple(pa.array(labels.tolist(), pa.string()) for labels, _ in numbered),
    )


def lowest_common(levels: np.ndarray, categories: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the lowest level at which each run of categories has one node (int64, one per run).

    Args:
        levels: the levels of the column, see `Column.levels`.
        categories: the categories of rows in the order of their groups (integers).
        starts: the position at which each run starts (int64).
    """
    lowest = np.zeros(len(starts), dtype=np.int64)
    for nodes in levels[:-1]:
        above = nodes[categories]
        differ = np.minimum.reduceat(above, starts) != np.maximum.reduceat(above, starts)
        if not differ.any():
            break
        lowest += differ
    return lowest
