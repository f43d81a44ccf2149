"""Partitions by clusters of rows that differ in few cells, and the stars that make rows equal."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import plain
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.arrays.ranks import places_in
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.cell_suppression.local_search import improve
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.merging import merge_in_order

_WORTH_COMPILING = 200  # rows of the table


def constant(codes: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns on which each cluster is constant, and the number of its rows.

    Args:
        codes: integers, rows x columns.
        cluster: the cluster of each row (int64), 0, 1, … without gaps.

    Returns:
        bool, clusters x columns; int64, one per cluster.
    """
    sizes = np.bincount(cluster)
    starts = np.cumsum(sizes) - sizes
    ordered = codes[stable_order(cluster)]
    least, most = np.minimum.reduceat(ordered, starts), np.maximum.reduceat(ordered, starts)
    return least == most, sizes


def stars(codes: np.ndarray, cluster: np.ndarray) -> int:
    """Return the number of suppressed cells.

    A row's cell is suppressed if its column is not constant on the row's cluster.
    """
    if not len(codes):
        return 0
    same, sizes = constant(codes, cluster)
    return int(((~same).sum(axis=1) * sizes).sum())


@dataclass(frozen=True, eq=False)
class Clustering:
    """Clusters of k rows or more, and a lower bound on the cost of any others.

    `cluster` is the cluster of each row, 0, 1, … (int64, one per row); `near` are rows near each
    row (int64 positions, rows x any number); no solution suppresses less than `bound`; `facts` are
    further results.
    """

    cluster: np.ndarray
    near: np.ndarray
    bound: int
    facts: Mapping[str, int]


Method = Callable[[np.ndarray, int, bool], Clustering]
"""Clusters rows, given codes (integers, rows x columns), k, and whether it pays to compile."""


def cluster(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    k: int,
    method: Method,
) -> Partition:
    """Cluster each stratum, improve the clusters, and merge those that break another promise.

    Raises:
        PromiseError: if a stratum has fewer than k rows, or a promise cannot be kept by merging.
    """
    columns = [column.category()[0] for column in microdata.with_roles("quasi-identifier")]
    codes = np.stack(columns, axis=1)
    group = np.full(microdata.rows, -1, dtype=np.int64)
    stratum, totals = list[int](), Counter[str]()
    for number, rows in enumerate(by_stratum(microdata, strata)):
        if len(rows) < k:
            raise PromiseError(
                f"{k}-anonymity cannot be kept, because a stratum has only {len(rows)} rows; "
                "use a smaller k or fewer strata"
            )
        large = microdata.rows >= _WORTH_COMPILING
        of_stratum = codes[rows]
        made = method(of_stratum, k, large)
        cluster = improve(of_stratum, made.cluster, made.near, k, large)
        group[rows] = len(stratum) + cluster
        stratum += [number] * (int(cluster.max()) + 1)
        totals.update(made.facts)
        totals["stars_before_local_search"] += stars(of_stratum, made.cluster)
        totals["stars_before_merging"] += stars(of_stratum, cluster)
        totals["lower_bound"] += made.bound
    merged = _merge_broken(microdata, codes, group, np.array(stratum, dtype=np.int64), promises)
    return Partition(merged, facts=_facts(k, codes, merged, len(stratum), totals))


def _merge_broken(
    microdata: Microdata,
    codes: np.ndarray,
    group: np.ndarray,
    stratum: np.ndarray,
    promises: Sequence[PrivacyModel],
) -> np.ndarray:
    """Return the group of each row (int64), with clusters that break a promise merged."""
    # clusters have k rows, so k-anonymity can break only over people who have several rows
    by_people = microdata.person is not None
    others = [p for p in promises if by_people or not isinstance(p, KAnonymity)]
    if not others:
        return group
    rank, order = _in_order(codes, group, stratum)
    return merge_in_order(microdata, rank[group], stratum[order], others)


def _in_order(
    codes: np.ndarray, group: np.ndarray, stratum: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each cluster, and the clusters in that order (both int64).

    Clusters are sorted by stratum, then by the codes that all their rows share, so that neighbours
    are alike. The column that is constant on most clusters decides first. A column that is not
    constant on a cluster counts there as a code before all others.
    """
    same, sizes = constant(codes, group)
    sample_row = np.empty(len(sizes), dtype=np.int64)
    sample_row[group] = np.arange(len(group))
    shared = np.where(same, codes[sample_row], -1)
    columns = np.argsort(same.sum(axis=0), kind="stable")  # lexsort: the last key is the first
    order = np.lexsort((*shared.T[columns], stratum))
    rank = places_in(order)
    return rank, order


def _facts(
    k: int, codes: np.ndarray, group: np.ndarray, clusters: int, totals: Mapping[str, int]
) -> dict[str, Any]:
    """Return the results reached; the ratio is proven only for k-anonymity, before any merging."""
    groups, bound = int(group.max(initial=-1)) + 1, totals.get("lower_bound", 0)
    reached = totals.get("stars_before_merging", 0)
    return {
        "k": k,
        "stars": stars(codes, group),
        **totals,
        "proven_ratio": str(plain(Fraction(reached, bound))) if bound else "1",
        "groups": groups,
        "merged_for_other_promises": clusters - groups,
    }
