"""Clusters merged until every promise holds, also for adversaries who know sensitive values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from expectations.counting import Coded, count, dense, merge
from expectations.errors import PromiseError
from expectations.groups import Counts, Groups
from expectations.k_anonymity import KAnonymity
from expectations.model import PrivacyModel
from tasks.microdata.table import Microdata, key
from tasks.partitions.merging import Judge, until_kept
from tasks.partitions.stars import constant


def merged_until_kept(
    microdata: Microdata,
    codes: np.ndarray,
    group: np.ndarray,
    stratum: np.ndarray,
    promises: Sequence[PrivacyModel],
) -> np.ndarray:
    """Merge clusters that break a promise with others of their stratum that are like them.

    A promise about some of the quasi-identifiers, or about each value of a sensitive attribute that
    an adversary knows, is kept where it is kept in every cluster: its groups are unions of those.

    Args:
        microdata: the table.
        codes: the quasi-identifiers, rows x columns.
        group: the cluster of each row, 0, 1, ….
        stratum: the stratum of each cluster.
        promises: what must hold.

    Returns:
        The group of each row, 0, 1, ….

    Raises:
        PromiseError: where a promise may break by merging, or breaks in a whole stratum.
    """
    others = [promise for promise in promises if not isinstance(promise, KAnonymity)]
    if not others:
        return group
    for promise in others:
        if not promise.monotone or promise.drawn_from is not None or promise.joins:
            raise PromiseError(f"{promise.name} cannot be kept by merging clusters")
    rank, order = _in_order(codes, group, stratum)
    seen = {c.name: c.coded() for c in microdata.with_roles("sensitive")}
    knowing = [Knowing.of(promise, microdata) for promise in others if _known(promise)]
    seen |= {one.name: one.pairs for one in knowing}
    groups = count(rank[group], max(len(stratum), 1), seen)
    judges: list[Judge] = [*(p for p in others if not _known(p)), *knowing]
    into = until_kept(groups, stratum[order], judges)
    whole = merge(groups, into)
    for judge in judges:
        if judge.failing(whole).any():
            raise PromiseError(f"{judge.name} cannot be kept: a whole stratum breaks it")
    result: np.ndarray = into[rank[group]]
    return result


def _in_order(
    codes: np.ndarray, group: np.ndarray, stratum: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Clusters ordered by stratum and the codes that all their rows share: ranks, and the order.

    Columns that most clusters share come first; what a cluster does not share comes before all.
    """
    same, sizes = constant(codes, group)
    one = np.empty(len(sizes), dtype=np.int64)
    one[group] = np.arange(len(group))
    shared = np.where(same, codes[one], -1)
    columns = np.argsort(same.sum(axis=0), kind="stable")  # lexsort: the last key is the first
    order = np.lexsort((*shared.T[columns], stratum))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank, order


def _known(promise: PrivacyModel) -> tuple[str, ...]:
    return promise.told_apart_by[len(promise.quasi_identifiers or ()) :]


@dataclass(frozen=True, eq=False)
class Knowing:
    """A promise that must hold for every value, in each group, of attributes that are known.

    `pairs` are the known values and the sensitive one of each row, coded together; `known` and
    `value` tell of each pair which they are; `sensitive` is what the promise is about.
    """

    promise: PrivacyModel
    name: str
    pairs: Coded
    known: np.ndarray
    value: np.ndarray
    sensitive: Coded

    @classmethod
    def of(cls, promise: PrivacyModel, microdata: Microdata) -> "Knowing":
        """With the pairs that occur in a table."""
        sensitive = microdata[str(promise.sensitive)].coded()
        known, _ = dense(key([microdata[name] for name in _known(promise)], microdata.rows)[0])
        values = max(sensitive.values, 1)
        distinct, codes = np.unique(known * values + sensitive.codes, return_inverse=True)
        name = f"{promise.name} of {promise.sensitive!r} knowing {', '.join(_known(promise))}"
        return cls(
            promise, name, Coded(codes, len(distinct)), *np.divmod(distinct, values), sensitive
        )

    def failing(self, groups: Groups) -> np.ndarray:
        """Which groups break the promise for some known value."""
        pairs = groups.of(self.name)
        part, parts = dense(pairs.group * (int(self.known.max()) + 1) + self.known[pairs.value])
        sizes = np.bincount(part, pairs.count, parts).astype(np.int64)
        of, value = self.sensitive, self.value[pairs.value]
        counts = Counts(part, value, pairs.count, of.values, of.numbers, of.labels, of.ancestors)
        told = Groups(sizes, {str(self.promise.sensitive): counts})
        of_part = np.empty(parts, dtype=np.int64)
        of_part[part] = pairs.group
        failing = np.zeros(len(groups), dtype=bool)
        failing[of_part[self.promise.failing(told)]] = True
        return failing
