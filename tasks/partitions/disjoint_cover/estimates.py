"""Readers' estimates of queries, from groups that show which values they admit.

In a group of g rows, c of which have the sensitive value, the estimate is c times a product: over
the ranges, the expected share of rows with a value in the range. `expectations.measures.readings`
defines it for published groups; this module repeats it for groups that are not published yet.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.measures.occurrences import ROUNDS
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.disjoint_cover.queries import CoverQueries
from sfumato.tasks.partitions.disjoint_cover.table import TALLY, Table, tally


class Desk(NamedTuple):
    """Room to work in: arrays over values, attributes, and values that groups admit.

    `owner` is the attribute of each value. `total`, `values` and `firsts` describe one group, as
    they describe a part in `Room`. `admitted` and `mass` are the number and the weight of its
    values, by attribute. `sizes` are the rows of the groups. `covered` (int32) lists the
    quasi-identifiers' values that groups have, those of group j from `starts[j]` on. `shares`
    (float64) are the cumulated expected shares of an attribute's values, with a 0 before each
    attribute's. `following` (float64) are the weights of the next round. `mass` is float64, all
    other arrays are int64.
    """

    owner: np.ndarray
    total: np.ndarray
    shares: np.ndarray
    following: np.ndarray
    admitted: np.ndarray
    mass: np.ndarray
    values: np.ndarray
    firsts: np.ndarray
    covered: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray


def desk_for(table: Table) -> Desk:
    """Return room for groups of a table."""
    values, (vectors, width) = int(table.begins[-1]), table.codes.shape
    return Desk(
        np.repeat(np.arange(width), np.diff(table.begins)),
        np.zeros(values, dtype=np.int64),
        np.zeros(values + width),
        np.zeros(values),
        np.zeros(width, dtype=np.int64),
        np.zeros(width),
        np.zeros(values, dtype=np.int64),
        np.zeros(width + 1, dtype=np.int64),
        np.zeros(vectors * width, dtype=np.int32),
        np.zeros(vectors + 1, dtype=np.int64),
        np.zeros(vectors, dtype=np.int64),
    )


def fit(
    table: Table, order: np.ndarray, leaves: np.ndarray, desk: Desk, fast: bool = True
) -> np.ndarray:
    """Return the weight with which readers expect each value to occur (float64, one per value).

    Args:
        table: the vectors.
        order: vectors such that each group's are adjacent (int64).
        leaves: the groups' first and last position (exclusive) there (int64, groups x 2).
        desk: room for the table.
        fast: whether to run compiled.
    """
    weights = np.zeros(int(table.begins[-1]))
    choose_loop(fast, _fit, _compiled_fit)(table, order, leaves, weights, ROUNDS - 1, desk)
    return weights


def estimate(
    table: Table,
    queries: CoverQueries,
    order: np.ndarray,
    leaves: np.ndarray,
    weights: np.ndarray,
    desk: Desk,
    fast: bool = True,
) -> np.ndarray:
    """Return the contribution of some groups to the estimate of each query (float64).

    Args:
        table: the vectors.
        queries: the queries.
        order: vectors such that each group's are adjacent (int64).
        leaves: the groups' first and last position (exclusive) there (int64, groups x 2).
        weights: the weights of all values (float64, one per value), see `fit`.
        desk: room for the table.
        fast: whether to run compiled.
    """
    totals = np.zeros(len(queries.truth))
    add = choose_loop(fast, _estimate, _compiled_estimate)
    add(table, queries, order, leaves, weights, totals, desk)
    return totals


def _weigh(values: Any, weights: Any, desk: Any) -> None:
    """Note the number of admitted values of each attribute, and the sum of their weights."""
    desk.admitted[:] = 0
    desk.mass[:] = 0.0
    for value in values:
        desk.admitted[desk.owner[value]] += 1
        desk.mass[desk.owner[value]] += weights[value]


def _cover(table: Any, order: Any, leaves: Any, desk: Any) -> None:
    """List the values of quasi-identifiers that the groups admit."""
    filled = 0
    for j in range(len(leaves)):
        desk.starts[j] = filled
        desk.sizes[j] = tally(table, order[leaves[j, 0] : leaves[j, 1]], desk)
        for value in desk.values[: desk.firsts[-2]]:
            desk.covered[filled] = value
            filled += 1
    desk.starts[len(leaves)] = filled


def _fit(table: Any, order: Any, leaves: Any, weights: Any, rounds: int, desk: Any) -> None:
    """Write the weights, as `expectations.measures.readings.occurrences` fits them."""
    _cover(table, order, leaves, desk)
    rows = desk.sizes[: len(leaves)].sum()
    for value in desk.covered[: desk.starts[len(leaves)]]:
        weights[value] += 1.0
    for _ in range(rounds):
        desk.following[:] = 0.0
        for j in range(len(leaves)):
            values = desk.covered[desk.starts[j] : desk.starts[j + 1]]
            _weigh(values, weights, desk)
            for value in values:
                a = desk.owner[value]
                share = weights[value] / desk.mass[a]
                desk.following[value] += 1.0 + (desk.sizes[j] - desk.admitted[a]) * share
        for value in range(table.begins[-2]):
            weights[value] = desk.following[value] / rows


def _share(table: Any, rows: int, weights: Any, desk: Any) -> None:
    """Add up the expected shares of the values that were counted."""
    _weigh(desk.values[: desk.firsts[-2]], weights, desk)
    for a in range(len(table.begins) - 2):
        spare = (rows - desk.admitted[a]) / desk.mass[a]
        # `shares` has one entry more than values for each attribute, so that a's are shifted by a
        sum_, place = 0.0, table.begins[a] + a
        for value in desk.values[desk.firsts[a] : desk.firsts[a + 1]]:
            desk.shares[place : value + a + 1] = sum_
            sum_ += (1.0 + spare * weights[value]) / rows
            place = value + a + 1
        desk.shares[place : table.begins[a + 1] + a + 1] = sum_


def _estimate(
    table: Any, queries: Any, order: Any, leaves: Any, weights: Any, estimates: Any, desk: Any
) -> None:
    """Add the contribution of each group to the estimates of the queries; see `estimate`."""
    for j in range(len(leaves)):
        rows = tally(table, order[leaves[j, 0] : leaves[j, 1]], desk)
        _share(table, rows, weights, desk)
        for v in range(len(queries.starts) - 1):
            count = desk.total[table.begins[-2] + v]
            if count > 0:
                for query in range(queries.starts[v], queries.starts[v + 1]):
                    estimates[query] += count * _part(queries, query, desk)


def _part(queries: Any, query: int, desk: Any) -> float:
    """Return the expected share of a group's rows that are in all ranges of a query."""
    part = 1.0
    for i in range(queries.low.shape[1]):
        a = queries.attributes[query, i]
        part *= desk.shares[queries.high[query, i] + a] - desk.shares[queries.low[query, i] + a]
    return part


@cache
def _compiled_fit() -> Loop:
    return compile_loop(*TALLY, _weigh, _cover, _fit)


@cache
def _compiled_estimate() -> Loop:
    return compile_loop(*TALLY, _weigh, _share, _part, _estimate)
