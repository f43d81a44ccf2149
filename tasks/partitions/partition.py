"""Partitions: who is grouped with whom, within the strata that the owner wants kept apart."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import SpecError
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, key
from sfumato.tasks.schema.hierarchy_rules import Bands, HierarchyLevel, Stratum


@dataclass(frozen=True, eq=False)
class TargetDistributions:
    """The distribution that a sensitive attribute's values are to follow in each group.

    `name` is the attribute; `target` is each group's index in `distributions` (int64).
    A distribution has the probability of each of `Column.values`, in their order; `exact` tells
    that it is to be declared as it is, since promises were held against it.
    """

    name: str
    target: np.ndarray
    distributions: tuple[tuple[Fraction, ...], ...]
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Continued:
    """How groups go on from an earlier version, over rows of which not all are people's.

    `kind` (int8, one per row) is what each row is (see `tasks.private.people.slots`). `previous`
    (int64, one per group) is the group's id in the version before, -1 for a new group.
    """

    kind: np.ndarray
    previous: np.ndarray


@dataclass(frozen=True, eq=False)
class Partition:
    """The group of each row (int64, 0, 1, …; -1 for a suppressed row).

    `recoding` gives, for quasi-identifiers with a hierarchy, the level to which a form that
    generalizes takes the values of each group (int64, one per group, see `Column.levels`): all its
    rows have the same node there. Without it a group is shown as narrowly as its rows allow.
    `target_distributions` are for a form that redistributes sensitive values. `facts` (objective
    reached, certificate) stay private. `continued` is there where versions are composed.
    """

    group: np.ndarray
    recoding: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    target_distributions: TargetDistributions | None = None
    continued: Continued | None = None

    @property
    def suppressed(self) -> int:
        """Number of rows that belong to no group."""
        return int((self.group < 0).sum())


Partitioner = Callable[
    [Microdata, Sequence[str], Sequence[PrivacyModel], Any, Randomness], Partition
]


def by_stratum(microdata: Microdata, strata: Sequence[str]) -> Iterator[np.ndarray]:
    """The row positions (int64) of each stratum: rows with equal values in the columns `strata`."""
    keys, _ = key([microdata[name] for name in strata], microdata.rows)
    order = stable_order(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    yield from np.split(order, starts[1:])


def with_strata(
    microdata: Microdata, strata: Iterable[Stratum]
) -> tuple[Microdata, tuple[str, ...]]:
    """The table with columns for bands and levels (never published), and the names of all strata.

    Raises:
        SpecError: where a hierarchy does not reach a level.
    """
    names = []
    for stratum in strata:
        name = str(stratum)
        if not isinstance(stratum, str):
            column = _cut(microdata[stratum.column], stratum, name)
            microdata = replace(microdata, columns=(*microdata.columns, column))
        names.append(name)
    return microdata, tuple(names)


def _cut(column: Column, stratum: Bands | HierarchyLevel, name: str) -> Column:
    if isinstance(stratum, Bands):
        return _banded(column, stratum, name)
    return _nodes(column, stratum, name)


def _banded(column: Column, stratum: Bands, name: str) -> Column:
    starts = [Fraction(start) for start in stratum.bands]
    numbers = [_number(value) for value in column.values.to_pylist()]
    band = [-1 if n is None else bisect_right(starts, n) for n in numbers]
    codes = np.array([*band, -1], dtype=np.int32)[column.codes]
    return Column(name, "drop", pa.array(range(len(starts) + 1)), codes)


def _nodes(column: Column, level: HierarchyLevel, name: str) -> Column:
    levels = column.levels()
    if column.ancestors is None or level.level >= len(levels):
        raise SpecError(
            f"strata: {level.column!r} has no level {level.level}: its hierarchy has levels up to "
            f"{len(levels) - 1}"
        )
    nodes = levels[level.level][column.category()[0]]
    return Column(
        name, "drop", pa.array(range(int(nodes.max(initial=0)) + 1)), nodes.astype(np.int32)
    )


def _number(value: object) -> Fraction | None:
    number = Decimal(str(value))
    return Fraction(number) if number.is_finite() else None
