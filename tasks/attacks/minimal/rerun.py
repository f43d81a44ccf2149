"""A partition that is run again, with other values of the same people."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import Fault, PromiseError
from sfumato.tasks.attacks.minimal.worlds import WeighedGroup
from sfumato.tasks.microdata.table import Microdata, Randomness, encode, key
from sfumato.tasks.partitions.partition import Partition, with_strata
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Declared

Hashables = tuple[Hashable, ...]
_ROW = "\0row"  # a name that no column has
_KNOWN = 1_000  # partitions whose labels are remembered


class NotRetracedError(Exception):
    """Why the worlds of a release are not gone through, in words."""


OTHERWISE = "the partition could not be run again so that these groups came out"


@dataclass(frozen=True, eq=False)
class Rerun:
    """A release whose partition is run again.

    Attributes:
        declared: what it declares.
        people: those whom it represents.
        sensitive: the column that is attacked.
    """

    declared: Declared
    people: Microdata
    sensitive: str

    @cached_property
    def _labels(self) -> dict[Hashables, Hashables]:
        """By partition, what it shows."""
        return {}

    @cached_property
    def codes(self) -> np.ndarray:
        """The sensitive value that each of them has (int64)."""
        return self.people[self.sensitive].codes.astype(np.int64)

    @cached_property
    def vectors(self) -> np.ndarray:
        """The quasi-identifiers of each of them, as numbers (int64)."""
        names = self.declared.named("quasi-identifier")
        return key([self.people[name] for name in names], self.people.rows)[0]

    def shown(self, found: Partition) -> Hashables | None:
        """What each person is shown by, the same for those who look alike; None where some are not.

        Labels, or in other forms the number of a group.
        """
        if (found.group < 0).any():
            return None
        groups = _numbered(found.group.tolist())
        if self.declared.form.shows != "labels":
            return tuple(groups.tolist())
        levels = ((name, of[found.group].tobytes()) for name, of in found.recoding.items())
        known = (groups.tobytes(), *sorted(levels))
        if known not in self._labels:
            if len(self._labels) == _KNOWN:
                self._labels.clear()
            self._labels[known] = self._labels_of(found)
        return self._labels[known]

    def has_groups(self, found: Partition, group: np.ndarray) -> bool:
        """Whether those who are shown alike are those of a group (int64, one per person)."""
        shown = self.shown(found)
        return shown is not None and bool((_numbered(shown) == _numbered(group.tolist())).all())

    def _labels_of(self, found: Partition) -> Hashables:
        """The labels of each person, in the order of the people."""
        quasi_identifiers = self.people.with_roles("quasi-identifier")
        rows = encode(_ROW, "insensitive", pa.array(np.arange(self.people.rows)))
        form = form_of(self.declared)
        tables = form.publish(
            self.people.keep((*quasi_identifiers, rows)), found, self.declared.form, _no_chance
        )
        (table,) = tables.values()
        ordered = table.sort_by(_ROW).select([column.name for column in quasi_identifiers])
        return tuple(zip(*(column.to_pylist() for column in ordered.columns), strict=True))

    def partition(self, codes: np.ndarray, randomness: Randomness) -> Partition | None:
        """The partition of the world with these values; None where promises cannot be kept."""
        declared, people = self.declared, self._with(codes)
        wanted = declared.form.grouped_by(declared.promises, declared.partition)
        try:
            return PARTITIONS[declared.partition.method](
                *with_strata(people, declared.strata), wanted, declared.partition, randomness
            )
        except PromiseError:
            return None

    def _with(self, codes: np.ndarray) -> Microdata:
        columns = (
            replace(column, codes=codes.astype(column.codes.dtype))
            if column.name == self.sensitive
            else column
            for column in self.people.columns
        )
        return self.people.keep(columns)


def _no_chance(_: int) -> np.ndarray:
    """What forms of labels do not draw from."""
    raise Fault("labels are drawn by chance")


def _numbered(rows: Hashables) -> np.ndarray:
    """The number of what each row has (int64), in the order in which they are met."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Retold:
    """What is believed by who ran a partition again.

    Attributes:
        groups: the people, by groups; by strata where it is not known who is in which group.
        by: which worlds were drawn; empty where all were listed.
        are_known: whether everybody's group is known.
    """

    groups: Sequence[WeighedGroup]
    by: str = ""
    are_known: bool = True

    def hits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The shares of people who are guessed, and as good as known: found, at least, at most.

        (float64, two each).
        """
        people = sum(int(of.own.sum()) for of in self.groups)
        told = [(of.hits_by_group(), of.hits_at_least(), of.hits_at_most()) for of in self.groups]
        found, least, most = np.sum(told, axis=0) / people
        return found, least, most
