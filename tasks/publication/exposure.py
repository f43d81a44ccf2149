"""Presence of a table's people in groups that show only which values they admit.

A *vector* is a combination of one value of each quasi-identifier. A group *covers* a vector if it
admits all of its values. The *presence* p_j is the probability that a given vector that group j
covers is in it (see `expectations.groups.covering`); α is the largest presence that is promised.

`expectations.models.alpha_beta` promises α for every vector there could be. This module counts only
the vectors that the table has, and so its results stay private. A *reading* combines the presences
of all groups that cover a vector into one number. Three readings are those of
`expectations.measures.readings`. The fourth, `weighted`, is of an attacker who fits how frequent
values are: the expected number of records of a vector, the sum over the groups that cover it of
|G_j| Π_i (E[n_ij(v_i)] / |G_j|), where n_ij(v) rows of group j have value v of quasi-identifier i.
No α bounds `weighted`.

The vectors are in lexicographic order, so that neighbours share their first values: the groups that
admit these are found once. Groups are taken in blocks whose table of all values is small.

The source is Wang, Ambiguity (see `expectations.groups.covering`); `weighted` is this project's
own.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.measures.readings import Readings, of_sums
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.forms.ambiguous import expected_occurrences

_CELLS = 1 << 20  # most cells of a block's table: used values x groups
_WORTH_COMPILING = 100_000  # vectors x groups from which on the loop is compiled
_UNIT = 2.0**-52  # the distance from 1 to the next float64
_MOST = 5 * 10**10  # most pairs of a vector and a group that are compared


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the groups that cover each vector; arrays have an entry per vector.

    Attributes:
        covering: the number of groups that cover it (int64).
        largest: the largest rank of a covering group, -1 if no group covers the vector (int64).
        totals: the sum of each of three weights of the groups (float64, weights x vectors).
        products: the sum over the groups of the product of the shares of its values (float64).
    """

    covering: np.ndarray
    largest: np.ndarray
    totals: np.ndarray
    products: np.ndarray


def pairs(shown_groups: Covering, vectors: Sequence[np.ndarray]) -> int:
    """Return how many pairs of a vector (or its first values) and a group `sums` compares at most.

    Vectors that begin with the same values are compared once for these. The number of groups that
    admit the first values together is not known; it is at most the number that admit any one of
    them.

    Args:
        shown_groups: the groups.
        vectors: as for `sums`, of values that some groups admit.
    """
    groups_left = np.full(len(vectors[0]), len(shown_groups.sizes))
    shared, number = _shared_lengths(np.stack(vectors, axis=1)), 0
    for level, (codes, cover) in enumerate(zip(vectors, shown_groups.covers, strict=True)):
        number += int(groups_left[shared <= level].sum())
        groups_left = np.minimum(
            groups_left, np.bincount(cover.value, minlength=cover.values)[codes]
        )
    return number


def sums(
    shown_groups: Covering,
    vectors: Sequence[np.ndarray],
    shares: Sequence[np.ndarray],
    ranks: np.ndarray,
    weights: np.ndarray,
) -> Sums:
    """Return the sums over the groups that cover each vector.

    Args:
        shown_groups: the groups.
        vectors: codes by quasi-identifier (integers, one per vector), in lexicographic order.
        shares: positive numbers by quasi-identifier (float64, one per entry of its cover).
        ranks: numbers of at least 0, of which the largest is returned (int64, one per group).
        weights: three weights of each group, which are added up (float64, groups x 3); all
            infinities of a column have one sign.
    """
    values = [np.unique(codes, return_inverse=True) for codes in vectors]
    ends = np.cumsum([0, *(len(used) for used, _ in values)])
    columns = zip(values, ends[:-1], strict=True)
    # per vector and quasi-identifier the row of `_table` that has the shares of its value
    rows = np.stack([codes.reshape(-1) + start for (_, codes), start in columns], axis=1)
    groups, step = len(ranks), max(1, _CELLS // max(int(ends[-1]), 1))
    scan = choose_loop(len(rows) * groups >= _WORTH_COMPILING, _scan, _compile_scan)
    shared = _shared_lengths(rows)
    after = _next_differing(shared, len(vectors))
    # columns: covering groups, largest rank, three sums of weights, sum of products (see `_add`)
    totals = np.zeros((len(rows), 6))
    totals[:, 1] = -1
    for start in range(0, groups, step):
        block = slice(start, min(start + step, groups))
        parts = zip(shown_groups.covers, shares, values, strict=True)
        table = np.concatenate([_table(c, share, used, block) for c, share, (used, _) in parts])
        facts = np.column_stack([ranks[block], weights[block]])
        scan(rows, shared, after, table, facts, totals)
    return Sums(
        totals[:, 0].astype(np.int64), totals[:, 1].astype(np.int64), totals[:, 2:5].T, totals[:, 5]
    )


def _table(cover: Cover, shares: np.ndarray, used: np.ndarray, block: slice) -> np.ndarray:
    """Return the shares that groups of a block give to used values, 0 if they do not admit them."""
    first, last = np.searchsorted(cover.group, (block.start, block.stop))
    group, value = cover.group[first:last] - block.start, cover.value[first:last]
    table = np.zeros((len(used), block.stop - block.start))
    row = np.searchsorted(used, value)
    is_used = np.append(used, -1)[row] == value
    table[row[is_used], group[is_used]] = shares[first:last][is_used]
    return table


def _shared_lengths(rows: np.ndarray) -> np.ndarray:
    """Return how many of its first values each vector shares with the one before (int64).

    The vectors (rows) are different.
    """
    differs = np.ones(rows.shape, dtype=bool)
    differs[1:] = rows[1:] != rows[:-1]
    first: np.ndarray = differs.argmax(axis=1)
    return first


def _next_differing(shared: np.ndarray, columns: int) -> np.ndarray:
    """Return the next vector that differs in its first 0, 1, … values (int64, vectors x levels).

    If no later vector differs, the entry is the number of vectors.
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
    totals: np.ndarray,
) -> None:
    """Add to each row of `totals` the sums over the groups of a block that cover its vector.

    Level n of `admitting` has the groups that admit the first n values of the vector at hand, and
    level n of `product` the products of their shares. If no group admits these values, all vectors
    that begin with them are skipped.

    Args:
        rows: the row of `table` for each value of each vector (vectors x quasi-identifiers).
        shared: how many of its first values each vector shares with the one before.
        after: the result of `_next_differing`.
        table: the share that each group of the block gives to each used value (values x groups).
        facts: the rank and the three weights of each group (groups x 4).
        totals: the sums so far, which are changed (vectors x 6).
    """
    columns, groups = rows.shape[1], table.shape[1]
    admitting = np.empty((columns + 1, groups), np.int32)
    product = np.ones((columns + 1, groups))
    length = np.zeros(columns + 1, np.int64)
    admitting[0] = np.arange(groups)
    length[0] = groups
    row = 0
    while row < len(rows):
        # The levels up to here are still right: the vector before begins with the same values.
        # So they are after a skip: all skipped vectors share as many values with this one.
        level = shared[row]
        while level < columns and length[level] > 0:
            shares, most, to = table[rows[row, level]], length[level], level + 1
            length[to] = _narrow(
                shares, admitting[level, :most], product[level, :most], admitting[to], product[to]
            )
            level = to
        if length[level] > 0:
            _add(admitting[columns, : length[columns]], product[columns], facts, totals[row])
            row += 1
        else:
            row = after[row, level]


def _narrow(
    shares: np.ndarray,
    admitting: np.ndarray,
    product: np.ndarray,
    to_admitting: np.ndarray,
    to_product: np.ndarray,
) -> int:
    """Copy the groups with a share, multiply their products by it, and return their number."""
    number = 0
    for i in range(len(admitting)):
        share = shares[admitting[i]]
        to_admitting[number] = admitting[i]
        to_product[number] = product[i] * share
        number += share > 0
    return number


def _add(covering: np.ndarray, product: np.ndarray, facts: np.ndarray, totals: np.ndarray) -> None:
    """Add up the facts of the groups; of their ranks keep the largest."""
    largest, odds, misses, presences, products = totals[1], 0.0, 0.0, 0.0, 0.0
    for i in range(len(covering)):
        group = covering[i]
        largest = max(largest, facts[group, 0])
        odds += facts[group, 1]
        misses += facts[group, 2]
        presences += facts[group, 3]
        products += product[i]
    totals[0] += len(covering)
    totals[1] = largest
    totals[2] += odds
    totals[3] += misses
    totals[4] += presences
    totals[5] += products


@cache
def _compile_scan() -> Loop:
    return compile_loop(_narrow, _add, _scan)


@dataclass(frozen=True)
class Weighted:
    """The expected number of records of each row's vector, summarized over the rows.

    Attributes:
        above: the share of the rows with more than α.
        median: the median.
        largest: the largest.
    """

    above: Fraction
    median: float
    largest: float


@dataclass(frozen=True)
class Exposure:
    """The shares of the rows whose vector is more present than α, by each reading.

    Attributes:
        alpha: the bound.
        per_group: the share by the presence in any one covering group, decided exactly.
        one_record: the share by all covering groups, if a person has at most one record.
        combined_or: the share by all covering groups, if each has the person or not independently:
            1 - Π (1 - p_j).
        combined_sum: the share by the expected number of records, Σ p_j.
        largest: the largest presence of a row's vector in any one group.
        weighted: the reading of an attacker who fits how frequent values are.
        covering_mean: the number of groups that cover a row's vector, on average.
        covering_most: the largest such number.
    """

    alpha: Fraction
    per_group: Fraction
    one_record: Fraction
    combined_or: Fraction
    combined_sum: Fraction
    largest: Fraction
    weighted: Weighted
    covering_mean: Fraction
    covering_most: int

    def document(self) -> dict[str, Any]:
        """Return the exposure for JSON, to six digits."""
        return {
            "alpha": _digits(self.alpha),
            "rows_above_alpha": {
                "per_group": _digits(self.per_group),
                "one_record": _digits(self.one_record),
                "combined_or": _digits(self.combined_or),
                "combined_sum": _digits(self.combined_sum),
                "weighted_presence": _digits(self.weighted.above),
            },
            "largest_in_a_group": _digits(self.largest),
            "weighted_presence": {
                "median": _digits(self.weighted.median),
                "largest": _digits(self.weighted.largest),
            },
            "covering_groups": {"mean": _digits(self.covering_mean), "most": self.covering_most},
        }


@dataclass(frozen=True)
class Unmeasured:
    """A table too large to measure.

    Attributes:
        alpha: the bound.
        pairs: the number of pairs of a vector and a group that would have to be compared.
    """

    alpha: Fraction
    pairs: int

    def document(self) -> dict[str, Any]:
        """Return both numbers for JSON, and how many pairs are compared at most."""
        return {
            "alpha": _digits(self.alpha),
            "skipped": {"pairs_to_compare": self.pairs, "compared_at_most": _MOST},
        }


def exposure(
    groups: Groups,
    codes: np.ndarray,
    alpha: Fraction,
    quasi_identifiers: Sequence[str] | None = None,
) -> Exposure | Unmeasured | None:
    """Measure how exposed the people of a table are; return None if it has no row.

    Sums that rounding cannot distinguish from α are not above it, unless one group by itself is.
    The limit on comparisons is a number of pairs, so that the same table is always measured or
    never.

    Args:
        groups: the groups that show the people.
        codes: the rows' values, numbered as in the groups' covers (integers, rows x
            quasi-identifiers).
        alpha: the largest presence that is promised.
        quasi_identifiers: the names of the columns of `codes`; None for all that groups show.

    Returns:
        The exposure; `Unmeasured` if too many pairs would have to be compared; None without rows.

    Raises:
        PromiseError: if the values that groups admit are not shown, or outnumber a group's rows.
        InputError: if no group admits a value of a row, or no group covers a row.
    """
    if not len(codes):
        return None
    shown_groups = covering(groups, quasi_identifiers)
    if shown_groups is None or (shown_groups.admitted_counts > shown_groups.sizes).any():
        raise PromiseError("exposure needs groups with at most as many admitted values as rows")
    vectors, rows, covers = _distinct(shown_groups.covers, codes)
    shown_groups = Covering(shown_groups.sizes, covers)
    if (compared := pairs(shown_groups, vectors)) > _MOST:
        return Unmeasured(alpha, compared)
    presences = sorted(shown_groups.presences)
    rank = {presence: number for number, presence in enumerate(presences)}
    ranks = np.array([rank[presence] for presence in shown_groups.presences])[shown_groups.kinds]
    vector_sums = sums(
        shown_groups,
        vectors,
        _shares(shown_groups),
        ranks,
        _weights(shown_groups.rounded_presences()),
    )
    if not vector_sums.covering.all():
        raise InputError(
            f"{int(rows[vector_sums.covering == 0].sum())} rows are not covered by any group"
        )
    return _summary(vector_sums, rows, presences, alpha, len(groups))


def _distinct(
    covers: Sequence[Cover], codes: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, tuple[Cover, ...]]:
    """Return the different vectors in lexicographic order, the rows of each, and sorted covers.

    The covers, and the columns of the vectors, are sorted by the number of groups that admit a
    row's value, on average over the rows: the fewest first.
    """
    columns = list(codes.T)
    admitting = [_admitting(cover, column) for cover, column in zip(covers, columns, strict=True)]
    if unknown := int(np.logical_or.reduce([number == 0 for number in admitting]).sum()):
        raise InputError(f"{unknown} rows have a value that their groups do not admit")
    order = np.argsort([number.mean() for number in admitting], kind="stable").tolist()
    key, _ = pack([columns[i] for i in order], [covers[i].values for i in order])
    _, first, rows = np.unique(key, return_index=True, return_counts=True)
    return [columns[i][first] for i in order], rows, tuple(covers[i] for i in order)


def _admitting(cover: Cover, codes: np.ndarray) -> np.ndarray:
    """Count the groups that admit the value of each row."""
    groups = np.append(np.bincount(cover.value, minlength=cover.values), 0)
    return groups[np.where((codes >= 0) & (codes < cover.values), codes, cover.values)]


def _shares(shown_groups: Covering) -> list[np.ndarray]:
    """Return `shares` for `sums`: their product is a vector's expected rows in a group.

    For the first quasi-identifier these are expected rows of each value, for all others expected
    shares of the group's rows.
    """
    expected = [expected_occurrences(shown_groups.sizes, cover) for cover in shown_groups.covers]
    others = zip(expected[1:], shown_groups.covers[1:], strict=True)
    return [expected[0], *(rows / shown_groups.sizes[cover.group] for rows, cover in others)]


def _weights(p: np.ndarray) -> np.ndarray:
    """Return the numbers that the readings add up (groups x 3), given the presence in each group.

    They are odds, logarithms of misses, and presences. The first two are infinite if the presence
    is certain.
    """
    unsure = np.where(p < 1, p, 0.0)
    odds = np.where(p < 1, unsure / (1 - unsure), np.inf)
    misses = np.where(p < 1, np.log1p(-unsure), -np.inf)
    return np.column_stack([odds, misses, p])


def _summary(
    vector_sums: Sums, rows: np.ndarray, presences: Sequence[Fraction], alpha: Fraction, groups: int
) -> Exposure:
    # a sum over so many groups may exceed α by rounding alone: only more than that is above it
    total, limit = int(rows.sum()), float(alpha) * (1 + (groups + 64) * _UNIT)
    by_one_group = vector_sums.largest >= bisect_right(presences, alpha)
    read = _readings(vector_sums.totals)

    def share_above(presence: np.ndarray) -> Fraction:
        return Fraction(int(rows[by_one_group | (presence > limit)].sum()), total)

    return Exposure(
        alpha=alpha,
        per_group=Fraction(int(rows[by_one_group].sum()), total),
        one_record=share_above(read.one_record),
        combined_or=share_above(read.any_record),
        combined_sum=share_above(read.expected),
        largest=presences[int(vector_sums.largest.max())],
        weighted=_weighted_presence(vector_sums.products, rows, limit),
        covering_mean=Fraction(int((vector_sums.covering * rows).sum()), total),
        covering_most=int(vector_sums.covering.max()),
    )


def _readings(totals: np.ndarray) -> Readings:
    """Return the readings of the sums of `_weights`."""
    odds, misses, p = totals
    sure = np.isinf(odds)
    return of_sums(sure, np.where(sure, 0.0, odds), misses, p)


def _weighted_presence(presence: np.ndarray, rows: np.ndarray, limit: float) -> Weighted:
    order = np.argsort(presence)
    before, total = np.cumsum(rows[order]), int(rows.sum())
    middle = np.searchsorted(before, [(total - 1) // 2, total // 2], side="right")
    return Weighted(
        above=Fraction(int(rows[presence > limit].sum()), total),
        median=float(presence[order[middle]].mean()),
        largest=float(presence.max()),
    )


def _digits(number: Fraction | float) -> float:
    """Return a number to six significant digits: only 0 becomes 0."""
    return float(f"{float(number):.6g}")
