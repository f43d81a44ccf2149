"""Rows of sparse counts: selected, compared and joined without a loop over them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counting import add_up
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Cover, Groups

Columns = Mapping[str, Counts]


def columns_of(groups: Groups) -> dict[str, Counts]:
    """Return what each group shows, by attribute, as counts of values or of subdomains."""
    nodes = {
        name: Counts(
            subdomains.group,
            subdomains.node,
            subdomains.count,
            max(len(t.parent) for t in subdomains.targets),
            None,
        )
        for name, subdomains in groups.subdomains.items()
    }
    return dict(groups.sensitive) | nodes


def covers_of(groups: Groups) -> dict[str, Counts]:
    """Return the values that each group admits, by quasi-identifier, each counted once."""
    return {name: _once(cover) for name, cover in groups.covers.items()}


def _once(cover: Cover) -> Counts:
    ones = np.ones(len(cover.group), dtype=np.int64)
    return Counts(cover.group, cover.value, ones, cover.values, None)


def entries_of(counts: Counts, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries of some groups, and the place in `rows` of each one's group (int64)."""
    lengths = counts.distinct[rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    begin = counts.starts[rows] - (np.cumsum(lengths) - lengths)
    return begin[place] + np.arange(len(place)), place


def same_rows(
    counts: Counts, rows: np.ndarray, other: Counts, others: np.ndarray, counted: bool = True
) -> np.ndarray:
    """Mark the pairs of groups that show the same values (bool, one per pair).

    Args:
        counts: counts of some groups.
        rows: groups of `counts` (int64).
        other: counts of the groups to compare with.
        others: groups of `other` (int64, one for each of `rows`).
        counted: equal values must also occur equally often.
    """
    same: np.ndarray = counts.distinct[rows] == other.distinct[others]
    alike = np.flatnonzero(same)
    entries, place = entries_of(counts, rows[alike])
    other_entries, _ = entries_of(other, others[alike])
    differ = counts.value[entries] != other.value[other_entries]
    if counted:
        differ |= counts.count[entries] != other.count[other_entries]
    same[alike[place[differ]]] = False
    return same


def take(counts: Counts, rows: np.ndarray) -> Counts:
    """Return the counts of some groups (int64), numbered in that order."""
    entries, place = entries_of(counts, rows)
    return replace(counts, group=place, value=counts.value[entries], count=counts.count[entries])


def take_groups(groups: Groups, rows: np.ndarray) -> Groups:
    """Return some groups (int64) with their counts of sensitive values, numbered in that order."""
    columns = {name: take(counts, rows) for name, counts in groups.sensitive.items()}
    return Groups(groups.sizes[rows], columns)


def join(parts: Sequence[Counts], lengths: Sequence[int], like: Counts) -> Counts:
    """Return the counts of the groups of all parts, one part after the other.

    Args:
        parts: counts, whose values are numbered as in `like`.
        lengths: the groups of each part.
        like: counts of the same attribute.
    """
    before = np.cumsum([0, *lengths[:-1]])
    group = np.concatenate([p.group + b for p, b in zip(parts, before.tolist(), strict=True)])
    value = np.concatenate([part.value for part in parts])
    return replace(like, group=group, value=value, count=np.concatenate([p.count for p in parts]))


def join_groups(parts: Sequence[Groups], like: Groups) -> Groups:
    """Return the groups of all parts with their sensitive values, one part after the other."""
    lengths = [len(part) for part in parts]
    columns = {
        name: join([part.sensitive[name] for part in parts], lengths, counts)
        for name, counts in like.sensitive.items()
    }
    return Groups(np.concatenate([part.sizes for part in parts]), columns)


def difference(
    row: np.ndarray, value: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return signed counts added up by row and value (int64 each), ascending, without zeros."""
    row, value, count = add_up([row, value], count)
    nonzero = count != 0
    return row[nonzero], value[nonzero], count[nonzero]


def evenly(counts: Counts) -> np.ndarray:
    """Mark the groups that show all their values equally often (bool, one per group)."""
    if not len(counts.group):
        return np.zeros(0, dtype=bool)
    return np.asarray(np.minimum.reduceat(counts.count, counts.starts) == counts.largest)
