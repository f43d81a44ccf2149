"""The order of published rows: a function of what is published, so that it reveals nothing else.

Rows ascend by their values (nulls first, then group_id), and group ids are dense in the order of
first appearance. Groups with equal values are ordered by their contents; if the contents are also
equal, exchanging the groups changes nothing.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.sorting import distinct, stable_order
from sfumato.tasks.arrays.ranks import dense_ranks, places_in
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.schema.names import GROUP_ID

ALONG = "/along"  # the name of a table that is never published: it records how groups were renamed


def canonical_table(table: pa.Table) -> pa.Table:
    """Return the rows in canonical order, with group ids renamed; a fixed point of itself."""
    if GROUP_ID not in table.column_names:
        return _in_order(table, stable_order(_by_value(table, [])))
    return _rename_groups(table, None)[0]


def canonical_with(tables: Mapping[str, pa.Table], first: str) -> dict[str, pa.Table]:
    """Return the tables, joined by their group ids, in canonical order.

    Group ids are renamed as `canonical_table` renames those of the table `first`; groups that are
    equal there are ordered by their contents in the other tables, which are sorted by group id and
    value. The table `ALONG` is renamed with them and decides nothing.
    """
    others = {name: table for name, table in tables.items() if name != first}
    ids = distinct(as_integers(tables[first][GROUP_ID]))
    ordered, renamed = _rename_groups(tables[first], _places(others, ids))
    return {first: ordered} | {
        name: _sort_by_group(table, ids, renamed) for name, table in others.items()
    }


def canonical_apart(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return tables without a row for each person, joined by their group ids, in canonical order.

    Group ids number the groups as they are when sorted by their contents in the first table by
    name, then in the next; rows are sorted by group id and value. The table `ALONG` is renamed with
    them and decides nothing.
    """
    ids = distinct(as_integers(next(iter(tables.values()))[GROUP_ID]))
    place = _places(dict(sorted(tables.items())), ids)
    renamed = places_in(stable_order(place))
    return {name: _sort_by_group(table, ids, renamed) for name, table in tables.items()}


def is_canonical(table: pa.Table) -> bool:
    """Decide whether the rows and group ids are as `canonical_table` would have them."""
    return bool(canonical_table(table).equals(table))


def is_sorted(table: pa.Table) -> bool:
    """Decide whether rows are sorted by group id and value, and group ids are 0, 1, …."""
    ids = distinct(as_integers(table[GROUP_ID]))
    return np.array_equal(ids, np.arange(len(ids))) and is_sorted_by_group(table)


def is_sorted_by_group(table: pa.Table) -> bool:
    """Decide whether rows are sorted by group id and value; groups may be missing."""
    ids = distinct(as_integers(table[GROUP_ID]))
    return bool(_sort_by_group(table, ids, ids).equals(table))


def _by_value(table: pa.Table, without: Sequence[str]) -> np.ndarray:
    """Return the rank of each row by its values, without some columns; nulls come first."""
    names = [name for name in table.column_names if name not in without]
    columns = [encode(name, "insensitive", table[name]) for name in names]
    return dense_ranks(key(columns, table.num_rows)[0])


def _rename_groups(table: pa.Table, tie: np.ndarray | None) -> tuple[pa.Table, np.ndarray]:
    """Return the table in canonical order, and the new id of each of its groups."""
    rank = _by_value(table, [GROUP_ID])
    group = dense_ranks(as_integers(table[GROUP_ID]))
    renamed = _by_first_appearance(rank, group, tie)
    order = stable_order(rank * len(renamed) + renamed[group])
    ids = as_array(renamed[group][order].astype(np.int64), pa.int64())
    where = table.column_names.index(GROUP_ID)
    ordered = _in_order(table, order).set_column(where, table.schema.field(where), ids)
    return ordered, renamed


def _places(tables: Mapping[str, pa.Table], ids: np.ndarray) -> np.ndarray:
    """Return the place of each group of `ids` when these are sorted by their contents in tables."""
    place = np.zeros(len(ids), dtype=np.int64)
    for name, table in tables.items():
        if name != ALONG:
            group = np.searchsorted(ids, as_integers(table[GROUP_ID]))
            of_table = _content_ranks(_by_value(table, [GROUP_ID]), group, len(ids))
            place = dense_ranks(place * len(ids) + of_table)
    return place


def _sort_by_group(table: pa.Table, old_ids: np.ndarray, renamed: np.ndarray) -> pa.Table:
    """Return the table with groups (`old_ids`, ascending) renamed, sorted by id and value."""
    ids = renamed[np.searchsorted(old_ids, as_integers(table[GROUP_ID]))]
    rank = _by_value(table, [GROUP_ID])
    order = stable_order(ids * (int(rank.max(initial=0)) + 1) + rank)
    where = table.column_names.index(GROUP_ID)
    column = as_array(ids[order].astype(np.int64), pa.int64())
    return _in_order(table, order).set_column(where, table.schema.field(where), column)


def _in_order(table: pa.Table, order: np.ndarray) -> pa.Table:
    """Return the rows in some order (positions), decoded; rows already in order are not copied."""
    if not (order[1:] > order[:-1]).all():
        table = table.take(as_array(order.astype(np.int64), pa.int64()))
    for place, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            name = table.column_names[place]
            table = table.set_column(place, name, column.cast(column.type.value_type))
    return table


def _by_first_appearance(rank: np.ndarray, group: np.ndarray, tie: np.ndarray | None) -> np.ndarray:
    """Return a new id for each group: their order of appearance when rows are sorted by value.

    That is the order of their contents, since these begin with each group's smallest value.
    """
    groups = int(group.max(initial=-1)) + 1
    content = _content_ranks(rank, group, groups)
    if tie is not None:
        content = content * groups + tie
    return places_in(stable_order(content))


def _content_ranks(rank: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return the place of each group when sorted by their ascending lists of value ranks.

    The loop splits classes of groups that are still equal, one position of the lists at a time.
    """
    width = int(rank.max(initial=0)) + 1
    members = np.sort(group * width + rank) % width
    sizes = np.bincount(group, minlength=groups)
    starts = np.cumsum(sizes) - sizes
    place = np.zeros(groups, dtype=np.int64)
    tied = np.arange(groups)
    position = 0
    while len(tied):
        ended = sizes[tied] <= position
        seen = np.zeros(len(tied), dtype=np.int64)
        seen[~ended] = members[starts[tied[~ended]] + position] + 1
        order = stable_order(place[tied] * (width + 1) + seen)
        tied, seen = tied[order], seen[order]
        old = place[tied]
        run = _run_starts(old, seen)
        place[tied] = old + run - _run_starts(old, np.zeros_like(seen))
        lengths = np.bincount(run, minlength=len(run))[run]
        tied = tied[(lengths > 1) & (seen > 0)]
        position += 1
    return place


def _run_starts(*keys: np.ndarray) -> np.ndarray:
    """Return, for each position of parallel sorted keys, where its run of equal keys starts."""
    changed = np.zeros(len(keys[0]), dtype=bool)
    for values in keys:
        changed[1:] |= values[1:] != values[:-1]
    return np.maximum.accumulate(np.where(changed, np.arange(len(changed)), 0))
