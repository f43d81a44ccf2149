"""Counts of values in groups, sparse, and the statistics computed from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import INT64_MAX, Exact
from sfumato.expectations.shared.sorting import sort, starts

_BLOCK = 2**15  # entries


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of each value of one sensitive attribute in each group, sparse.

    `group`, `value` and `count` (int64) are parallel, sorted by group and then value, one entry for
    each pair that occurs, counts as Python integers where sums of them would overflow; `value`
    numbers the attribute's `values` distinct values in ascending order, the null first where there
    is one. `numbers` are those values as exact integers, None where the attribute has no order or
    has nulls; `labels` are the values themselves;
    `ancestors[level]` numbers the node above each value at each level of its hierarchy, from the
    value itself (level 0) to the root, None where it has no hierarchy.
    """

    group: np.ndarray
    value: np.ndarray
    count: np.ndarray
    values: int
    numbers: Exact | None
    labels: pa.Array | None = None
    ancestors: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", starts(self.group))

    starts: np.ndarray = field(init=False)

    @cached_property
    def ends(self) -> np.ndarray:
        """The end of each group's entries, exclusive (int64, one per group)."""
        ends: np.ndarray = np.append(self.starts[1:], len(self.group))[: len(self.starts)]
        return ends

    @cached_property
    def distinct(self) -> np.ndarray:
        """The number of different values that each group shows (int64, one per group)."""
        return np.asarray(self.ends - self.starts)

    @cached_property
    def largest(self) -> np.ndarray:
        """The count of each group's most frequent value (int64, one per group)."""
        return np.maximum.reduceat(self.count, self.starts) if len(self.group) else self.count

    @cached_property
    def blocks(self) -> tuple["Counts", ...]:
        """The same groups in order, in blocks that fit into a processor's cache.

        Groups keep their numbers.
        """
        ends = self.ends[np.flatnonzero(np.diff(self.ends // _BLOCK, append=-1))].tolist()
        return tuple(self._part(slice(*both)) for both in pairwise([0, *ends]))

    def _part(self, part: slice) -> "Counts":
        return replace(self, group=self.group[part], value=self.value[part], count=self.count[part])

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sum of each group's whole numbers, one per entry (int64 or Python integers).

        If a running total over all groups overflows, its differences are still right.
        """
        return np.diff(np.cumsum(numbers)[self.ends - 1], prepend=0)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The rows of each group (int64, one per group)."""
        return self.sums(self.count)

    @cached_property
    def up_to(self) -> np.ndarray:
        """The rows of its group with each entry's value or one before it (int64, one per entry)."""
        steps = self.count.copy()
        steps[self.starts[1:]] -= self.sizes[:-1]
        return np.cumsum(steps)

    def tail(self, rank: int) -> np.ndarray:
        """Return each group's rows of its `rank`-th most frequent value and rarer ones (int64)."""
        if rank <= 1:
            return self.sizes
        most = self.largest if rank == 2 else self._most_frequent(rank - 1)
        return np.asarray(self.sizes - most)

    def _most_frequent(self, values: int) -> np.ndarray:
        """Return the rows of each group with one of its `values` most frequent values (int64)."""
        parts = (_most(block, values) for block in self.blocks)
        return np.concatenate([self.starts[:0], *parts])

    @cached_property
    def totals(self) -> np.ndarray:
        """The count of each value in all groups together (as counts are, one per value)."""
        if self.count.dtype == object:
            totals = np.zeros(self.values, dtype=object)
            np.add.at(totals, self.value, self.count)
            return totals
        return np.bincount(self.value, self.count, self.values).astype(np.int64)

    def numbers_written(self, texts: Sequence[str]) -> np.ndarray:
        """Return the numbers of the values that some texts write (int64, ascending).

        Texts that write no value are skipped. Numbers are compared as numbers, everything else as
        text.

        Raises:
            PromiseError: where the values themselves are not known.
        """
        if not self.values:
            return np.array([], dtype=np.int64)
        if self.labels is None:
            raise PromiseError("the groups show how often values occur, but not which values")
        if self.numbers is not None and self.labels.type not in _TEXTS:
            numbers = [n for n in map(_number, texts) if n is not None]
            units = {Fraction(n) * 10**self.numbers.digits for n in numbers}
            matches = [i for i, unit in enumerate(self.numbers.units.tolist()) if unit in units]
            if matches or numbers:
                return np.array(matches, dtype=np.int64)
        written = pc.cast(self.labels, pa.string())
        is_written = pc.is_in(written, value_set=pa.array(list(texts), pa.string()))
        return np.flatnonzero(is_written.to_numpy(zero_copy_only=False))

    def entries_of(self, texts: Sequence[str]) -> np.ndarray:
        """Mark the entries of the values that these texts write (bool, one per entry).

        Raises:
            PromiseError: where the values themselves are not known.
        """
        named = np.zeros(self.values, dtype=bool)
        if texts:
            named[self.numbers_written(texts)] = True
        return np.asarray(named[self.value])


def _most(counts: Counts, values: int) -> np.ndarray:
    """Return the rows of each group with one of its `values` most frequent values (int64)."""
    before = np.cumsum(np.append(0, _descending(counts)))
    ends = np.minimum(counts.starts + values, counts.ends)
    return np.asarray(before[ends] - before[counts.starts])


def _descending(counts: Counts) -> np.ndarray:
    """Return the counts in order of groups, each group's from its largest on (int64)."""
    beyond = int(counts.count.max()) + 1
    bound = len(counts.starts) * beyond
    if bound > INT64_MAX:
        _, rank = np.unique(counts.count, return_inverse=True)
        return counts.count[np.lexsort((-rank, counts.group))]
    # each group has numbers of its own range, from whose end its counts are subtracted: so one sort
    # of numbers takes the groups in order, and in each the largest counts first
    ends = np.repeat(np.arange(1, len(counts.starts) + 1) * beyond, counts.distinct)
    return np.asarray(ends - sort(ends - counts.count, bound))


_TEXTS = (pa.string(), pa.large_string())


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text) if Decimal(text).is_finite() else None
    except InvalidOperation:
        return None
