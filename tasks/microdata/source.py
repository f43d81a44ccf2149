"""Ingestion: from a declared source to microdata in dictionary codes, and its rules.

Rows are taken in this order: read and typed, filtered, null policies, one row per unit, encoded.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.source import (
    AcceptedValues,
    PositiveValues,
    ValueRule,
    ValuesInRange,
    source_rules,
)
from sfumato.tasks.microdata.encoded import encode_columns, encode_files, rename_columns
from sfumato.tasks.microdata.hierarchies import hierarchies, require_leaves
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.input_error import NO_ROWS, FaultsMet, input_error
from sfumato.tasks.microdata.rows import one_per_unit, rows_where, without_nulls
from sfumato.tasks.microdata.source_files import source_files
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy


@dataclass(frozen=True, eq=False)
class Ingested:
    """The represented rows with the columns that were read, and the counts of the others."""

    microdata: Microdata
    read: int
    dropped_by_filter: int
    dropped_for_nulls: int
    dropped_as_repeats: int


@dataclass(frozen=True, eq=False)
class RowsKept:
    """Rows of a source that remain after each step (positions, int64, ascending).

    Attributes:
        filtered: the rows after the filter.
        complete: the rows of `filtered` after the null policies.
        kept: the rows of `complete`, one per unit.
    """

    filtered: np.ndarray
    complete: np.ndarray
    kept: np.ndarray


def ingest(
    source: Source,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
    base: Path,
    environ: Mapping[str, str],
    scratch: Path | None = None,
) -> Ingested:
    """Read a source as it is declared.

    Args:
        source: the place and the dialect of the microdata.
        columns: every column of the source.
        nulls: the null policy of columns that name none.
        base: the directory that paths are relative to.
        environ: the values of `${NAME}` in the address.
        scratch: a private directory for files fetched from a store, if any.

    Raises:
        SpecError: if the declaration itself is wrong.
        InputError: if the file is not as declared, with file, row and column.
        TransientFault: if a database or a store cannot be reached.
    """
    whole = read(source, columns, base, environ, scratch)
    return represented_rows(whole, source, columns, nulls, base)


def read(
    source: Source,
    columns: Mapping[str, ColumnSpec],
    base: Path,
    environ: Mapping[str, str],
    scratch: Path | None = None,
    judged: Collection[str] = (),
) -> Microdata:
    """Return all rows of a source with the columns that a run needs, typed and encoded.

    A dropped column is left out unless `source.where`, a declaration of its own or a judgement
    (`judged`, by name) needs it.

    Raises:
        SpecError: if the declaration itself is wrong.
        InputError: if the file is not as declared, with file, row and column.
        TransientFault: if a database or a store cannot be reached.
    """
    if source.query is not None:
        from sfumato.tasks.microdata.databases.registry import read_query

        raw, way = read_query(source, environ)
        raw = rename_columns(raw, source, source.uri)
        whole = encode_columns(raw, source, columns, source.uri, way, judged)
    else:
        files = source_files(source, base, environ, scratch)
        whole = encode_files(files, source, columns, judged)
    if not whole.rows:
        raise input_error(source.uri, NO_ROWS)
    return whole


def represented_rows(
    whole: Microdata,
    source: Source,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
    base: Path,
) -> Ingested:
    """Return the rows of a whole source that a release represents.

    A coded column is not compared with its hierarchy, which is about coded values.

    Raises:
        SpecError: if the declaration itself is wrong.
        InputError: if a row breaks a null policy, repeats a unit or is in no hierarchy.
    """
    met = FaultsMet(source.uri)
    rows = _rows_kept(whole, source, columns, nulls, met)
    positions = rows.kept
    microdata = whole if len(positions) == whole.rows else whole.take(positions)
    whole_values = {name: column for name, column in columns.items() if not column.codings}
    for name, hierarchy in hierarchies(whole_values, microdata, base).items():
        with met.noting():
            require_leaves(microdata[name], hierarchy, source.uri, positions)
    met.refuse()
    return Ingested(
        microdata=microdata,
        read=whole.rows,
        dropped_by_filter=whole.rows - len(rows.filtered),
        dropped_for_nulls=len(rows.filtered) - len(rows.complete),
        dropped_as_repeats=len(rows.complete) - len(positions),
    )


def rows_kept(
    whole: Microdata, source: Source, columns: Mapping[str, ColumnSpec], nulls: NullPolicy
) -> RowsKept:
    """Remove rows step by step, as the source and the columns declare.

    Raises:
        SpecError: if the declaration itself is wrong.
        InputError: if a row breaks a null policy, or repeats a unit.
    """
    met = FaultsMet(source.uri)
    rows = _rows_kept(whole, source, columns, nulls, met)
    met.refuse()
    return rows


def _rows_kept(
    whole: Microdata,
    source: Source,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
    met: FaultsMet,
) -> RowsKept:
    filtered = _filter_rows(whole, source, columns)
    complete = per_unit = filtered
    with met.noting():
        per_unit = complete = without_nulls(whole, filtered, columns, nulls, source.uri)
    with met.noting():
        per_unit = one_per_unit(whole, complete, columns, source.uri)
    return RowsKept(filtered, complete, per_unit)


def _filter_rows(whole: Microdata, source: Source, columns: Mapping[str, ColumnSpec]) -> np.ndarray:
    if source.where is None:
        return np.arange(whole.rows)
    types = {name: column.type for name, column in columns.items()}
    return rows_where(whole, source.where, types)


def as_table(microdata: Microdata) -> pa.Table:
    """Return the table with its columns dictionary-encoded: nothing is decoded."""
    return pa.table(
        {
            column.name: pa.DictionaryArray.from_arrays(
                pa.array(column.codes, mask=column.codes < 0), column.values
            )
            for column in microdata.columns
        }
    )


def rules_as_declared(columns: Mapping[str, ColumnSpec], microdata: Microdata) -> tuple[Rule, ...]:
    """Return the rules of a source with these columns; decimals have the digits that were read."""
    present = (name for name in columns if microdata.has(name))
    types = [(name, microdata[name].values.type) for name in present]
    return source_rules(pa.schema(types), value_rules(columns))


def value_rules(columns: Mapping[str, ColumnSpec]) -> tuple[ValueRule, ...]:
    """Return the accepted values and ranges that columns declare, and that weights are positive."""
    rules: list[ValueRule] = []
    for name, column in columns.items():
        if column.values is not None:
            rules.append(AcceptedValues(name, column.values))
        if column.range is not None:
            rules.append(ValuesInRange(name, column.range.min, column.range.max))
        if column.role == "weight":
            rules.append(PositiveValues(name))
    return tuple(rules)


def require(columns: Mapping[str, ColumnSpec], table: pa.Table, file: str) -> None:
    """Refuse rows with values other than declared.

    Raises:
        InputError: with the file, and of each broken rule the first row, the column and the rule.
    """
    met = FaultsMet(file)
    for rule in value_rules(columns):
        row = rule.first(table)
        if row is not None:
            with met.noting():
                raise input_error(file, rule.words(), row=row, column=rule.column)
    met.refuse()
