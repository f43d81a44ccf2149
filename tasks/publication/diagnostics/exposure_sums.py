"""Sums over the groups that cover each vector of quasi-identifiers.

The vectors stand in lexicographic order, so that neighbours share their first values: the groups
that admit these are found once. Groups are taken in blocks, of which the table of all values is
small. `expectations.measures.readings` sums up over bits what needs no weights for single values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.groups.groups import Cover
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop

_CELLS = 1 << 20  # of the table of values x groups of a block
_WORTH_COMPILING = 100_000  # vectors x groups


@dataclass(frozen=True, eq=False)
class Sums:
    """Over the groups that cover each vector, parallel to the vectors.

    Attributes:
        covering: the number of groups that cover it (int64).
        largest: the largest of the numbers that rank the groups, -1 where none covers it (int64).
        totals: the sum of each weighting of the groups (float64, weightings x vectors).
        products: the sum of the products of the shares of its values in groups (float64).
    """

    covering: np.ndarray
    largest: np.ndarray
    totals: np.ndarray
    products: np.ndarray


def pairs(shown: Covering, vectors: Sequence[np.ndarray]) -> int:
    """The pairs of a vector, or of its first values, and a group that `sums` compares at most.

    Vectors that begin alike are compared once as far as they do. Which groups are left of those
    that admit a value is not known: no more than admit any one of the values before.

    Args:
        shown: the groups.
        vectors: as for `sums`, of values that some groups admit.
    """
    left = np.full(len(vectors[0]), len(shown.sizes))
    shared, found = _shared(np.stack(vectors, axis=1)), 0
    for level, (codes, cover) in enumerate(zip(vectors, shown.covers, strict=True)):
        found += int(left[shared <= level].sum())
        left = np.minimum(left, np.bincount(cover.value, minlength=cover.values)[codes])
    return found


def sums(
    shown: Covering,
    vectors: Sequence[np.ndarray],
    shares: Sequence[np.ndarray],
    ranks: np.ndarray,
    weights: np.ndarray,
) -> Sums:
    """The sums over the groups that cover each vector.

    Args:
        shown: the groups.
        vectors: codes by quasi-identifier (integers, one per vector), in lexicographic order.
        shares: positive numbers by quasi-identifier (float64, one per entry of its cover).
        ranks: numbers of at least 0 (int64, one per group).
        weights: to be added up; infinities in a column have one sign (float64, groups x 3).
    """
    values = [np.unique(codes, return_inverse=True) for codes in vectors]
    ends = np.cumsum([0, *(len(used) for used, _ in values)])
    at = zip(values, ends[:-1], strict=True)
    rows = np.stack([codes.reshape(-1) + start for (_, codes), start in at], axis=1)
    groups, step = len(ranks), max(1, _CELLS // max(int(ends[-1]), 1))
    scan = choose_loop(len(rows) * groups >= _WORTH_COMPILING, _scan, _compiled)
    shared = _shared(rows)
    after = _after(shared, len(vectors))
    found = np.zeros((len(rows), 6))
    found[:, 1] = -1
    for start in range(0, groups, step):
        block = slice(start, min(start + step, groups))
        parts = zip(shown.covers, shares, values, strict=True)
        table = np.concatenate([_table(c, share, used, block) for c, share, (used, _) in parts])
        facts = np.column_stack([ranks[block], weights[block]])
        scan(rows, shared, after, table, facts, found)
    return Sums(
        found[:, 0].astype(np.int64), found[:, 1].astype(np.int64), found[:, 2:5].T, found[:, 5]
    )


def _table(cover: Cover, shares: np.ndarray, used: np.ndarray, block: slice) -> np.ndarray:
    """The shares that groups of a block give to used values, 0 where they do not admit them."""
    first, last = np.searchsorted(cover.group, (block.start, block.stop))
    group, value = cover.group[first:last] - block.start, cover.value[first:last]
    table = np.zeros((len(used), block.stop - block.start))
    row = np.searchsorted(used, value)
    known = np.append(used, -1)[row] == value
    table[row[known], group[known]] = shares[first:last][known]
    return table


def _shared(rows: np.ndarray) -> np.ndarray:
    """With how many of its first values each vector begins like the one before."""
    differs = np.ones(rows.shape, dtype=bool)
    differs[1:] = rows[1:] != rows[:-1]
    first: np.ndarray = differs.argmax(axis=1)
    return first


def _after(shared: np.ndarray, columns: int) -> np.ndarray:
    """The next vector that begins otherwise in its first 0, 1, … values (int64, vectors x levels).

    The number of vectors stands where none does.
    """
    end = len(shared)
    after = np.full((end, columns + 1), end)
    places = np.arange(1, end)
    for level in range(1, columns + 1):
        others = np.where(shared[1:] < level, places, end)
        after[:-1, level] = np.minimum.accumulate(others[::-1])[::-1]
    return after


def _scan(
    rows: np.ndarray,
    shared: np.ndarray,
    after: np.ndarray,
    table: np.ndarray,
    facts: np.ndarray,
    found: np.ndarray,
) -> None:
    """Add to each row of `found` what the groups of a block that cover its vector have.

    Level n of `kept` has the groups that admit the first n values of the vector at hand. Where none
    does, all vectors that begin so are passed over.
    """
    columns, groups = rows.shape[1], table.shape[1]
    kept = np.empty((columns + 1, groups), np.int32)
    product = np.ones((columns + 1, groups))
    length = np.zeros(columns + 1, np.int64)
    kept[0] = np.arange(groups)
    length[0] = groups
    at = 0
    while at < len(rows):
        level = shared[at]
        while level < columns and length[level] > 0:
            shares, most, to = table[rows[at, level]], length[level], level + 1
            length[to] = _narrow(
                shares, kept[level, :most], product[level, :most], kept[to], product[to]
            )
            level = to
        if length[level] > 0:
            _add(kept[columns, : length[columns]], product[columns], facts, found[at])
            at += 1
        else:
            at = after[at, level]


def _narrow(
    shares: np.ndarray,
    kept: np.ndarray,
    product: np.ndarray,
    to_kept: np.ndarray,
    to_product: np.ndarray,
) -> int:
    """Copy the groups with a share, which their products are multiplied by, and count them."""
    number = 0
    for i in range(len(kept)):
        share = shares[kept[i]]
        to_kept[number] = kept[i]
        to_product[number] = product[i] * share
        number += share > 0
    return number


def _add(kept: np.ndarray, product: np.ndarray, facts: np.ndarray, found: np.ndarray) -> None:
    """Add up what is known of the groups; the largest is kept of their ranks."""
    largest, one, two, three, all_ = found[1], 0.0, 0.0, 0.0, 0.0
    for i in range(len(kept)):
        group = kept[i]
        largest = max(largest, facts[group, 0])
        one += facts[group, 1]
        two += facts[group, 2]
        three += facts[group, 3]
        all_ += product[i]
    found[0] += len(kept)
    found[1] = largest
    found[2] += one
    found[3] += two
    found[4] += three
    found[5] += all_


@cache
def _compiled() -> Loop:
    return compile_loop(_narrow, _add, _scan)
