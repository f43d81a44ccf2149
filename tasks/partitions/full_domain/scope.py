"""A promise as a lattice judges it: on the columns of collapsed rows that it is about."""

from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import Coded, count_people
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.partitions.full_domain.rows import LatticeRows, number_keys, tally


class Scope(NamedTuple):
    """A promise and its subject, as columns of `LatticeRows`.

    Its groups are the rows that are equal on the axes `axes` (ascending), generalized, and on the
    columns `fixed`; `sensitive` is the column of the attribute that `coded` describes, where it
    needs one, and `person` says whose rows are, where it is kept over people, too.
    """

    promise: PrivacyModel
    axes: tuple[int, ...]
    fixed: tuple[int, ...]
    sensitive: int | None = None
    coded: Coded | None = None
    person: int | None = None

    @property
    def monotone(self) -> bool:
        """True where merging groups that keep the promise cannot break it, over people either."""
        over_people = self.person is None or self.promise.merges_over_people
        return self.promise.monotone and over_people

    def failing(self, rows: LatticeRows) -> np.ndarray:
        """Mark the rows in groups that break the promise (bool, one per row)."""
        group, groups = self.seen(rows)
        failing = self.promise.failing(groups)
        if self.person is not None:
            values = {} if self.sensitive is None else {self._name: rows.codes[self.sensitive]}
            whose = rows.codes[self.person]
            people = count_people(group, whose, groups, values, rows.counts)
            failing = failing | self.promise.failing_over_people(people)
        return np.asarray(failing[group])

    @property
    def _name(self) -> str:
        return self.promise.sensitive or ""

    def seen(self, rows: LatticeRows) -> tuple[np.ndarray, Groups]:
        """The group of each row (int64, one per row), and the groups."""
        group, first = number_keys(*rows.key([*self.axes, *self.fixed]))
        sizes = np.bincount(group, rows.counts, len(first)).astype(np.int64)
        if self.sensitive is None or self.coded is None:
            return group, Groups(sizes, {})
        values = max(self.coded.values, 1)
        pairs, counts = tally(
            group * values + rows.codes[self.sensitive], len(first) * values, rows.counts
        )
        return group, self.groups(sizes, *np.divmod(pairs, values), counts)

    def groups(
        self, sizes: np.ndarray, group: np.ndarray, value: np.ndarray, count: np.ndarray
    ) -> Groups:
        """Groups of these sizes (int64), with counts of the sensitive attribute, if any.

        `group`, `value` and `count` are parallel, as in `Counts`.
        """
        if self.coded is None:
            return Groups(sizes, {})
        _, values, numbers, labels, ancestors = self.coded
        counts = Counts(group, value, count, values, numbers, labels, ancestors)
        return Groups(sizes, {self._name: counts})
