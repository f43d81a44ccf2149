"""The common part of aimed partitions: `ke` within the parts that strata are cut into.

Such a person keeps the worlds that are consistent with the groups and would have been cut the same
(the minimality attack; Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data
publishing, VLDB 2007). Here every consistent world is cut the same, so that all of them stay, as
likely as they were. It is tried on the very table: values are exchanged within groups, and it is
cut again by the same chance.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.exact import Exact, exact
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.partitions.aimed.dealt import Dealt, sorted_units
from sfumato.tasks.partitions.aimed.parameters import AimedParameters
from sfumato.tasks.partitions.aimed.queries import AimedQueries, queries_of
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.thresholds import needed_promises, strictest_ke

_PART = "part of an aimed partition"


_WORLDS, _ROWS = 1, 20_000  # so many are tried, of tables of at most so many rows


@dataclass
class Replay:
    """Keys that are drawn once, and again in the same order after `rewind`."""

    draw: Randomness
    _drawn: list[np.ndarray] = field(default_factory=list)
    _next: int = 0

    def __call__(self, n: int) -> np.ndarray:
        """Keys (uint64, n of them)."""
        if self._next == len(self._drawn):
            self._drawn.append(self.draw(n))
        keys = self._drawn[self._next]
        self._next += 1
        return keys if len(keys) == n else self.draw(n)

    def rewind(self) -> None:
        """Draw the same keys again."""
        self._next = 0


def what_cuts_tell(
    codes: np.ndarray,
    group: np.ndarray,
    part: np.ndarray,
    cut: Callable[[np.ndarray], np.ndarray],
    randomness: Randomness,
) -> dict[str, Any]:
    """The largest belief in somebody's value, of those who know the groups, and how they were made.

    Args:
        codes: the sensitive value of each row (integers).
        group: the group of each row (int64).
        part: the part of each row (int64) that its group is in.
        cut: cuts the table with other values, by the same chance, into parts of rows.
        randomness: by which values are exchanged.
    """
    plain = _largest_share(codes, group)
    tried = _WORLDS if len(codes) <= _ROWS else 0
    same = 0
    for _ in range(tried):
        into = np.argsort(group, kind="stable")
        source = np.lexsort((randomness(len(group)), group))
        world = np.empty_like(codes)
        world[into] = codes[source]
        same += bool(np.array_equal(cut(world), part))
    found: dict[str, Any] = {"by_groups": plain, "worlds_tried": tried, "cut_the_same": same}
    return {**found, "knowing_the_cuts": plain} if same == tried else found


def _largest_share(codes: np.ndarray, group: np.ndarray) -> float:
    sizes = np.bincount(group)
    pairs, times = np.unique(
        group * (int(codes.max(initial=0)) + 2) + codes + 1, return_counts=True
    )
    of = pairs // (int(codes.max(initial=0)) + 2)
    return float((times / sizes[of]).max(initial=0))


@dataclass(frozen=True, eq=False)
class Deciding:
    """What cuts are decided by.

    Attributes:
        queries: the declared families over the table.
        codes: the sensitive value of each row (int32).
        numbers: the values by code.
        promise: what every group needs.
        randomness: what values are dealt by.
    """

    queries: AimedQueries
    codes: np.ndarray
    numbers: Exact
    promise: KEAnonymity
    randomness: Randomness

    def dealt(self, rows: np.ndarray) -> Dealt:
        """What is known of some rows (positions, int64): their values, and not whose they are."""
        units = sorted_units(self.numbers.units, self.codes[rows])
        e = self.numbers.at_least(self.promise.e)
        limits = {
            kind: self.numbers.units.astype(np.float64)[codes]
            for kind, codes in self.queries.conditions.items()
        }
        return Dealt(units, self.promise.k, e, self.randomness, len(self.codes), limits)


Cutter = Callable[[Deciding, np.ndarray], Iterator[np.ndarray]]
"""Cuts the rows of a stratum (positions, int64) into parts, by nothing but what decides."""


def group_within(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: AimedParameters,
    randomness: Randomness,
    cutter: Cutter,
) -> Partition:
    """Cut each stratum, and group the rows of each part with the least ranges weighted by rows.

    Raises:
        PromiseError: where there is no (k,e)-promise, or a part cannot keep a promise.
    """
    promise = strictest_ke(needed_promises(KEAnonymity, promises, parameters))
    column, replay = microdata[str(promise.sensitive)], Replay(randomness)
    queries = queries_of(microdata, parameters.aims)
    numbers = exact(column.values, column.name)

    def cut(codes: np.ndarray) -> np.ndarray:
        replay.rewind()
        deciding = Deciding(queries, codes, numbers, promise, replay)
        return _parts(microdata, strata, deciding, cutter)

    part = cut(column.codes)
    found = _grouped(microdata, part, promises, randomness)
    told = what_cuts_tell(column.codes, found.group, part, cut, randomness)
    parts = int(part.max(initial=-1)) + 1
    return replace(found, facts={"parts": parts, **found.facts, "belief": told})


def _parts(
    microdata: Microdata, strata: Sequence[str], deciding: Deciding, cutter: Cutter
) -> np.ndarray:
    """The part of each row (int64), 0, 1, …; numbered by first rows, however they were found."""
    part = np.full(microdata.rows, -1, dtype=np.int64)
    found = [rows for of in by_stratum(microdata, strata) for rows in cutter(deciding, of)]
    for number, rows in enumerate(sorted(found, key=lambda rows: int(rows.min()))):
        part[rows] = number
    return part


def _grouped(
    microdata: Microdata,
    part: np.ndarray,
    promises: Sequence[PrivacyModel],
    randomness: Randomness,
) -> Partition:
    values = pa.array(range(int(part.max(initial=-1)) + 1))
    column = Column(_PART, "drop", values, part.astype(np.int32))
    cut = replace(microdata, columns=(*microdata.columns, column))
    weighted = KEParameters(method="ke", objective="weighted")
    try:
        return ke.partition(cut, [_PART], promises, weighted, randomness)
    except PromiseError as error:
        raise PromiseError(
            "a part of the table that would narrow answers cannot keep the promise, and to cut it "
            f"otherwise would tell that: name a partition that cuts nothing ({error})"
        ) from None
