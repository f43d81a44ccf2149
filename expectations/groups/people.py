"""People in groups: how many rows each has in each group, and with which values.

Promises over people who have several rows are judged on these (see `measures.of_people`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.sorting import starts


@dataclass(frozen=True, eq=False)
class HeldValues:
    """The values of one attribute that people have in groups, sparse.

    `group`, `person`, `value` and `rows` (int64) are parallel, sorted in this order, each of the
    first three together once. `like` has counts of the same attribute: how its values are numbered,
    and what they are.
    """

    group: np.ndarray
    person: np.ndarray
    value: np.ndarray
    rows: np.ndarray
    like: Counts

    def counts(self, group: np.ndarray, value: np.ndarray, count: np.ndarray) -> Counts:
        """Counts of that attribute, with arguments as in `Counts`."""
        return replace(self.like, group=group, value=value, count=count)


@dataclass(frozen=True, eq=False)
class People:
    """The rows of each person in each group, sparse, and their values of some attributes.

    `group`, `person` and `rows` (int64) are parallel, sorted in this order, each pair once; there
    are `groups` groups, each with somebody in it.
    """

    group: np.ndarray
    person: np.ndarray
    rows: np.ndarray
    groups: int
    held: Mapping[str, HeldValues]

    @property
    def sizes(self) -> np.ndarray:
        """The people of each group (int64, one per group)."""
        return np.bincount(self.group, minlength=self.groups)

    @property
    def most_rows(self) -> np.ndarray:
        """The rows of the person who has the most in each group (int64, one per group)."""
        return np.maximum.reduceat(self.rows, starts(self.group)) if self.groups else self.rows
