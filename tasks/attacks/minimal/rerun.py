"""A partition that is run again, with other values of the same people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.attacks.minimal.weighed import WeighedGroup
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.partitions.strata import with_strata


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
    def codes(self) -> np.ndarray:
        """The sensitive value that each of them has (int64)."""
        return self.people[self.sensitive].codes.astype(np.int64)

    @cached_property
    def vectors(self) -> np.ndarray:
        """The quasi-identifiers of each of them, as numbers (int64)."""
        names = self.declared.named("quasi-identifier")
        return key([self.people[name] for name in names], self.people.rows)[0]

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


def are_the_same(found: Partition, group: np.ndarray, shown: Partition) -> bool:
    """Whether a partition has some groups, and shows them at the levels of another that has them.

    Args:
        found: the partition.
        group: of each person (int64; 0, 1, …).
        shown: that other one.
    """
    if (found.group < 0).any():
        return False
    pairs = {*zip(found.group.tolist(), group.tolist(), strict=True)}
    if not len(pairs) == len({*found.group.tolist()}) == len({*group.tolist()}):
        return False
    levels = ((found.recoding.get(name), of) for name, of in shown.recoding.items())
    return all(
        one is not None and (one[found.group] == of[shown.group]).all() for one, of in levels
    )


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
        told = [(of.hits_by_coin(), of.hits_at_least(), of.hits_at_most()) for of in self.groups]
        found, least, most = np.sum(told, axis=0) / people
        return found, least, most
