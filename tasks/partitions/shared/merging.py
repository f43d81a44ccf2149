"""Neighbouring groups merged until every promise holds.

It serves promises that a partition does not aim at. Merging cannot break a monotone promise, so
merging ends at the latest when each stratum is one group; strata were checked before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sfumato.expectations.groups.counting import count, count_people, merge
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.shared.judging import WithKnownValues


class GroupJudge(Protocol):
    """A judge of groups: a promise, or a promise against attackers who know some values."""

    @property
    def name(self) -> str:
        """Its name in errors."""
        ...

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that must be merged (bool, one per group)."""
        ...


def merge_until_kept(
    groups: Groups, stratum: np.ndarray, promises: Sequence[GroupJudge]
) -> np.ndarray:
    """Merge groups that break a promise with the next of their stratum, as often as it takes.

    Args:
        groups: the groups in an order in which neighbours are alike.
        stratum: the stratum of each group (int64), ascending; strata are not merged.
        promises: what must hold, monotone under merging.

    Returns:
        The group that each becomes part of (int64, one per group), 0, 1, … in the same order.
        A stratum that is one group and still breaks a promise stays as it is.
    """
    into = np.arange(len(groups))
    while True:
        failing = np.zeros(len(groups), dtype=bool)
        for promise in promises:
            failing |= promise.failing(groups)
        joined = _with_next(failing, stratum)
        if not joined.any():
            return into
        step = np.cumsum(~np.concatenate(([False], joined[:-1]))) - 1
        groups, into = merge(groups, step), step[into]
        stratum = stratum[np.flatnonzero(np.diff(step, prepend=-1))]


def _with_next(failing: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """Choose groups to join with the next: every other one in a run of failing groups (bool).

    The last group of a stratum has none after it, and is joined with the one before.
    """
    if not len(failing):
        return failing
    has_next = np.append(stratum[1:] == stratum[:-1], False)
    begins = failing & ~np.concatenate(([False], failing[:-1] & has_next[:-1]))
    run = np.maximum.accumulate(np.where(begins, np.arange(len(failing)), 0))
    chosen = failing & ((np.arange(len(failing)) - run) % 2 == 0)
    joined: np.ndarray = chosen & has_next
    last = np.flatnonzero(chosen & ~has_next)
    before = last[(last > 0) & has_next[last - 1]] - 1
    joined[before] = True
    return joined


@dataclass(frozen=True)
class _OverPeople:
    """A promise that groups keep over people, too."""

    promise: PrivacyModel

    @property
    def name(self) -> str:
        """Its name in errors."""
        return f"{self.promise.name} over people"

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that break it over people (bool, one per group)."""
        if groups.people is None:
            raise Fault("the people of the rows are missing")
        return self.promise.failing_over_people(groups.people)


def merge_in_order(
    microdata: Microdata,
    group: np.ndarray,
    stratum: np.ndarray,
    promises: Sequence[PrivacyModel],
) -> np.ndarray:
    """Merge groups that break a promise with the next of their stratum, until all are kept.

    A promise about some of the quasi-identifiers, or about each value of a sensitive attribute that
    an adversary knows, is kept where every group keeps it: an adversary separates only unions of
    groups.

    Args:
        microdata: the table.
        group: the group of each row (int64), 0, 1, …; neighbours are alike.
        stratum: the stratum of each group (int64), ascending.
        promises: what must hold.

    Returns:
        The group of each row (int64), 0, 1, ….

    Raises:
        PromiseError: if a promise may break by merging, is judged on more than the groups'
            sensitive values, or breaks in a whole stratum.
    """
    for promise in promises:
        if not promise.monotone or promise.reference_uri is not None or promise.needs_covers:
            raise PromiseError(
                f"{promise.name} cannot be kept by merging groups; leave it out, or use another "
                "partition"
            )
    knowing = [
        WithKnownValues.from_microdata(promise, microdata)
        for promise in promises
        if promise.known_columns
    ]
    counted = [column.name for column in microdata.with_roles("sensitive")]
    counted += [str(promise.sensitive) for promise in promises if promise.weighs]
    seen = {name: microdata[name].counted_codes() for name in dict.fromkeys(counted)}
    seen |= {judge.name: judge.pairs for judge in knowing}
    groups = count(group, max(len(stratum), 1), seen)
    judges: list[GroupJudge] = [*(p for p in promises if not p.known_columns), *knowing]
    if microdata.person is not None:
        codes = {name: coded.codes for name, coded in seen.items()}
        people = count_people(group, microdata.person, groups, codes)
        groups = replace(groups, people=people)
        judges += [_OverPeople(promise) for promise in promises]
    into = merge_until_kept(groups, stratum, judges)
    # only a stratum that is one group can still break a promise
    whole = merge(groups, into)
    for judge in judges:
        if judge.failing(whole).any():
            raise PromiseError(
                f"{judge.name} cannot be kept: a stratum breaks it even as one group. "
                "Promise less, or use fewer strata"
            )
    merged: np.ndarray = into[group]
    return merged
