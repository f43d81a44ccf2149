"""Groups as they are seen: their sizes, the counts of their values, the people they stand for.

Groups hold counts, never rows, and every privacy model is computed from them alone. They are made
by `expectations.groups.counting` from dictionary codes, or by a form from published tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.exact import INT64_MAX, Exact
from sfumato.expectations.groups.runs import sort, starts

_BLOCK = 2**15  # entries


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of each value of one sensitive attribute in each group, sparse.

    `group`, `value` and `count` (int64) are parallel, sorted by group and then value, one entry for
    each pair that occurs; `value` numbers the attribute's `values` distinct values in ascending
    order, the null first where there is one. `numbers` are those values as exact integers, None
    where the attribute has no order or holds nulls; `labels` are the values themselves;
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
        """Where each group's entries end, exclusive (int64, one per group)."""
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
        """The same groups in order, as many at once as a processor keeps near itself.

        They keep their numbers.
        """
        ends = self.ends[np.flatnonzero(np.diff(self.ends // _BLOCK, append=-1))].tolist()
        return tuple(self._part(slice(*both)) for both in pairwise([0, *ends]))

    def _part(self, part: slice) -> "Counts":
        return replace(self, group=self.group[part], value=self.value[part], count=self.count[part])

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """The sum of each group's whole numbers, one per entry (int64 or Python integers).

        Where a running total over all groups overflows, its differences are right all the same.
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
        """The rows of each group with its `rank`-th most frequent value or a rarer one (int64)."""
        if rank <= 1:
            return self.sizes
        most = self.largest if rank == 2 else self._most_frequent(rank - 1)
        return np.asarray(self.sizes - most)

    def _most_frequent(self, values: int) -> np.ndarray:
        """The rows of each group with one of its most frequent values, so many (int64)."""
        found = (_most(block, values) for block in self.blocks)
        return np.concatenate([self.starts[:0], *found])

    @cached_property
    def totals(self) -> np.ndarray:
        """The count of each value in all groups together (int64, one per value)."""
        return np.bincount(self.value, self.count, self.values).astype(np.int64)

    def numbered(self, texts: Sequence[str]) -> np.ndarray:
        """The numbers of the values that these texts write (int64, ascending); others are skipped.

        Numbers are compared as numbers, everything else as text.

        Raises:
            PromiseError: where the values themselves are not known.
        """
        if not self.values:
            return np.array([], dtype=np.int64)
        if self.labels is None:
            raise PromiseError("the values are not known, only how often they occur")
        if self.numbers is not None and self.labels.type not in _TEXTS:
            wanted = [n for n in map(_number, texts) if n is not None]
            units = {Fraction(n) * 10**self.numbers.digits for n in wanted}
            known = [i for i, unit in enumerate(self.numbers.units.tolist()) if unit in units]
            if known or wanted:
                return np.array(known, dtype=np.int64)
        written = pc.cast(self.labels, pa.string())
        found = pc.is_in(written, value_set=pa.array(list(texts), pa.string()))
        return np.flatnonzero(found.to_numpy(zero_copy_only=False))

    def entries_of(self, texts: Sequence[str]) -> np.ndarray:
        """Mark the entries of the values that these texts write (bool, one per entry).

        Raises:
            PromiseError: where the values themselves are not known.
        """
        named = np.zeros(self.values, dtype=bool)
        if texts:
            named[self.numbered(texts)] = True
        return np.asarray(named[self.value])


def _most(counts: Counts, values: int) -> np.ndarray:
    before = np.cumsum(np.append(0, _descending(counts)))
    ends = np.minimum(counts.starts + values, counts.ends)
    return np.asarray(before[ends] - before[counts.starts])


def _descending(counts: Counts) -> np.ndarray:
    """The counts in order of groups, each group's from its largest on (int64)."""
    beyond = int(counts.count.max()) + 1
    bound = len(counts.starts) * beyond
    if bound > INT64_MAX:
        return counts.count[np.lexsort((-counts.count, counts.group))]
    ends = np.repeat(np.arange(1, len(counts.starts) + 1) * beyond, counts.distinct)
    return np.asarray(ends - sort(ends - counts.count, bound))


_TEXTS = (pa.string(), pa.large_string())


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text) if Decimal(text).is_finite() else None
    except InvalidOperation:
        return None


@dataclass(frozen=True, eq=False)
class Cover:
    """The values of one quasi-identifier that each group admits.

    `group` and `value` (int64) are parallel, sorted, each pair once; `value` is below `values`.
    """

    group: np.ndarray
    value: np.ndarray
    values: int

    def sizes(self, groups: int) -> np.ndarray:
        """The number of values that each of some groups admits (int64, one per group)."""
        return np.bincount(self.group, minlength=groups)


@dataclass(frozen=True, eq=False)
class Joint:
    """The spread of a population's sensitive values over the exact quasi-identifiers of groups.

    Parallel (int64) and sorted by group, cell, value: `count` people of the population have the
    exact quasi-identifiers that are the group's `cell` (numbered anew in each group), and the
    sensitive value `value` (numbered as in `Counts`, and from there on where no group shows it).
    """

    group: np.ndarray
    cell: np.ndarray
    value: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class Population:
    """The population from which the groups are drawn.

    `sizes` are the people whom each group could be about (int64, one per group), and `elsewhere`
    counts the people who match no group; `joint` has the sensitive attributes that the population
    tells.
    """

    sizes: np.ndarray
    elsewhere: int
    joint: Mapping[str, Joint] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Target:
    """A hierarchy annotated with a distribution: nodes 0 (the root), 1, …, parents before children.

    `parent[node]` is the node above (int64, -1 for the root); `weight[node]` is the node's
    whole-number share of what is below its parent (int64, or Python integers).
    """

    parent: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Subdomains:
    """The nodes that are published for each group: `count` copies of `node` in `group`.

    All are int64. `target[group]` is the index in `targets` of the group's distribution. All have
    the same values as their leaves, in the order of the domain by the numbers of their nodes:
    `ordered` is True where that order means something, and `ancestors[level]` numbers the node
    above each of these values at each level of the attribute's hierarchy, None where it has none.
    """

    group: np.ndarray
    node: np.ndarray
    count: np.ndarray
    target: np.ndarray
    targets: tuple[Target, ...]
    ordered: bool = False
    ancestors: np.ndarray | None = None


_ALL = np.array([], dtype=np.int64)  # stands for the sizes themselves


@dataclass(frozen=True, eq=False)
class Groups:
    """The sizes of the groups (int64, one per group, in group order) and what is seen of them.

    `sensitive` has the counts of sensitive values by attribute, `covers` the admitted values by
    quasi-identifier, `subdomains` what is published in place of sensitive values. A part is there
    where the form shows it and somebody asked for it. `live` are the rows of each group that stand
    for people (int64, one per group): all of them, but where a version also shows values of people
    who are gone.
    """

    sizes: np.ndarray
    sensitive: Mapping[str, Counts]
    covers: Mapping[str, Cover] = field(default_factory=dict)
    population: Population | None = None
    subdomains: Mapping[str, Subdomains] = field(default_factory=dict)
    live: np.ndarray = field(default_factory=lambda: _ALL)

    def __post_init__(self) -> None:
        if self.live is _ALL:
            object.__setattr__(self, "live", self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> int:
        """Number of rows in all groups."""
        return int(self.sizes.sum())

    def of(self, sensitive: str | None) -> Counts:
        """The counts of an attribute; of the only one, where none is named.

        Raises:
            PromiseError: where that attribute was not counted.
        """
        if sensitive is None and len(self.sensitive) == 1:
            return next(iter(self.sensitive.values()))
        if sensitive is None or sensitive not in self.sensitive:
            raise PromiseError(f"the sensitive attribute {sensitive!r} was not counted")
        return self.sensitive[sensitive]
