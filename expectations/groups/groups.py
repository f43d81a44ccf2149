"""Groups as an observer sees them: their sizes, the counts of their values, and their people.

Promises over people who have several rows are judged on the people of groups (see
`measures.of_people`).

Groups hold counts, never rows, and every privacy model is computed from counts only. Groups are
made by `expectations.groups.counting` from dictionary codes, or by a form from published tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import starts

_ALL = np.array([], dtype=np.int64)  # stands for the sizes themselves


@dataclass(frozen=True, eq=False)
class HeldValues:
    """The values of one attribute that people have in groups, sparse.

    `group`, `person`, `value` and `rows` (int64) are parallel, sorted in this order, each of the
    first three together once. `like` has counts of the same attribute: how its values are numbered,
    and what they are.
    """

    group: np.ndarray
    person: np.ndarray
    value: np.ndarray
    rows: np.ndarray
    like: Counts

    def counts(self, group: np.ndarray, value: np.ndarray, count: np.ndarray) -> Counts:
        """Return counts of that attribute, with arguments as in `Counts`."""
        return replace(self.like, group=group, value=value, count=count)


@dataclass(frozen=True, eq=False)
class People:
    """The rows of each person in each group, sparse, and their values of some attributes.

    `group`, `person` and `rows` (int64) are parallel, sorted in this order, each pair once; there
    are `groups` groups, each with somebody in it. `labels` are those of `Groups`.
    """

    group: np.ndarray
    person: np.ndarray
    rows: np.ndarray
    groups: int
    held: Mapping[str, HeldValues]
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def sizes(self) -> np.ndarray:
        """The people of each group (int64, one per group)."""
        return np.bincount(self.group, minlength=self.groups)

    @property
    def most_rows(self) -> np.ndarray:
        """The rows of the person who has the most in each group (int64, one per group)."""
        return np.maximum.reduceat(self.rows, starts(self.group)) if self.groups else self.rows


@dataclass(frozen=True, eq=False)
class Cover:
    """The values of one quasi-identifier that each group admits.

    `group` and `value` (int64) are parallel, sorted, each pair once; `value` is below `values`.
    `totals` are the rows of all groups together with each value (int64, one per value), None if
    they are not published.
    """

    group: np.ndarray
    value: np.ndarray
    values: int
    totals: np.ndarray | None = None

    def sizes(self, groups: int) -> np.ndarray:
        """Return the number of values that each of some groups admits (int64, one per group)."""
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
    contains.
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


@dataclass(frozen=True, eq=False)
class RelatedRows:
    """Rows of a second table that belong to the people of groups, such as patients' stays.

    Attributes:
        group: the groups that have such rows (int64, ascending, each once).
        rows: the rows of each of these groups, one group per entry of `group`, with the counts of
            their values; its `people` are their owners, which no published table shows.
        most: the rows of whoever has the most in each of these groups (int64).
        fewest: the rows that everybody of each of these groups has, at least, as published facts of
            people show (int64); None if no fact is about the number of rows.
        with_rows: the people of each of these groups who have such rows, at most, as published
            facts show (int64); None if no fact is about the number of rows.
    """

    group: np.ndarray
    rows: "Groups"
    most: np.ndarray
    fewest: np.ndarray | None = None
    with_rows: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Groups:
    """The sizes of the groups (int64, one per group, in group order) and what is visible of them.

    `sensitive` has the counts of sensitive values by attribute, `covers` the admitted values by
    quasi-identifier, `subdomains` what is published in place of sensitive values. A part is present
    if the form shows it and the caller asked for it. `live` counts the rows of each group that are
    about people (int64, one per group): all rows, except where a version also shows values of
    people who are gone. `people` has the person of each row, which no published table shows; it is
    present if promises are to be judged over people who have several rows. `labels` numbers the
    labels of each quasi-identifier (int64, one per group): groups with equal numbers show the same.
    `related` has the rows of a second table that belong to the people of the groups.
    """

    sizes: np.ndarray
    sensitive: Mapping[str, Counts]
    covers: Mapping[str, Cover] = field(default_factory=dict)
    population: Population | None = None
    subdomains: Mapping[str, Subdomains] = field(default_factory=dict)
    live: np.ndarray = field(default_factory=lambda: _ALL)
    people: People | None = None
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)
    related: RelatedRows | None = None

    def __post_init__(self) -> None:
        if self.live is _ALL:
            object.__setattr__(self, "live", self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def has_owners(self) -> bool:
        """True if it is known whose the rows are, or the related rows."""
        related = self.related
        return self.people is not None or (related is not None and related.rows.people is not None)

    @property
    def rows(self) -> int:
        """Number of rows in all groups."""
        return int(self.sizes.sum())

    def counts_of(self, sensitive: str | None) -> Counts:
        """Return the counts of an attribute; if none is named, of the only one.

        Raises:
            PromiseError: where that attribute was not counted.
        """
        if sensitive is None and len(self.sensitive) == 1:
            return next(iter(self.sensitive.values()))
        if sensitive is None or sensitive not in self.sensitive:
            raise PromiseError(f"the sensitive attribute {sensitive!r} was not counted")
        return self.sensitive[sensitive]

    def declared_of(self, sensitive: str | None) -> Subdomains | None:
        """Return the subdomains of an attribute, or of the only one; None if values are shown."""
        if sensitive is None and len(self.subdomains) == 1 and not self.sensitive:
            return next(iter(self.subdomains.values()))
        return self.subdomains.get(sensitive) if sensitive else None
