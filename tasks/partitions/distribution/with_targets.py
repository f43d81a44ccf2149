"""Groups with the distributions that p-privacy asks for, if other promises allow them."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.groups import Groups, Subdomains, Target
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import is_ordered
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.partitions.distribution.target_distributions import (
    CountsOfAllRows,
    target_distributions,
)
from sfumato.tasks.partitions.partition import Partition, TargetDistributions


def with_targets(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    group: np.ndarray,
    of_all: CountsOfAllRows | None = None,
) -> Partition:
    """Return groups within strata, each with the distribution that is promised of its stratum.

    Args:
        microdata: the table.
        strata: the columns that identify strata.
        promises: p-privacy of the sensitive attribute, and others that speak of declared
            distributions.
        group: the group of each row (int64, 0, 1, …).
        of_all: how often the attribute's values occur in all rows, if the table is a part of them;
            None if it has all rows.

    Returns:
        The groups; without targets, if each group's own values decide its target, or if p-privacy
        is not promised.

    Raises:
        PromiseError: if a promise speaks of no declared distributions, if the attribute has nulls,
            or if the distributions asked for break another promise.
    """
    promise = _promised_target(promises)
    if promise is None:
        return Partition(group, facts={"groups": int(group.max(initial=-1)) + 1})
    column = microdata[str(promise.sensitive)]
    if column.has_null:
        raise PromiseError(f"p-privacy: {column.name!r} has missing values; use `nulls: drop-row`")
    if promise.of_groups:
        return Partition(group, facts={"groups": int(group.max(initial=-1)) + 1})
    stratum, number = dense(key([microdata[name] for name in strata], microdata.rows)[0])
    weights, of_stratum = target_distributions(promise, microdata, strata, stratum, number, of_all)
    sizes = np.bincount(group)
    of_group = np.empty(len(sizes), dtype=np.int64)
    of_group[group] = stratum
    target = of_stratum[of_group]
    others = [promise for promise in promises if not isinstance(promise, PPrivacy)]
    _require_kept(others, column, sizes, target, weights)
    facts = {"groups": len(sizes), "strata": number, "targets": len(weights)}
    aims = TargetDistributions(column.name, target, tuple(map(chances, weights)))
    return Partition(group, facts=facts, target_distributions=aims)


def with_declared_targets(
    partition: Partition,
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    of_all: CountsOfAllRows | None = None,
) -> Partition:
    """Return groups that another partition made, with the distributions that p-privacy declares.

    Arguments, result and errors are as for `with_targets`.
    """
    declared = with_targets(microdata, strata, promises, partition.group, of_all)
    return replace(partition, target_distributions=declared.target_distributions)


def _promised_target(promises: Sequence[PrivacyModel]) -> PPrivacy | None:
    needed = [promise for promise in promises if isinstance(promise, PPrivacy)]
    if not needed:
        return None
    if len({(promise.sensitive, promise.target, promise.per) for promise in needed}) > 1:
        raise PromiseError("p-privacy is promised with several targets; promise only one of them")
    for promise in promises:
        if "subdomains" not in promise.ways:
            raise PromiseError(
                f"{promise.name} cannot be kept where groups publish distributions; leave it out"
            )
    return needed[0]


def chances(weights: np.ndarray) -> tuple[Fraction, ...]:
    """Return the distribution with these whole-number weights."""
    all_, total = weights.tolist(), sum(weights.tolist())
    chance = {weight: Fraction(weight, total) for weight in set(all_)}  # many values have few
    return tuple(map(chance.__getitem__, all_))


def _require_kept(
    promises: Sequence[PrivacyModel],
    column: Column,
    sizes: np.ndarray,
    target: np.ndarray,
    weights: Sequence[np.ndarray],
) -> None:
    """Refuse distributions that break a promise, before anything is made from them."""
    groups = declared_groups(column, sizes, target, weights)
    for promise in promises:
        if not (verdict := promise.check(groups)).holds:
            limits = ", ".join(
                f"{name} = {plain(limit)}" for name, limit in verdict.required.items()
            )
            raise PromiseError(
                f"{promise.name}: the targets of p-privacy break it in {verdict.failing} of "
                f"{len(groups)} groups ({limits}); promise less, or choose other targets"
            )


def declared_groups(
    column: Column, sizes: np.ndarray, target: np.ndarray, weights: Sequence[np.ndarray]
) -> Groups:
    """Return groups as they are declared, before subdomains are chosen: each shows the root.

    Args:
        column: the sensitive attribute.
        sizes: the rows of each group (int64).
        target: the index of each group's distribution (int64).
        weights: the distributions, as whole-number weights of the column's values.
    """
    every, root = np.arange(len(sizes)), np.zeros(len(sizes), dtype=np.int64)
    targets, ordered = tuple(map(_flat, weights)), is_ordered(column.values.type)
    subdomains = Subdomains(every, root, sizes, target, targets, ordered, column.ancestors)
    return Groups(sizes, {}, subdomains={column.name: subdomains})


def _flat(weights: np.ndarray) -> Target:
    """Return a distribution as a target with nothing between the root and the values."""
    parent = np.append(-1, np.zeros(len(weights), dtype=np.int64))
    return Target(parent, np.append(np.ones(1, dtype=weights.dtype), weights))
