"""The order of published rows: a function of what is published, so that it reveals nothing else.

Rows ascend by their values (nulls first, then group_id), and group ids are dense in the order of
first appearance. Groups with equal values are ordered by their contents; if the contents are also
equal, exchanging the groups changes nothing.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.sorting import distinct, positions, stable_order, starts
from sfumato.tasks.arrays.ranks import dense_ranks, places_in
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.schema.names import GROUP_ID

_SHORT = 32  # members of a group that are compared for all groups at once
ALONG = "/along"  # the name of a table that is never published: it records how groups were renamed


def canonical_table(table: pa.Table) -> pa.Table:
    """Return the rows in canonical order, with group ids renamed; a fixed point of itself."""
    if GROUP_ID not in table.column_names:
        return _in_order(table, stable_order(_by_value(table, [])))
    return _rename_groups(table, {})[0]


def canonical_with(tables: Mapping[str, pa.Table], first: str) -> dict[str, pa.Table]:
    """Return the tables, joined by their group ids, in canonical order.

    Group ids are renamed as `canonical_table` renames those of the table `first`; groups that are
    equal there are ordered by their contents in the other tables, which are sorted by group id and
    value. The table `ALONG` is renamed with them and decides nothing.
    """
    others = {name: table for name, table in tables.items() if name != first}
    ids = distinct(as_integers(tables[first][GROUP_ID]))
    ordered, renamed = _rename_groups(tables[first], others)
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


def _keys(table: pa.Table, without: Sequence[str]) -> np.ndarray:
    """Return a key of each row (int64) that ascends by its values, without some columns.

    Nulls come first.
    """
    names = [name for name in table.column_names if name not in without]
    columns = [encode(name, "insensitive", table[name]) for name in names]
    return key(columns, table.num_rows)[0]


def _by_value(table: pa.Table, without: Sequence[str]) -> np.ndarray:
    """Return the rank of each row by its values, without some columns; nulls come first."""
    return dense_ranks(_keys(table, without))


def _rename_groups(table: pa.Table, others: Mapping[str, pa.Table]) -> tuple[pa.Table, np.ndarray]:
    """Return the table in canonical order, and the new id of each of its groups.

    Groups that are equal in this table are ordered by their contents in the others.
    """
    keys, ids = _keys(table, [GROUP_ID]), as_integers(table[GROUP_ID])
    if table[GROUP_ID].type == pa.int64() and _stand_in_order(keys, ids, others):
        return _decode(table), np.arange(int(ids.max(initial=-1)) + 1)
    rank, group = dense_ranks(keys), dense_ranks(ids)
    tie = _places(others, distinct(ids)) if others else None
    renamed = _by_first_appearance(rank, group, tie)
    order = stable_order(rank * len(renamed) + renamed[group])
    renumbered = as_array(renamed[group][order].astype(np.int64), pa.int64())
    where = table.column_names.index(GROUP_ID)
    ordered = _in_order(table, order)
    return ordered.set_column(where, table.schema.field(where), renumbered), renamed


def _stand_in_order(keys: np.ndarray, ids: np.ndarray, others: Mapping[str, pa.Table]) -> bool:
    """Decide whether rows and group ids are in canonical order already, without sorting rows.

    Args:
        keys: of the rows' values (int64).
        ids: of their groups (int64).
        others: the tables that order groups which are equal in this one.
    """
    if not _ascend(keys, ids):
        return False
    order = stable_order(ids)
    members, grouped = keys[order], ids[order]
    begins = starts(grouped)
    if not np.array_equal(grouped[begins], np.arange(len(begins))):
        return False
    equal = _equal_neighbours(members, np.append(begins, len(members)))
    if equal is None or not len(equal) or not others:
        return equal is not None
    groups = distinct(np.concatenate([equal, equal + 1]))
    theirs = {name: _rows_of(table, groups) for name, table in others.items()}
    place = _places(theirs, groups)
    return bool((place[positions(groups, equal)] <= place[positions(groups, equal + 1)]).all())


def _rows_of(table: pa.Table, groups: np.ndarray) -> pa.Table:
    """Return the rows of some groups (int64, ascending)."""
    return table.filter(pa.array(np.isin(as_integers(table[GROUP_ID]), groups)))


def _equal_neighbours(members: np.ndarray, bounds: np.ndarray) -> np.ndarray | None:
    """Return the groups (int64) whose list of keys equals that of the group after them.

    Returns None if some group's list comes after that of the next group.

    Args:
        members: the ascending keys of each group, group by group (int64).
        bounds: where each list begins, and where the last one ends (int64).
    """
    begins, sizes = bounds[:-1], np.diff(bounds)
    tied, position = np.arange(len(begins) - 1), 0
    equal: list[np.ndarray] = []
    while len(tied):
        first_ended, next_ended = sizes[tied] <= position, sizes[tied + 1] <= position
        equal.append(tied[first_ended & next_ended])
        if (next_ended & ~first_ended).any():
            return None
        tied = tied[~first_ended]  # a list comes before those that it begins
        mine, next_key = members[begins[tied] + position], members[begins[tied + 1] + position]
        if (mine > next_key).any():
            return None
        tied = tied[mine == next_key]
        position += 1
        if position == _SHORT:  # the few that are left are compared as a whole
            longer = [_compare(members, bounds, group) for group in tied.tolist()]
            if 1 in longer:
                return None
            equal.append(tied[np.array(longer, dtype=np.int64) == 0])
            break
    return np.sort(np.concatenate(equal)) if equal else tied


def _compare(members: np.ndarray, bounds: np.ndarray, group: int) -> int:
    """Compare the list of a group with the next group's: -1 if it comes before, 0 if equal, 1."""
    first, second = (members[bounds[g] : bounds[g + 1]] for g in (group, group + 1))
    both = min(len(first), len(second))
    differ = np.flatnonzero(first[:both] != second[:both])
    if len(differ):
        return 1 if first[differ[0]] > second[differ[0]] else -1
    return (len(first) > len(second)) - (len(first) < len(second))


def _ascend(keys: np.ndarray, ids: np.ndarray) -> bool:
    """Decide whether pairs of numbers ascend: by the first, then by the second."""
    less, same = keys[:-1] < keys[1:], keys[:-1] == keys[1:]
    return bool((less | (same & (ids[:-1] <= ids[1:]))).all())


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
    ids = renamed[_find_places(old_ids, as_integers(table[GROUP_ID]))]
    keys = _keys(table, [GROUP_ID])
    if _ascend(ids, keys):
        ordered = _decode(table)
    else:
        rank = dense_ranks(keys)
        order = stable_order(ids * (int(rank.max(initial=0)) + 1) + rank)
        ordered, ids = _in_order(table, order), ids[order]
    where = table.column_names.index(GROUP_ID)
    column = as_array(ids.astype(np.int64), pa.int64())
    return ordered.set_column(where, table.schema.field(where), column)


def _find_places(ascending: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the place of each number among ascending ones, which are often 0, 1, …."""
    if len(ascending) and ascending[0] == 0 and ascending[-1] == len(ascending) - 1:
        return numbers
    return np.searchsorted(ascending, numbers)


def _in_order(table: pa.Table, order: np.ndarray) -> pa.Table:
    """Return the rows in some order (positions), decoded; rows already in order are not copied."""
    if not (order[1:] > order[:-1]).all():
        table = table.take(as_array(order.astype(np.int64), pa.int64()))
    return _decode(table)


def _decode(table: pa.Table) -> pa.Table:
    """Return the table without dictionaries."""
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
