"""Labels of rows while they are being chosen: a node of a hierarchy for each quasi-identifier.

Groups are the rows of one stratum with equal labels. Their labels, rows and sensitive values are
what promises are judged on, so that millions of rows are touched only where they get new labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.expectations.groups.counting import Coded, count, count_people, dense
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Column, Microdata, key


@dataclass(frozen=True, eq=False)
class LabelAxis:
    """A quasi-identifier: its rows' values, and the nodes above them.

    Attributes:
        name: its name.
        codes: the value of each row (integers, one per row).
        levels: the node above each value at each level (int64, levels x values).
    """

    name: str
    codes: np.ndarray
    levels: np.ndarray

    @classmethod
    def from_column(cls, column: Column) -> "LabelAxis":
        """Return the axis of a column."""
        return cls(column.name, column.category()[0], column.levels())

    @property
    def top(self) -> int:
        """The level of the root."""
        return len(self.levels) - 1

    def label(self, level: np.ndarray | int, values: np.ndarray) -> np.ndarray:
        """Return a number for the node of each of some values at its level (int64).

        Nodes of different levels have different numbers.
        """
        return np.asarray(level * self.levels.shape[1] + self.levels[level, values])


@dataclass(frozen=True, eq=False)
class RowsWithLabels:
    """Rows in groups of equal labels, within strata.

    Attributes:
        group: the group of each row (int64, one per row).
        stratum: the stratum of each group (int64, one per group).
        labels: by quasi-identifier the number of each group's label (int64, one per group).
        sensitive: the sensitive attributes that promises are about, each row's value coded.
        person: the person of each row, None if everyone has one row.
    """

    group: np.ndarray
    stratum: np.ndarray
    labels: Mapping[str, np.ndarray]
    sensitive: Mapping[str, Coded]
    person: np.ndarray | None

    @classmethod
    def hide_all(
        cls,
        microdata: Microdata,
        axes: Sequence[LabelAxis],
        strata: Sequence[str],
        promises: Sequence[PrivacyModel],
    ) -> "RowsWithLabels":
        """Return all rows of each stratum in one group, whose labels are the roots.

        A stratum that is a quasi-identifier is shown as it is.
        """
        group, groups = dense(key([microdata[name] for name in strata], microdata.rows)[0])
        roots = {axis.name: np.full(groups, axis.label(axis.top, _ANY)[0]) for axis in axes}
        named = sorted({p.sensitive for p in promises if p.sensitive and p.counts_values()})
        coded = {name: microdata[name].counted_codes() for name in named}
        state = cls(group, np.arange(groups), roots, coded, microdata.person)
        every = np.arange(microdata.rows)
        for axis in axes:
            if axis.name in strata:
                state = state.with_label(every, axis.name, axis.label(0, axis.codes))
        return state

    @property
    def groups(self) -> Groups:
        """The groups with their labels, sensitive values, and people if they have several rows."""
        return self._count_groups(self.group, len(self.stratum), slice(None), self.labels)

    def rows_showing(self, name: str, label: int) -> np.ndarray:
        """Return the rows whose group shows a label (positions, ascending)."""
        return np.flatnonzero((self.labels[name] == label)[self.group])

    def relabel(self, rows: np.ndarray, name: str, label: np.ndarray) -> Groups:
        """Return the groups of some rows once they have other labels of one quasi-identifier.

        Args:
            rows: all rows of some groups (positions, ascending).
            name: the quasi-identifier.
            label: the number of each of these rows' new label (int64).
        """
        group, groups, before = self._split(rows, label)
        labels = {other: numbers[before] for other, numbers in self.labels.items()}
        labels[name][group] = label
        return self._count_groups(group, groups, rows, labels)

    def with_label(self, rows: np.ndarray, name: str, label: np.ndarray) -> "RowsWithLabels":
        """Return the same rows, some with other labels; arguments are as for `relabel`.

        Groups that have none of these rows keep their labels.
        """
        moved, groups, before = self._split(rows, label)
        stays = np.ones(len(self.stratum), dtype=bool)
        stays[before] = False
        renumbered = np.cumsum(stays) - 1 + groups
        group = renumbered[self.group]
        group[rows] = moved
        before = np.concatenate([before, np.flatnonzero(stays)])
        labels = {other: numbers[before] for other, numbers in self.labels.items()}
        labels[name][moved] = label
        return replace(self, group=group, stratum=self.stratum[before], labels=labels)

    def _split(self, rows: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
        """Divide the groups of some rows by new labels.

        Returns:
            The new group of each of these rows (int64), the number of new groups, and the group
            that each of them was part of (int64, one per new group).
        """
        numbered, labels = dense(label)
        keys, groups = dense(self.group[rows] * labels + numbered)
        before = np.empty(groups, dtype=np.int64)
        before[keys] = self.group[rows]
        return keys, groups, before

    def _count_groups(
        self,
        group: np.ndarray,
        groups: int,
        rows: np.ndarray | slice,
        labels: Mapping[str, np.ndarray],
    ) -> Groups:
        coded = {n: c._replace(codes=c.codes[rows]) for n, c in self.sensitive.items()}
        labelled = replace(count(group, groups, coded), labels=labels)
        if self.person is None:
            return labelled
        people = count_people(group, self.person[rows], labelled, {})
        return replace(labelled, people=people)


_ANY = np.zeros(1, dtype=np.int64)  # a value of a column


def require_kept(promises: Sequence[PrivacyModel], hidden: Groups, method: str) -> None:
    """Make sure that promises are kept with everything hidden that a partition may hide.

    Raises:
        PromiseError: if one is broken.
    """
    for promise in promises:
        if promise.failing(hidden).any():
            raise PromiseError(
                f"{promise.name} cannot be kept by {method}: it is broken even with all "
                "quasi-identifiers hidden. Promise less, or leave strata out"
            )
