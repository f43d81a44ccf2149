"""Anatomy's form: quasi-identifiers in one table, sensitive values in another, joined by group.

`qit` has the quasi-identifiers and insensitive columns as they are, and group_id; `st` has every
sensitive value of each group with its count. Several sensitive attributes stand in one such table,
their association surviving, or in one each (`st_<name>`).

Source: Xiao and Tao, Anatomy: simple and effective privacy preservation (VLDB 2006).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from expectations.counting import count, dense
from expectations.errors import PromiseError
from expectations.groups import Groups
from expectations.structure import Rule, TotalCount, published
from tasks.forms.form import GROUP_ID, Tables
from tasks.forms.order import canonical_with, is_canonical, is_sorted
from tasks.forms.parameters import SplitParameters
from tasks.forms.recoded import counted
from tasks.forms.schema import Schema, named, safe_name
from tasks.microdata.randomness import Randomness
from tasks.microdata.table import Microdata, encode, key
from tasks.partitions.partition import Partition

QIT, ST, COUNT = "qit", "st", "count"


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: SplitParameters,
    randomness: Randomness,
) -> Tables:
    """Split every row, count the sensitive values of each group, publish in canonical order."""
    kept = np.flatnonzero(partition.group >= 0)
    shown, group = microdata.take(kept), partition.group[kept].astype(np.int64)
    exact = shown.with_roles("quasi-identifier", "insensitive")
    tables = {QIT: pa.table({**{c.name: c.array() for c in exact}, GROUP_ID: group})}
    for name, attributes in _attributes(shown, parameters).items():
        columns = {column: shown[column].array() for column in attributes}
        tables[name] = _with_counts(pa.table({GROUP_ID: group, **columns}))
    return canonical_with(tables, QIT)


def _attributes(microdata: Microdata, parameters: SplitParameters) -> dict[str, list[str]]:
    names = [column.name for column in microdata.with_roles("sensitive")]
    return _tables_of(names, parameters)


def _tables_of(names: Sequence[str], parameters: SplitParameters) -> dict[str, list[str]]:
    """Which sensitive attributes stand in which table."""
    if len(names) == 1 or parameters.sensitive == "together":
        return {ST: list(names)}
    return {f"{ST}_{safe_name(name)}": [name] for name in names}


def _with_counts(values: pa.Table) -> pa.Table:
    """Every different row once, and how often it occurs."""
    columns = [encode(name, "sensitive", values[name]) for name in values.column_names]
    keys, _ = key(columns, values.num_rows)
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    return values.take(pa.array(first)).append_column(COUNT, pa.array(times.astype(np.int64)))


def _is_counted(table: pa.Table) -> bool:
    """Whether the rows are sorted, and every combination of values stands once in a group."""
    by = [encode(name, "sensitive", table[name]) for name in table.column_names if name != COUNT]
    keys, _ = key(by, table.num_rows)
    return is_sorted(table) and len(np.unique(keys)) == table.num_rows


def schemas(schema: Schema, parameters: SplitParameters) -> Mapping[str, pa.Schema]:
    """Columns of their own types, the group's number, and counts."""
    group = pa.field(GROUP_ID, pa.int64(), nullable=False)
    exact = [_field(name, schema) for name in named(schema, "quasi-identifier", "insensitive")]
    times = pa.field(COUNT, pa.int64(), nullable=False)
    return {QIT: pa.schema([*exact, group])} | {
        name: pa.schema([group, *(_field(column, schema) for column in attributes), times])
        for name, attributes in _tables_of(named(schema, "sensitive"), parameters).items()
    }


def _field(name: str, schema: Schema) -> pa.Field:
    return pa.field(name, schema[name].arrow_type, schema[name].nulls)


def groups(
    tables: Tables, schema: Schema, told_apart_by: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Counts of sensitive values per group_id, and per known value of another attribute.

    Raises:
        PromiseError: where the counts of a group do not add up to its rows.
    """
    _require_matching(tables)
    known = [name for name in told_apart_by if schema[name].role == "sensitive"]
    counted_in = {name: _table_with(tables, [name, *known]) for name in sensitive}
    first = next(iter(counted_in.values()), _table_with(tables, known))
    keys, times = _keys(first, schema, known)
    coded = {}
    for name, table in counted_in.items():
        column = counted(table, schema, name).coded()
        coded[name] = column._replace(codes=np.repeat(column.codes, table[COUNT].to_numpy()))
    return count(np.repeat(keys, times), int(keys.max(initial=0)) + 1, coded)


def _require_matching(tables: Tables) -> None:
    """Refuse counts that are not those of the groups' rows, before anything is repeated by them."""
    ids = tables[QIT][GROUP_ID].to_numpy()
    for name, table in tables.items():
        if name == QIT:
            continue
        of, times = table[GROUP_ID].to_numpy(), table[COUNT].to_numpy()
        known, place = np.unique(np.append(ids, of), return_inverse=True)
        sizes = np.bincount(place[: len(ids)], minlength=len(known))
        counted_up = np.zeros(len(known), dtype=np.int64)
        if times.min(initial=1) >= 1 and times.max(initial=0) <= len(ids):
            np.add.at(counted_up, place[len(ids) :], times)
        if not np.array_equal(sizes, counted_up):
            raise PromiseError(f"{name}: counts of a group are not as many as its rows in {QIT}")


def _keys(table: pa.Table, schema: Schema, known: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """What an adversary tells apart, and how many rows that is."""
    by = [encode(GROUP_ID, "insensitive", table[GROUP_ID])]
    by += [encode(name, "sensitive", table[name]) for name in known]
    keys, _ = dense(key(by, table.num_rows)[0])
    return keys, table[COUNT].to_numpy()


def _table_with(tables: Tables, columns: Sequence[str]) -> pa.Table:
    """The table of sensitive values that has these columns."""
    return next(
        table
        for name, table in tables.items()
        if name != QIT and set(columns) <= set(table.column_names)
    )


def rules(
    schema: Schema, parameters: SplitParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """One row per person in `qit`; in the others the counts add up to as many."""
    found = {}
    for name, arrow in schemas(schema, parameters).items():
        if name == QIT:
            found[name] = published(arrow, rows, is_canonical, withheld)
        else:
            besides = (GROUP_ID, COUNT)
            found[name] = (
                *published(arrow, None, _is_counted, withheld, besides),
                TotalCount(COUNT, rows),
            )
    return found
