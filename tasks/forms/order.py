"""The order of published rows: a function of what is published, so that it can tell nothing else.

Rows stand in ascending order of their values (nulls first, then group_id), and group ids are dense
in the order of first appearance. Groups that the values alone do not tell apart are ordered by
their contents; where even those agree, exchanging them changes nothing.
"""

import numpy as np
import pyarrow as pa

from tasks.forms.form import GROUP_ID
from tasks.microdata.table import encode, key


def canonical(table: pa.Table) -> pa.Table:
    """The same rows in canonical order, with group ids renamed; a fixed point of itself."""
    values = table.drop_columns(GROUP_ID) if GROUP_ID in table.column_names else table
    columns = [encode(name, "insensitive", values[name]) for name in values.column_names]
    rank = _ranks(key(columns, table.num_rows)[0])
    if GROUP_ID not in table.column_names:
        return table.take(pa.array(np.argsort(rank, kind="stable")))
    group = _ranks(table[GROUP_ID].to_numpy())
    renamed = _by_first_appearance(rank, group)[group]
    order = np.argsort(rank * (int(group.max(initial=0)) + 1) + renamed, kind="stable")
    ids = pa.array(renamed[order].astype(np.int64))
    where = table.column_names.index(GROUP_ID)
    return table.take(pa.array(order)).set_column(where, table.schema.field(where), ids)


def is_canonical(table: pa.Table) -> bool:
    """Whether the rows and group ids are as `canonical` would have them."""
    return bool(canonical(table).equals(table))


def _ranks(keys: np.ndarray) -> np.ndarray:
    """Dense ranks 0, 1, … of integer keys."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = np.cumsum(np.append(False, ordered[1:] != ordered[:-1])[: len(keys)])
    return ranks


def _by_first_appearance(rank: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A new id for each group: their order of appearance when rows are sorted by value."""
    groups = int(group.max(initial=-1)) + 1
    content = _content_ranks(rank, group, groups)
    ordered = group[np.argsort(rank * max(groups, 1) + content[group], kind="stable")]
    first = np.empty(groups, dtype=np.int64)
    first[ordered[::-1]] = np.arange(len(ordered))[::-1]
    renamed = np.empty(groups, dtype=np.int64)
    renamed[np.argsort(first)] = np.arange(groups)
    return renamed


def _content_ranks(rank: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """The place of each group when groups are sorted by their ascending lists of value ranks.

    Refines classes of still equal groups, one position of the lists at a time.
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
        nth = members[np.where(ended, 0, starts[tied] + position)]
        seen = np.where(ended, -1, nth)
        order = np.lexsort((seen, place[tied]))
        tied, seen = tied[order], seen[order]
        old = place[tied]
        run = _run_starts(old, seen)
        place[tied] = old + run - _run_starts(old, np.zeros_like(seen))
        lengths = np.bincount(run, minlength=len(run))[run]
        tied = tied[(lengths > 1) & (seen >= 0)]
        position += 1
    return place


def _run_starts(*keys: np.ndarray) -> np.ndarray:
    """For each position of parallel sorted keys, where its run of equal keys starts."""
    changed = np.zeros(len(keys[0]), dtype=bool)
    changed[:1] = True
    for values in keys:
        changed[1:] |= values[1:] != values[:-1]
    return np.maximum.accumulate(np.where(changed, np.arange(len(changed)), 0))
