"""The common part of forms with recoded quasi-identifiers: rows that look alike are one group.

One table, `microdata`: labels in place of quasi-identifiers, and the insensitive and sensitive
columns as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import count, with_labels
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import ReadableLabels, rules_of_published
from sfumato.expectations.shared.arrow import as_numpy
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.label_readers import Reader
from sfumato.tasks.forms.labels import Admitted
from sfumato.tasks.forms.order import canonical_table, canonical_with, is_canonical
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Column, Microdata, encode, key
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import DeclaredColumn, Schema, names_with_roles

TABLE = "microdata"
ReaderOf = Callable[[str, DeclaredColumn], Reader]


def schemas(schema: Schema, parameters: Any = None) -> Mapping[str, pa.Schema]:
    """Return the schema: quasi-identifiers are strings, all other columns have their own types."""
    fields = [
        pa.field(
            name,
            pa.string() if column.role == "quasi-identifier" else column.arrow_type,
            column.nulls,
        )
        for name, column in schema.items()
    ]
    return {TABLE: pa.schema(fields)}


def canonical(tables: Tables) -> Tables:
    """Return the tables in canonical order; others follow the group ids of the table of rows."""
    if len(tables) > 1:
        return canonical_with(tables, TABLE)
    return {TABLE: canonical_table(tables[TABLE])}


def table_of(microdata: Microdata, rows: np.ndarray, labels: Mapping[str, pa.Array]) -> Tables:
    """Return the table of some `rows` (positions), with labels as quasi-identifiers."""
    published = microdata.take(rows)
    columns = {
        column.name: labels[column.name] if column.name in labels else column.dictionary_array()
        for column in published.columns
    }
    return canonical({TABLE: pa.table(columns)})


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Return sizes and sensitive values of rows that look alike in `adversary_columns`."""
    table = tables[TABLE]
    columns = [encode(name, "quasi-identifier", table[name]) for name in adversary_columns]
    keys, bound = key(columns, table.num_rows)
    return count(
        keys,
        bound,
        {name: sensitive_column(table, schema, name).counted_codes() for name in sensitive},
    )


def with_labels_shown(groups: Groups, tables: Tables, adversary_columns: Sequence[str]) -> Groups:
    """Return the groups of `groups` with the label of each of `adversary_columns`."""
    table = tables[TABLE]
    columns = [encode(name, "quasi-identifier", table[name]) for name in adversary_columns]
    keys, _ = key(columns, table.num_rows)
    return with_labels(groups, keys, {column.name: column.category()[0] for column in columns})


def sensitive_column(table: pa.Table, schema: Schema, name: str) -> Column:
    """Return a published sensitive column, with the hierarchy that is declared for it."""
    column = encode(name, "sensitive", table[name])
    hierarchy = schema[name].hierarchy
    return column if hierarchy is None else with_ancestors(column, hierarchy_of(column, hierarchy))


def labels_of(table: pa.Table, name: str) -> tuple[list[str | None], np.ndarray]:
    """Return the different labels of a column, and the position of each row's label (int64)."""
    encoded = pc.dictionary_encode(table[name].combine_chunks(), null_encoding="encode")
    return encoded.dictionary.to_pylist(), as_numpy(encoded.indices)


def read_labels(
    table: pa.Table, schema: Schema, reader_of: ReaderOf
) -> dict[str, tuple[list[Admitted], np.ndarray]]:
    """Return the values that labels admit, and each row's label, by quasi-identifier.

    Raises:
        PromiseError: naming the column that has a label without meaning.
    """
    by_column = {}
    for name in names_with_roles(schema, "quasi-identifier"):
        labels, codes = labels_of(table, name)
        read = reader_of(name, schema[name])
        by_column[name] = [read(label) for label in labels], codes
    return by_column


def rules_of_labels(
    schema: Schema, reader_of: ReaderOf, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules of any table, and that every quasi-identifier's label means something."""

    def unreadable(table: pa.Table, name: str) -> int:
        read = reader_of(name, schema[name])
        return sum(not _is_read(read, label) for label in labels_of(table, name)[0])

    labels = (
        ReadableLabels(name, partial(unreadable, name=name))
        for name in names_with_roles(schema, "quasi-identifier")
    )
    of_any = rules_of_published(schemas(schema)[TABLE], rows, is_canonical, withheld)
    return {TABLE: (*of_any, *labels)}


def _is_read(read: Reader, label: str | None) -> bool:
    try:
        read(label)
    except PromiseError:
        return False
    return True


def rows_by_group(partition: Partition) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the published rows (ascending), their groups, and an order of these rows by group.

    Groups are dense from 0.
    """
    rows = np.flatnonzero(partition.group >= 0)
    group = partition.group[rows]
    return rows, group, stable_order(group)
