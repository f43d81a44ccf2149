"""Counts of a spec's table, kept in memory: columns, groups, and people who stand out.

The table is read once for each state of its source and columns, in a thread of its own. Pages that
ask meanwhile are answered at once that it is being counted.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from os import environ
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.errors import SfumatoError, SpecError
from sfumato.flows.inputs.passphrases import source_secrets
from sfumato.flows.workbench.desk import OpenedSpec, hierarchy_files
from sfumato.tasks.microdata.hierarchies import hierarchies
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import read, represented_rows
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.wrapping import with_secrets
from sfumato.tasks.profile.facts import ColumnFacts, facts_of
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy
from sfumato.tasks.schema.hierarchy import Hierarchy
from sfumato.tasks.stages.ingest import FETCHED

_PATIENCE = 1.0  # seconds that a page waits for the counts before it is shown without them
_MOST_TABLES = 2


@dataclass(frozen=True)
class GroupCounts:
    """Groups of rows that agree in some columns.

    Attributes:
        sizes: the number of rows of each group, ascending (int64).
        rows: the number of rows.
    """

    sizes: np.ndarray
    rows: int

    def rows_below(self, size: int) -> int:
        """Return the number of rows in groups of fewer than `size` rows."""
        return int(self.sizes[: int(np.searchsorted(self.sizes, size))].sum())

    @property
    def alone(self) -> int:
        """The number of rows that no other row is like."""
        return self.rows_below(2)

    @property
    def smallest(self) -> int:
        """The number of rows of the smallest group; 0 without rows."""
        return int(self.sizes[0]) if len(self.sizes) else 0


@dataclass(frozen=True)
class ValueCounts:
    """Values of a sensitive column in each group of rows.

    Attributes:
        sizes: the number of rows of each group (int64).
        distinct: the number of different values of each group, a missing value counted as one.
        largest: the number of rows with each group's most frequent value.
    """

    sizes: np.ndarray
    distinct: np.ndarray
    largest: np.ndarray

    def rows_with_fewer(self, number: int) -> int:
        """Return the number of rows in groups with fewer than so many different values."""
        return int(self.sizes[self.distinct < number].sum())

    def rows_above(self, share: Fraction) -> int:
        """Return the number of rows in groups in which a value has more than a share of rows."""
        is_above = self.largest * share.denominator > self.sizes * share.numerator
        return int(self.sizes[is_above].sum())


@dataclass(frozen=True)
class DeclaredTable:
    """A source and its columns as a spec declares them, whatever else is wrong with the spec.

    Attributes:
        source: the source.
        columns: the columns by name.
        nulls: the policy of columns that name none.
        base: the directory that paths are relative to.
    """

    source: Source
    columns: Mapping[str, ColumnSpec]
    nulls: NullPolicy
    base: Path


def declared_table(spec: OpenedSpec) -> DeclaredTable:
    """Return the source and the columns of a spec; facts of people are in no source.

    Raises:
        SpecError: where one of these is wrong.
    """
    document = spec.document
    columns, nulls = document.get("columns") or {}, document.get("nulls", "refuse")
    try:
        source = Source.model_validate(document.get("source"))
        written = {name: ColumnSpec.model_validate(keys) for name, keys in columns.items()}
        written = {name: column for name, column in written.items() if column.derive is None}
    except (ValidationError, AttributeError) as error:
        fault = spec.fault() or type(error).__name__
        raise SpecError(fault) from None
    return DeclaredTable(source, written, nulls, spec.path.absolute().parent)


@dataclass(frozen=True, eq=False)
class CountedTable:
    """The table of a spec.

    Attributes:
        declared: the source and its columns.
        whole: all rows of the source, with every column that can be read.
        represented: the rows that a release is about; None where their declaration is broken.
        fault: why `represented` is None, in words; empty otherwise.
    """

    declared: "DeclaredTable"
    whole: Microdata
    represented: Microdata | None
    fault: str

    @cached_property
    def facts(self) -> Mapping[str, ColumnFacts]:
        """The facts about each column of all rows, by name."""
        types = {column.name: self._type(column.name) for column in self.whole.columns}
        return {facts.name: facts for facts in facts_of(self.whole, types)}

    def _type(self, name: str) -> Any:
        columns = self.declared.columns
        return columns[name].type if name in columns else "string"

    @property
    def rows(self) -> Microdata:
        """The rows that groups are counted of: the represented ones, if they are known."""
        return self.whole if self.represented is None else self.represented

    def quasi_identifiers(self) -> list[str]:
        """Return the names of the quasi-identifiers that were read."""
        columns = self.declared.columns
        names = [name for name in columns if columns[name].role == "quasi-identifier"]
        return [name for name in names if self.rows.has(name)]

    @cached_property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """The hierarchies of quasi-identifiers, by column.

        Raises:
            SfumatoError: where a hierarchy is wrong.
        """
        columns = {name: self.declared.columns[name] for name in self.quasi_identifiers()}
        return hierarchies(columns, self.rows, self.declared.base)

    @cached_property
    def _codes_by_level(self) -> dict[tuple[str, int], Column]:
        return {}

    def groups(self, levels: Mapping[str, int] | None = None) -> GroupCounts:
        """Return the groups of rows with the same quasi-identifiers.

        Args:
            levels: the level of each column's hierarchy at which values are compared; 0, the values
                themselves, for columns that are not named.
        """
        names, chosen = self.quasi_identifiers(), levels or {}
        at_levels = tuple((name, chosen.get(name, 0)) for name in names)
        if at_levels not in self._groups:
            self._groups[at_levels] = self._count_groups(at_levels)
        return self._groups[at_levels]

    @cached_property
    def _groups(self) -> dict[tuple[tuple[str, int], ...], GroupCounts]:
        return {}

    def _count_groups(self, at_levels: Sequence[tuple[str, int]]) -> GroupCounts:
        if not at_levels:
            return GroupCounts(np.array([], np.int64), self.rows.rows)
        columns = [self._at_level(name, level) for name, level in at_levels]
        _, sizes = np.unique(key(columns, self.rows.rows)[0], return_counts=True)
        return GroupCounts(np.sort(sizes), self.rows.rows)

    def values(self, sensitive: str) -> ValueCounts:
        """Return the values of a sensitive column in the groups of equal quasi-identifiers."""
        if sensitive not in self._values:
            self._values[sensitive] = self._count_values(sensitive)
        return self._values[sensitive]

    @cached_property
    def _values(self) -> dict[str, ValueCounts]:
        return {}

    def _count_values(self, sensitive: str) -> ValueCounts:
        columns = [self.rows[name] for name in self.quasi_identifiers()]
        keys = key(columns, self.rows.rows)[0] if columns else np.zeros(self.rows.rows, np.int64)
        _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        column = self.rows[sensitive]
        width = len(column.values) + 1
        pairs, times = np.unique(group * width + column.codes + 1, return_counts=True)
        largest = np.zeros(len(sizes), np.int64)
        np.maximum.at(largest, pairs // width, times)
        return ValueCounts(sizes, np.bincount(pairs // width, minlength=len(sizes)), largest)

    def groups_of(self, sensitive: str, names: Sequence[str] = ()) -> Groups:
        """Return the groups of equal quasi-identifiers as privacy models are decided on them.

        Args:
            sensitive: the sensitive column whose values are counted in each group.
            names: the quasi-identifiers; all without any.
        """
        choice = sensitive, tuple(names)
        if choice not in self._groups_of:
            columns = [self.rows[name] for name in names or self.quasi_identifiers()]
            keys, bound = key(columns, self.rows.rows)
            coded = {sensitive: self.rows[sensitive].counted_codes()}
            self._groups_of[choice] = count(keys, bound, coded)
        return self._groups_of[choice]

    @cached_property
    def _groups_of(self) -> dict[tuple[str, tuple[str, ...]], Groups]:
        return {}

    def _at_level(self, name: str, level: int) -> Column:
        """Return a column whose codes are those of labels at a level of its hierarchy."""
        column = self.rows[name]
        if not level or name not in self.hierarchies:
            return column
        if (name, level) not in self._codes_by_level:
            self._codes_by_level[name, level] = _labels_at(column, self.hierarchies[name], level)
        return self._codes_by_level[name, level]

    def rows_by_label(self, name: str, level: int) -> dict[str, int]:
        """Return how many rows each label of a column has at a level, in the hierarchy's order."""
        column = self._at_level(name, level)
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        texts = map(str, column.values.to_pylist())
        return {text: int(n) for text, n in zip(texts, counts, strict=True)}


def _labels_at(column: Column, hierarchy: Hierarchy, level: int) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    leaves = pc.cast(column.values, pa.string()).to_pylist()
    height = min(level, hierarchy.height)
    listed = set(hierarchy.leaves)
    labels = [hierarchy.generalize(leaf, height) if leaf in listed else leaf for leaf in leaves]
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    codes = np.array([order[label] for label in labels] or [0], np.int32)
    coded = np.where(column.codes >= 0, codes[np.maximum(column.codes, 0)], -1).astype(np.int32)
    return replace(column, values=pa.array(list(order), pa.string()), codes=coded)


class TableCounter:
    """The tables that were counted, and those that are being counted."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "counting")
        self._tables: dict[str, Future[CountedTable]] = {}
        self._stages: dict[str, tuple[str, float]] = {}

    def table(self, spec: OpenedSpec, patience: float = _PATIENCE) -> CountedTable | None:
        """Return the table of a spec, or None while it is being counted.

        Args:
            spec: the spec as it is now.
            patience: how many seconds to wait for it.

        Raises:
            SfumatoError: where the spec is wrong, or its source cannot be read.
        """
        declared = declared_table(spec)
        identity = _identity(spec, declared)
        if identity not in self._tables:
            for old in list(self._tables)[: 1 - _MOST_TABLES]:
                self._tables.pop(old).cancel()  # which ends nothing that has begun
            note = partial(self._note, identity)
            note("it waits for another table")
            self._tables[identity] = self._pool.submit(_count, declared, note)
        with suppress(NotYet):
            return self._tables[identity].result(patience)
        return None

    def _note(self, identity: str, stage: str) -> None:
        begun = self._stages.get(identity, ("", time.monotonic()))[1]
        current = {name: state for name, state in self._stages.items() if name in self._tables}
        self._stages = {**current, identity: (stage, begun)}

    def progress(self, spec: OpenedSpec) -> str:
        """Return how far the counting of a spec's table is, in words."""
        stage, begun = self._stages.get(
            _identity(spec, declared_table(spec)), ("it begins", time.monotonic())
        )
        return f"{stage} ({time.monotonic() - begun:.0f} s)"

    def close(self) -> None:
        """Wait for nothing that is being counted."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _identity(spec: OpenedSpec, declared: DeclaredTable) -> str:
    """Return a text that changes with everything that the counts depend on."""
    keys = {name: spec.document.get(name) for name in ("source", "columns", "nulls")}
    file = declared.base / declared.source.uri
    status = file.stat() if file.is_file() else None
    state = None if status is None else (status.st_mtime_ns, status.st_size)
    files = [
        [str(path), path.stat().st_mtime_ns if path.is_file() else None]
        for path in hierarchy_files(spec.document, spec.path).values()
    ]
    return json.dumps([str(spec.path), keys, state, files], default=str)


def _count(declared: DeclaredTable, note: Callable[[str], None]) -> CountedTable:
    """Return the counted table; `note` takes what is being done, in words."""
    note("the file is being read")
    source, base, fault, represented = declared.source, declared.base, "", None
    with (
        sanitise_errors("count"),
        source_secrets(source, environ),
        scratch_directory(environ) as scratch,
    ):
        place, environment = scratch / FETCHED, with_secrets(environ)
        try:
            whole = read(source, _columns_to_show(declared), base, environment, place)
        except SfumatoError:  # of a column that the spec drops: it may be of no kind that is shown
            whole = read(source, declared.columns, base, environment, place)
        note(f"{whole.rows:,} rows were read, and those of a release are being found")
        try:
            columns, nulls = declared.columns, declared.nulls
            represented = represented_rows(whole, source, columns, nulls, base).microdata
        except SfumatoError as error:
            fault = str(error)
    table = CountedTable(declared, whole, represented, fault)
    note(f"{whole.rows:,} rows were read, and groups are being counted")
    table.groups()
    note(f"{whole.rows:,} rows were read, and the values of each column are being counted")
    _ = table.facts
    return table


def _columns_to_show(declared: DeclaredTable) -> dict[str, ColumnSpec]:
    """Return the columns of a source so that dropped ones are read as well."""
    columns = {
        name: column if column.role != "drop" else column.model_copy(update={"role": "insensitive"})
        for name, column in declared.columns.items()
    }
    unlisted = [name for name in declared.source.seen if name not in columns]
    return columns | {name: ColumnSpec(role="insensitive") for name in unlisted}
