"""The common part of aimed partitions: `ke` groups within the parts into which strata are cut.

A world is a way in which the people of each group may have its values. Somebody who knows how the
partition works keeps only the worlds that are consistent with the groups and would have been cut
the same way (the minimality attack; Wong, Fu, Wang, Pei, Minimality attack
in privacy preserving data publishing, VLDB 2007). Here every consistent world is cut the same, so
all of them stay as likely as they were. This is tested on the very table: values are exchanged
within groups, and the table is cut again with the same random keys.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import Exact, exact
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.partitions.aimed.dealt import DealtValues, sorted_units
from sfumato.tasks.partitions.aimed.parameters import AimedParameters
from sfumato.tasks.partitions.aimed.queries import AimedQueries, queries_of
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.thresholds import needed_promises, strictest_ke

_PART = "part of an aimed partition"


_WORLDS, _ROWS = 1, 20_000  # worlds that are tried, and rows of the largest tables with a trial


@dataclass
class Replay:
    """Keys that are drawn once, and again in the same order after `rewind`."""

    draw: Randomness
    _drawn: list[np.ndarray] = field(default_factory=list)
    _next: int = 0

    def __call__(self, n: int) -> np.ndarray:
        """Return n keys (uint64)."""
        if self._next == len(self._drawn):
            self._drawn.append(self.draw(n))
        keys = self._drawn[self._next]
        self._next += 1
        return keys if len(keys) == n else self.draw(n)

    def rewind(self) -> None:
        """Draw the same keys again."""
        self._next = 0


def measure_belief(
    codes: np.ndarray,
    group: np.ndarray,
    part: np.ndarray,
    cut: Callable[[np.ndarray], np.ndarray],
    randomness: Randomness,
) -> dict[str, Any]:
    """Return the largest belief in somebody's value, of those who know the groups and the method.

    Args:
        codes: the sensitive value of each row (integers).
        group: the group of each row (int64).
        part: the part of each row (int64) that its group is in.
        cut: returns the part of each row if rows have other values, cut by the same random keys.
        randomness: the source of the keys by which values are exchanged.

    Returns:
        `by_groups`, the belief of those who know the groups; the numbers of worlds that were tried,
        and of those that are cut the same. If all of these are, `knowing_the_cuts` is the belief of
        those who know the method as well.
    """
    plain = _largest_share(codes, group)
    worlds = _WORLDS if len(codes) <= _ROWS else 0
    same = 0
    for _ in range(worlds):
        into = np.argsort(group, kind="stable")
        source = np.lexsort((randomness(len(group)), group))
        world = np.empty_like(codes)
        world[into] = codes[source]
        same += bool(np.array_equal(cut(world), part))
    facts: dict[str, Any] = {"by_groups": plain, "worlds_tried": worlds, "cut_the_same": same}
    return {**facts, "knowing_the_cuts": plain} if same == worlds else facts


def _largest_share(codes: np.ndarray, group: np.ndarray) -> float:
    """Return the largest share of a value in a group."""
    sizes = np.bincount(group)
    pairs, times = np.unique(
        group * (int(codes.max(initial=0)) + 2) + codes + 1, return_counts=True
    )
    pair_group = pairs // (int(codes.max(initial=0)) + 2)
    return float((times / sizes[pair_group]).max(initial=0))


@dataclass(frozen=True, eq=False)
class CutContext:
    """The data that decide about cuts.

    Attributes:
        queries: the declared families over the table.
        codes: the sensitive value of each row (int32).
        numbers: the values by code.
        promise: the (k,e)-anonymity that every group keeps.
        randomness: the source of the keys by which values are dealt.
    """

    queries: AimedQueries
    codes: np.ndarray
    numbers: Exact
    promise: KEAnonymity
    randomness: Randomness

    def deal(self, rows: np.ndarray) -> DealtValues:
        """Return the values of some rows (positions, int64), without their owners."""
        units = sorted_units(self.numbers.units, self.codes[rows])
        e = self.numbers.at_least(self.promise.e)
        limits = {
            kind: self.numbers.units.astype(np.float64)[codes]
            for kind, codes in self.queries.conditions.items()
        }
        return DealtValues(units, self.promise.k, e, self.randomness, len(self.codes), limits)


Cutter = Callable[[CutContext, np.ndarray], Iterator[np.ndarray]]
"""Cuts the rows of a stratum (positions, int64) into parts, by the data of the context only."""


def group_within(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: AimedParameters,
    randomness: Randomness,
    cutter: Cutter,
) -> Partition:
    """Cut each stratum, and group each part so that the sum of ranges weighted by rows is least.

    Raises:
        PromiseError: if there is no (k,e)-promise, or a part cannot keep a promise.
    """
    promise = strictest_ke(needed_promises(KEAnonymity, promises, parameters))
    column, replay = microdata[str(promise.sensitive)], Replay(randomness)
    queries = queries_of(microdata, parameters.aims)
    numbers = exact(column.values, column.name)

    def cut(codes: np.ndarray) -> np.ndarray:
        replay.rewind()
        context = CutContext(queries, codes, numbers, promise, replay)
        return _parts(microdata, strata, context, cutter)

    part = cut(column.codes)
    partition = _group_parts(microdata, part, promises, randomness)
    belief = measure_belief(column.codes, partition.group, part, cut, randomness)
    parts = int(part.max(initial=-1)) + 1
    return replace(partition, facts={"parts": parts, **partition.facts, "belief": belief})


def _parts(
    microdata: Microdata, strata: Sequence[str], context: CutContext, cutter: Cutter
) -> np.ndarray:
    """Return the part of each row (int64; 0, 1, …), numbered in the order of their first rows."""
    part = np.full(microdata.rows, -1, dtype=np.int64)
    parts = [
        rows
        for stratum_rows in by_stratum(microdata, strata)
        for rows in cutter(context, stratum_rows)
    ]
    for number, rows in enumerate(sorted(parts, key=lambda rows: int(rows.min()))):
        part[rows] = number
    return part


def _group_parts(
    microdata: Microdata,
    part: np.ndarray,
    promises: Sequence[PrivacyModel],
    randomness: Randomness,
) -> Partition:
    """Group each part by `ke`, as if the parts were strata.

    Raises:
        PromiseError: if a part cannot keep a promise.
    """
    values = pa.array(range(int(part.max(initial=-1)) + 1))
    column = Column(_PART, "drop", values, part.astype(np.int32))
    cut = replace(microdata, columns=(*microdata.columns, column))
    weighted = KEParameters(method="ke", objective="weighted")
    try:
        return ke.partition(cut, [_PART], promises, weighted, randomness)
    except PromiseError as error:
        raise PromiseError(
            "a part of the table cannot keep a promise, and cutting it differently would reveal "
            f"that; use a partition without cuts, such as `method: ke` ({error})"
        ) from None
