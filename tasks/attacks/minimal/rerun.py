"""A partition that is run again on other values of the same people."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.tasks.attacks.minimal.worlds import WeighedGroup
from sfumato.tasks.microdata.table import Microdata, Randomness, encode, key
from sfumato.tasks.partitions.partition import Partition, with_strata
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Declared

Hashables = tuple[Hashable, ...]
_ROW = "\0row"  # a column of row numbers: no other column has this name
_KNOWN = 1_000  # most partitions whose labels are remembered


class NotRetracedError(Exception):
    """The worlds of a release are not enumerated, for a reason given in words."""


OTHERWISE = "the partition could not be run again with these groups as its result"


@dataclass(frozen=True, eq=False)
class Rerun:
    """A release whose partition is run again.

    Attributes:
        declared: the release's declaration.
        people: the people whom it represents.
        sensitive: the column that is attacked.
    """

    declared: Declared
    people: Microdata
    sensitive: str

    @cached_property
    def _labels(self) -> dict[Hashables, Hashables]:
        """The labels of all people, by partition."""
        return {}

    @cached_property
    def codes(self) -> np.ndarray:
        """The sensitive value of each person (int64)."""
        return self.people[self.sensitive].codes.astype(np.int64)

    @cached_property
    def vectors(self) -> np.ndarray:
        """The quasi-identifiers of each person, as numbers (int64)."""
        names = self.declared.names_with_roles("quasi-identifier")
        return key([self.people[name] for name in names], self.people.rows)[0]

    def appearances(self, partition: Partition) -> Hashables | None:
        """Return the appearance of each person, equal for people who look alike.

        Returns None if a person is not shown. An appearance is labels, or in other forms the number
        of a group.
        """
        if (partition.group < 0).any():
            return None
        groups = _number_rows(partition.group.tolist())
        if self.declared.form.shows != "labels":
            return tuple(groups.tolist())
        levels = (
            (name, nodes[partition.group].tobytes()) for name, nodes in partition.recoding.items()
        )
        cache_key = (groups.tobytes(), *sorted(levels))
        if cache_key not in self._labels:
            if len(self._labels) == _KNOWN:
                self._labels.clear()
            self._labels[cache_key] = self._labels_of(partition)
        return self._labels[cache_key]

    def has_groups(self, partition: Partition, group: np.ndarray) -> bool:
        """Decide whether the people who look alike are those of a group (int64, one per person)."""
        appearances = self.appearances(partition)
        return appearances is not None and bool(
            (_number_rows(appearances) == _number_rows(group.tolist())).all()
        )

    def _labels_of(self, partition: Partition) -> Hashables:
        """Return the labels of each person, in the order of the people."""
        quasi_identifiers = self.people.with_roles("quasi-identifier")
        rows = encode(_ROW, "insensitive", pa.array(np.arange(self.people.rows)))
        form = form_of(self.declared)
        tables = form.publish(
            self.people.keep((*quasi_identifiers, rows)), partition, self.declared.form, _no_chance
        )
        (table,) = tables.values()
        ordered = table.sort_by(_ROW).select([column.name for column in quasi_identifiers])
        return tuple(zip(*(column.to_pylist() for column in ordered.columns), strict=True))

    def partition(self, codes: np.ndarray, randomness: Randomness) -> Partition | None:
        """Return the partition of the world with these values; None if promises break."""
        declared, people = self.declared, self._people_with(codes)
        promises = declared.form.grouped_by(declared.promises, declared.partition)
        try:
            return PARTITIONS[declared.partition.method](
                *with_strata(people, declared.strata), promises, declared.partition, randomness
            )
        except PromiseError:
            return None

    def _people_with(self, codes: np.ndarray) -> Microdata:
        columns = (
            replace(column, codes=codes.astype(column.codes.dtype))
            if column.name == self.sensitive
            else column
            for column in self.people.columns
        )
        return self.people.keep(columns)


def _no_chance(_: int) -> np.ndarray:
    """Refuse to draw: forms of labels need no randomness."""
    raise Fault("labels are drawn by chance")


def _number_rows(rows: Hashables) -> np.ndarray:
    """Number the rows' values in order of first occurrence (int64, one per row)."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RerunBeliefs:
    """Beliefs of an attacker who ran a partition again.

    Attributes:
        groups: the people, by group; by stratum if people's groups are unknown.
        method: the sample of worlds, in words; empty if all worlds were listed.
        are_known: whether everyone's group is known.
    """

    groups: Sequence[WeighedGroup]
    method: str = ""
    are_known: bool = True

    def hits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the shares of people guessed and believed (float64, two each).

        They are three times two shares: the estimate, the lower limits and the upper limits.
        """
        people = sum(int(group.own.sum()) for group in self.groups)
        counts = [
            (group.hits_by_group(), group.hits_at_least(), group.hits_at_most())
            for group in self.groups
        ]
        estimate, least, most = np.sum(counts, axis=0) / people
        return estimate, least, most
