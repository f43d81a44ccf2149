"""Random counting queries by which groups are judged before they are published, privately.

A query asks how many rows have some quasi-identifiers in ranges of about 40 % of their domains, and
one sensitive value. Sources: Wang, Ambiguity: hide the presence of individuals and their privacy
with low information loss; Xiao, Tao, Anatomy (VLDB 2006), whose queries have this shape.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.partitions.disjoint_cover.table import Table

RANGES = 3
_WIDTH = 0.4  # of a range, as a share of the domain
_TRIES = 3  # queries drawn for each that is kept, at most
_LEAST = 50  # rows that a query counts, at least
_SHARE = 600  # or one in this many of all rows, where that is less


class CoverQueries(NamedTuple):
    """Queries ordered by sensitive value: those of the v-th are from `starts[v]` on.

    `low` and `high` (exclusive) are numbers of values, `attributes` the attribute of each range
    (all int64, queries x ranges); `truth` is the count (float64).
    """

    attributes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    starts: np.ndarray
    truth: np.ndarray

    def errors(self, estimates: np.ndarray) -> np.ndarray:
        """Return the relative error of each estimate (float64, one per query)."""
        relative: np.ndarray = np.abs(estimates - self.truth) / self.truth
        return relative


def uniform(randomness: Randomness, n: int) -> np.ndarray:
    """Return n uniform random numbers in [0, 1) (float64)."""
    numbers: np.ndarray = (randomness(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return numbers


def queries(table: Table, randomness: Randomness, fast: bool, many: int) -> CoverQueries:
    """Return at most `many` random queries that count enough rows."""
    domains = np.diff(table.begins)
    tries, columns = many * _TRIES, len(domains) - 1
    ranges = min(RANGES, columns)
    uniforms = uniform(randomness, tries * (columns + ranges + 1)).reshape(tries, -1)
    attributes = np.argsort(uniforms[:, :columns], axis=1, kind="stable")[:, :ranges]
    width = np.maximum(np.rint(domains[attributes] * _WIDTH), 1).astype(np.int64)
    choices = domains[attributes] - width + 1
    low = table.begins[attributes] + (uniforms[:, columns:-1] * choices).astype(np.int64)
    value = (uniforms[:, -1] * domains[-1]).astype(np.int64)
    truth = counts(table, attributes, low, low + width, value, fast)
    least = max(min(_LEAST, int(table.rows.sum()) // _SHARE), 1)
    chosen = np.flatnonzero(truth >= least)[:many]
    chosen = chosen[np.argsort(value[chosen], kind="stable")]
    starts = np.searchsorted(value[chosen], np.arange(domains[-1] + 1))
    low, width = low[chosen], width[chosen]
    return CoverQueries(
        attributes[chosen], low, low + width, starts, truth[chosen].astype(np.float64)
    )


def counts(
    table: Table,
    attributes: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    value: np.ndarray,
    fast: bool,
) -> np.ndarray:
    """Return the number of rows in the ranges of each query that have its sensitive value.

    Args:
        table: the vectors.
        attributes: the attribute of each range (int64, queries x ranges).
        low: the first value of each range (int64, queries x ranges).
        high: the end of each range, exclusive (int64, queries x ranges).
        value: the sensitive value of each query, from 0 (int64).
        fast: whether to run compiled.

    Returns:
        int64, one per query.
    """
    order = np.argsort(table.codes[:, -1], kind="stable")
    codes, rows = table.codes[order], table.rows[order]
    starts = np.searchsorted(codes[:, -1], np.arange(table.begins[-2], table.begins[-1] + 1))
    totals = np.zeros(len(low), dtype=np.int64)
    choose_loop(fast, _count, _compiled_loop)(
        codes, rows, starts[value], starts[value + 1], attributes, low, high, totals
    )
    return totals


def _count(
    codes: Any, rows: Any, first: Any, last: Any, attributes: Any, low: Any, high: Any, totals: Any
) -> None:
    """Add up the rows that each query counts, among the vectors that have its sensitive value.

    `first` and `last` (exclusive) are where these vectors are in `codes`.
    """
    ranges = low.shape[1]
    for query in range(len(low)):
        for place in range(first[query], last[query]):
            i = 0
            while i < ranges:
                value = codes[place, attributes[query, i]]
                if value < low[query, i] or value >= high[query, i]:
                    break
                i += 1
            if i == ranges:
                totals[query] += rows[place]


@cache
def _compiled_loop() -> Loop:
    return compile_loop(_count)
