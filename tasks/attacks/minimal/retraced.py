"""Worlds in which a partition would have come out as it did: the very partition, run on each.

For partitions of which it is not known what they tried. All ways to give the values of the groups
to their people are gone through, and all orders in which chance could have put them; so it is for
small releases alone, and says of others why not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

import numpy as np

from sfumato.expectations.errors import PromiseError, SfumatoError
from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs, join_beliefs
from sfumato.tasks.attacks.minimal.orders import TooManyOrdersError, all_orders
from sfumato.tasks.attacks.minimal.weighed import WeighedGroup
from sfumato.tasks.attacks.minimal.worlds import Worlds, arrangements
from sfumato.tasks.attacks.people_of_groups import group_of_people
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.partitions.strata import with_strata

_PEOPLE, _RUNS = 24, 1_500
_BY_ORDERS = ("mondrian", "full-domain", "forest", "factors")  # no chance, or orders alone
_BY_NOBODY = "the partition and its promises look at no one's values: nothing more is told"
_BY_VALUES = "groups are made of values alone, whoever has them: nothing more is told"
_SUPPRESSED = "rows were suppressed, and who retraces the partition needs them, too"
_SEVERAL = "others than this column's values, or several rows of people, decided"
_UNKNOWN = "quasi-identifiers do not tell which group everybody is in"
_NOT_RUN = "this partition is not run again on other worlds: it draws more than orders of rows"
_BY_NUMBERS = "chance decides about groups in more ways than can be gone through"
_TOO_MANY = (
    f"more than {_PEOPLE} people, or {_RUNS:,} worlds: too many to run the partition on each"
)
_OTHERWISE = "the partition could not be run again so that these groups came out"


class NotRetracedError(Exception):
    """Why the worlds of a release are not gone through, in words."""


@dataclass(frozen=True, eq=False)
class Retraced:
    """A release whose partition is run again.

    Attributes:
        declared: what it declares.
        people: those whom it represents.
        sensitive: the column that is attacked.
        group: of each of them (int64; 0, 1, …).
    """

    declared: Declared
    people: Microdata
    sensitive: str
    group: np.ndarray

    def beliefs(self) -> OwnValueBeliefs:
        """What is believed of everybody by who runs the partition on all worlds.

        Raises:
            NotRetracedError: where there are too many, or no run has these groups.
        """
        codes = self.people[self.sensitive].codes.astype(np.int64)
        told = list(self._worlds(codes))
        weights = np.array([float(weight) for _, weight in told])
        values = np.array([world for world, _ in told])
        groups = [np.flatnonzero(self.group == one) for one in range(int(self.group.max()) + 1)]
        return join_beliefs([self._of_group(codes, rows, values, weights) for rows in groups])

    def _of_group(
        self, codes: np.ndarray, rows: np.ndarray, values: np.ndarray, weights: np.ndarray
    ) -> OwnValueBeliefs:
        kind = np.unique(self._vectors[rows], return_inverse=True)[1]
        worlds = Worlds(values[:, rows], np.ones(len(weights), dtype=np.int64))
        return WeighedGroup.of(codes[rows], kind, worlds, weights).beliefs()

    def _worlds(self, codes: np.ndarray) -> Iterator[tuple[np.ndarray, Fraction]]:
        """Worlds with these groups, and how likely these are in each; that which is so is one."""
        levels = self._shown(codes)
        left = _RUNS
        for world in worlds_within(codes, self.group):
            likely = Fraction(0)
            for found, chance in self._partitions(world, left):
                left -= 1
                if found is not None and _are_the_same(found, self.group, levels):
                    likely += chance
            if likely:
                yield world, likely

    def _shown(self, codes: np.ndarray) -> Partition:
        """The partition as it came out, by some order of chance.

        Raises:
            NotRetracedError: where it never does.
        """
        for found, _ in self._partitions(codes, _RUNS):
            if found is not None and _are_the_same(found, self.group, found):
                return found
        raise NotRetracedError(_OTHERWISE)

    def _partitions(
        self, codes: np.ndarray, most: int
    ) -> Iterator[tuple[Partition | None, Fraction]]:
        try:
            yield from all_orders(partial(self._partition, codes), most)
        except TooManyOrdersError:
            raise NotRetracedError(_BY_NUMBERS) from None

    def _partition(self, codes: np.ndarray, randomness: Randomness) -> Partition | None:
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

    @property
    def _vectors(self) -> np.ndarray:
        names = self.declared.named("quasi-identifier")
        return key([self.people[name] for name in names], self.people.rows)[0]


def retrace(target: AttackedRelease) -> OwnValueBeliefs:
    """What is believed of everybody by who runs a release's partition on all worlds.

    Raises:
        NotRetracedError: where these are too many, or cannot be told.
    """
    if reason := _why_not(target):
        raise NotRetracedError(reason)
    group = group_of_people(target)
    if group is None:
        raise NotRetracedError(_UNKNOWN)
    group = np.unique(group, return_inverse=True)[1]
    codes = target.people[target.sensitive].codes
    if prod(arrangements(_counts(codes[group == one])) for one in set(group.tolist())) > _RUNS:
        raise NotRetracedError(_TOO_MANY)
    try:
        people = with_hierarchies(target.people, target.declared.hierarchies)
        return Retraced(target.declared, people, target.sensitive, group).beliefs()
    except SfumatoError:
        raise NotRetracedError(_OTHERWISE) from None


def _why_not(target: AttackedRelease) -> str:
    """Why a release is not retraced, as far as what it declares tells; empty where it may be."""
    declared = target.declared
    about = {promise.sensitive for promise in declared.promises} - {None}
    others = about - {target.sensitive}
    by_nobody = declared.partition.method in _BY_ROWS and not about
    told = (
        (by_nobody, _BY_NOBODY),
        (bool(others) or target.people.person is not None, _SEVERAL),
        (_is_by_values(declared), _BY_VALUES),
        (declared.partition.method not in _BY_ORDERS, _NOT_RUN),
        (declared.rows.suppressed > 0, _SUPPRESSED),
        (target.people.rows > _PEOPLE, _TOO_MANY),
    )
    return next((reason for holds, reason in told if holds), "")


def _is_by_values(declared: Declared) -> bool:
    """Whether groups are drawn by which values they have, so that their people are alike."""
    partition = declared.partition
    alike = isinstance(partition, AnatomyParameters) and partition.alike is not None
    return partition.method in ("ke", "anatomy") and not alike


_BY_ROWS = ("mondrian", "full-domain", "forest", "factors")  # look at values for promises alone


def worlds_within(codes: np.ndarray, group: np.ndarray) -> Iterator[np.ndarray]:
    """All ways to give the values of each group to its rows (int64, one per row), each once.

    Args:
        codes: the value of each row (int64).
        group: of each row (int64; 0, 1, …).
    """
    rows = [np.flatnonzero(group == one) for one in range(int(group.max()) + 1)]
    for ways in product(*(list(different_orders(codes[of].tolist())) for of in rows)):
        world = np.empty(len(codes), dtype=np.int64)
        for of, way in zip(rows, ways, strict=True):
            world[of] = way
        yield world


def different_orders(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The different orders of some values.

    >>> list(different_orders([1, 2, 1]))
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not values:
        yield ()
    for first in sorted(set(values)):
        rest = list(values)
        rest.remove(first)
        yield from ((first, *others) for others in different_orders(rest))


def _counts(codes: np.ndarray) -> list[int]:
    return [int(n) for n in np.unique(codes, return_counts=True)[1]]


def _are_the_same(found: Partition, group: np.ndarray, shown: Partition) -> bool:
    """Whether a partition has these groups, and shows them at the same levels."""
    if (found.group < 0).any():
        return False
    pairs = {*zip(found.group.tolist(), group.tolist(), strict=True)}
    if not len(pairs) == len({*found.group.tolist()}) == len({*group.tolist()}):
        return False
    levels = ((found.recoding.get(name), of) for name, of in shown.recoding.items())
    return all(
        one is not None and (one[found.group] == of[shown.group]).all() for one, of in levels
    )
