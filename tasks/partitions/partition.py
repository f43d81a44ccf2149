"""Partitions of rows into groups, within strata that the owner keeps apart."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, key
from sfumato.tasks.schema.hierarchy_rules import Bands, HierarchyLevel, Stratum


@dataclass(frozen=True, eq=False)
class TargetDistributions:
    """The distributions that the values of a sensitive attribute are to follow, group by group.

    `name` is the attribute; `target` is the index of each group's distribution in `distributions`
    (int64). A distribution has one probability for each of `Column.values`, in their order. If
    `exact`, it is declared without change, since promises were checked against it.
    """

    name: str
    target: np.ndarray
    distributions: tuple[tuple[Fraction, ...], ...]
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Continued:
    """The link from the groups of a version to those of the version before.

    `kind` (int8, one per row) says whether a row is a person's, vacant or a witness (see
    `tasks.private.people.slots`). `previous` (int64, one per group) is the group's id in the
    version before, -1 for a new group.
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
"""Groups the rows of a table, given strata, promises, the partition's parameters and randomness."""


def by_stratum(microdata: Microdata, strata: Sequence[str]) -> Iterator[np.ndarray]:
    """Yield the row positions (int64) of each stratum.

    The rows of a stratum have equal values in all columns of `strata`.
    """
    keys, _ = key([microdata[name] for name in strata], microdata.rows)
    order = stable_order(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    yield from np.split(order, starts[1:])


def with_strata(
    microdata: Microdata, strata: Iterable[Stratum]
) -> tuple[Microdata, tuple[str, ...]]:
    """Return the table with a column for each band or level, and the names of all strata.

    The added columns are never published.

    Raises:
        SpecError: if a hierarchy does not reach a level.
    """
    names = []
    for stratum in strata:
        name = str(stratum)
        if not isinstance(stratum, str):
            column = _stratum_column(microdata[stratum.column], stratum, name)
            microdata = replace(microdata, columns=(*microdata.columns, column))
        names.append(name)
    return microdata, tuple(names)


def _stratum_column(column: Column, stratum: Bands | HierarchyLevel, name: str) -> Column:
    if isinstance(stratum, Bands):
        return _band_column(column, stratum, name)
    return _node_column(column, stratum, name)


def _band_column(column: Column, stratum: Bands, name: str) -> Column:
    """Return a column of the bands of a column's numbers; values below all bands are band 0."""
    starts = [Fraction(start) for start in stratum.bands]
    numbers = [_number(value) for value in column.values.to_pylist()]
    band = [-1 if n is None else bisect_right(starts, n) for n in numbers]
    codes = np.array([*band, -1], dtype=np.int32)[column.codes]
    return Column(name, "drop", pa.array(range(len(starts) + 1)), codes)


def _node_column(column: Column, level: HierarchyLevel, name: str) -> Column:
    """Return a column of the nodes of a level, numbered.

    Raises:
        SpecError: if the column has no such level.
    """
    levels = column.levels()
    if column.ancestors is None or level.level >= len(levels):
        raise SpecError(
            f"strata: {level.column!r} has no level {level.level}; its hierarchy has levels 0 to "
            f"{len(levels) - 1}"
        )
    nodes = levels[level.level][column.category()[0]]
    return Column(
        name, "drop", pa.array(range(int(nodes.max(initial=0)) + 1)), nodes.astype(np.int32)
    )


def _number(value: object) -> Fraction | None:
    number = Decimal(str(value))
    return Fraction(number) if number.is_finite() else None
