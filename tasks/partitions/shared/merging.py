"""Neighbouring groups merged until every promise holds.

For promises that a partition does not aim at: merging cannot break a monotone promise, so that
merging ends at the latest where each stratum is one group, and those were verified before.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sfumato.expectations.groups.counting import merge
from sfumato.expectations.groups.groups import Groups


class GroupJudge(Protocol):
    """A judge of which groups must be merged: a promise, or one against those who know more."""

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
    """Choose groups to join with the next: of a run of failing ones every other (bool).

    The last of a stratum has none after it, and is joined with the one before.
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
