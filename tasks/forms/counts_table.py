"""The table ST of the papers: every sensitive value of each group, with its count.

Several sensitive attributes are in one such table, which keeps their association, or in one each
(`st_<name>`). A form that has one shows something else of the groups in other tables, joined to
this one by group_id.

`marginal_<name>` counts the rows of all groups together: it has every value of a quasi-identifier
once, with the number of published rows that have it. A form that shows each quasi-identifier by
itself may publish some of them.

Source of marginals: Kifer and Gehrke, Injecting utility into anonymized datasets (SIGMOD 2006).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import count, dense
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.groups.marginals import rows_of_cells
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import TotalCount, rules_of_published
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct, lengths, stable_order, starts
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.order import is_canonical, is_sorted
from sfumato.tasks.forms.recoded import sensitive_column
from sfumato.tasks.microdata.table import Column, Microdata, encode, key
from sfumato.tasks.schema.names import COUNT, GROUP_ID, safe_name
from sfumato.tasks.schema.published import Schema, names_with_roles

ST = "st"
_PREFIX = "marginal_"


def names_of_tables(sensitive: Sequence[str], together: bool) -> dict[str, list[str]]:
    """Return the sensitive attributes of each table by its name."""
    if len(sensitive) == 1 or together:
        return {ST: list(sensitive)}
    return {f"{ST}_{safe_name(name)}": [name] for name in sensitive}


def tables_of(microdata: Microdata, group: np.ndarray, together: bool) -> dict[str, pa.Table]:
    """Return every value of each `group` (int64, one per row) with its count, in any order."""
    names = [column.name for column in microdata.with_roles("sensitive")]
    tables = {}
    for name, attributes in names_of_tables(names, together).items():
        columns = {column: microdata[column].dictionary_array() for column in attributes}
        tables[name] = _with_counts(pa.table({GROUP_ID: group, **columns}))
    return tables


def _with_counts(values: pa.Table) -> pa.Table:
    """Return every different row once, and how often it occurs."""
    columns = [encode(name, "sensitive", values[name]) for name in values.column_names]
    keys, _ = key(columns, values.num_rows)
    order = stable_order(keys)
    first = starts(keys[order])
    different = values.take(as_array(order[first], pa.int64()))
    return different.append_column(COUNT, as_array(lengths(first, len(order)), pa.int64()))


def schemas(schema: Schema, together: bool) -> dict[str, pa.Schema]:
    """Return schemas of the group's number, columns of their own types, and counts."""
    group = pa.field(GROUP_ID, pa.int64(), nullable=False)
    times = pa.field(COUNT, pa.int64(), nullable=False)
    return {
        name: pa.schema([group, *(field(column, schema) for column in attributes), times])
        for name, attributes in names_of_tables(
            names_with_roles(schema, "sensitive"), together
        ).items()
    }


def field(name: str, schema: Schema) -> pa.Field:
    """Return the schema's field of a column published as it is."""
    return pa.field(name, schema[name].arrow_type, schema[name].nulls)


def groups(
    tables: Tables, schema: Schema, known_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Count sensitive values per group_id, and per value of other attributes that are known.

    Args:
        tables: those that `tables_of` made; their counts add up.
        schema: as declared.
        known_columns: the sensitive attributes that an adversary knows.
        sensitive: the attributes whose values are counted.
    """
    tables_with = {name: _table_with(tables, [name, *known_columns]) for name in sensitive}
    seen = [_groups(table, schema, known_columns, [name]) for name, table in tables_with.items()]
    if not seen:
        return _groups(_table_with(tables, known_columns), schema, known_columns, [])
    counts = {name: counts for groups in seen for name, counts in groups.sensitive.items()}
    return Groups(seen[0].sizes, counts)


def _groups(
    table: pa.Table, schema: Schema, known_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Return the groups that an adversary can distinguish in one table."""
    columns = [encode(GROUP_ID, "insensitive", table[GROUP_ID])]
    columns += [encode(name, "sensitive", table[name]) for name in known_columns]
    keys, bound = dense(key(columns, table.num_rows)[0])
    coded = {name: sensitive_column(table, schema, name).counted_codes() for name in sensitive}
    return count(keys, bound, coded, as_integers(table[COUNT]))


def _table_with(tables: Tables, columns: Sequence[str]) -> pa.Table:
    """Return the table that has these columns."""
    return next(table for table in tables.values() if set(columns) <= set(table.column_names))


def totals(table: pa.Table, groups: int) -> np.ndarray | None:
    """Return the rows of the groups 0, 1, … by the counts (int64), None if these are unsound."""
    group, times = as_integers(table[GROUP_ID]), as_integers(table[COUNT])
    rows = np.zeros(groups, dtype=np.int64)
    if not len(group) or group.min() < 0 or group.max() >= groups or times.min() < 1:
        return None
    if times.astype(np.float64).sum() >= 2**62:
        return None
    np.add.at(rows, group, times)
    return rows


def rules(
    schema: Schema, together: bool, rows: int, withheld: Sequence[str]
) -> dict[str, tuple[Rule, ...]]:
    """Return the rules: combinations of values occur once in a group; counts add up to the rows."""
    return {
        name: (
            *rules_of_published(arrow, None, _is_counted, withheld, (GROUP_ID, COUNT)),
            TotalCount(COUNT, rows),
        )
        for name, arrow in schemas(schema, together).items()
    }


def _is_counted(table: pa.Table) -> bool:
    """Decide whether rows are sorted, and a group has every combination of values once."""
    columns = [
        encode(name, "sensitive", table[name]) for name in table.column_names if name != COUNT
    ]
    keys, _ = key(columns, table.num_rows)
    return is_sorted(table) and len(starts(keys)) == table.num_rows  # equal ones are neighbours


def marginal_table(name: str) -> str:
    """Return the name of the table of a quasi-identifier's marginal.

    >>> marginal_table("native-country")
    'marginal_native_country'
    """
    return f"{_PREFIX}{safe_name(name)}"


def is_marginal(table: str) -> bool:
    """Decide whether a table of that name has a marginal."""
    return table.startswith(_PREFIX)


def without_marginals(tables: Tables) -> dict[str, pa.Table]:
    """Return the tables of groups."""
    return {name: table for name, table in tables.items() if not is_marginal(name)}


def marginals_of(published: Microdata, names: Sequence[str]) -> dict[str, pa.Table]:
    """Return the marginals of some quasi-identifiers, in canonical order."""
    return {marginal_table(name): _marginal(published[name]) for name in names}


def _marginal(column: Column) -> pa.Table:
    codes, _ = column.category()
    order = stable_order(codes)
    first = starts(codes[order])
    values = pa.table({column.name: column.dictionary_array()})
    values = values.take(as_array(order[first], pa.int64()))
    plain = values[column.name].cast(values.schema.field(0).type.value_type)
    return pa.table({column.name: plain, COUNT: as_array(lengths(first, len(order)), pa.int64())})


def schemas_of_marginals(schema: Schema, names: Sequence[str]) -> dict[str, pa.Schema]:
    """Return the schemas: a value and its number of rows."""
    times = pa.field(COUNT, pa.int64(), nullable=False)
    return {marginal_table(name): pa.schema([field(name, schema), times]) for name in names}


def rules_of_marginals(
    schema: Schema, names: Sequence[str], rows: int, withheld: Sequence[str]
) -> dict[str, tuple[Rule, ...]]:
    """Return the rules: values ascend, each once, and counts add up to the published rows."""
    by_table: dict[str, tuple[Rule, ...]] = {}
    for name, (table, arrow) in zip(
        names, schemas_of_marginals(schema, names).items(), strict=True
    ):
        rules = rules_of_published(arrow, None, _has_each_once, withheld, (name, COUNT))
        by_table[table] = (*rules, TotalCount(COUNT, rows))
    return by_table


def _has_each_once(table: pa.Table) -> bool:
    """Decide whether rows are sorted, and have every value once."""
    codes, _ = encode("value", "quasi-identifier", table.column(0)).category()
    return is_canonical(table) and len(distinct(codes)) == table.num_rows


def with_totals(name: str, own: Cover, tables: Mapping[str, pa.Table], admitted: str) -> Cover:
    """Return what groups admit of a column with the rows of each value, if these are published.

    Args:
        name: of the quasi-identifier.
        own: the values that groups admit.
        tables: all published tables.
        admitted: the name of the table that shows what groups admit, whose values `own` numbers.

    Raises:
        PromiseError: if the marginal has other values.
    """
    if (table := tables.get(marginal_table(name))) is None:
        return own
    rows = tables[admitted].num_rows
    both = pa.chunked_array([*tables[admitted][name].chunks, *table[name].chunks])
    codes, values = encode(name, "quasi-identifier", both).category()
    counted = codes[rows:]
    if not values == own.values == len(counted) == len(distinct(counted)):
        raise PromiseError(f"{marginal_table(name)}: has other values than groups admit")
    totals = np.empty(values, dtype=np.int64)
    totals[counted] = as_integers(table[COUNT])
    return replace(own, totals=totals)


def require_possible(name: str, sizes: np.ndarray, own: Cover) -> None:
    """Make sure that groups of these sizes can have the published totals of a column.

    Raises:
        PromiseError: if no table has them.
    """
    try:
        if own.totals is not None:
            rows_of_cells(sizes, own)
    except PromiseError as error:
        raise PromiseError(f"{marginal_table(name)}: {error}") from None


def tables_counting(name: str, tables: Tables) -> dict[str, pa.Table]:
    """Return the tables with a column, sorted by name; the marginal by itself if there is one."""
    having = {
        n: table for n, table in sorted(tables.items()) if table.schema.get_field_index(name) >= 0
    }
    marginal = marginal_table(name)
    return {marginal: having[marginal]} if marginal in having else having
