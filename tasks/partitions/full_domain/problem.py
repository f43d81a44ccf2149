"""The problem of a lattice search: collapsed rows, levels, promises on them, and costs."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import floor, prod
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import Coded, count_people
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import exact, is_ordered
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.partitions.full_domain.metrics import (
    METRICS,
    Cost,
    Generalized,
    MetricDomain,
    Original,
    domain,
)
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters, Metric
from sfumato.tasks.partitions.full_domain.rows import LatticeRows, Node, number_keys, tally
from sfumato.tasks.partitions.shared.thresholds import largest_k

_MOST_NODES = 2**21  # of a lattice that can be searched


class Scope(NamedTuple):
    """A promise and its subject, as columns of `LatticeRows`.

    Its groups are the rows that are equal on the axes `axes` (ascending), generalized, and on the
    columns `fixed`. `sensitive` is the column of the attribute that `coded` describes, if the
    promise needs one. `person` is the column of each row's person, if the promise is kept over
    people, too. `names` are the quasi-identifiers of the axes.
    """

    promise: PrivacyModel
    axes: tuple[int, ...]
    fixed: tuple[int, ...]
    sensitive: int | None = None
    coded: Coded | None = None
    person: int | None = None
    names: tuple[str, ...] = ()

    @property
    def monotone(self) -> bool:
        """True if merging groups that keep the promise cannot break it, over people either."""
        over_people = self.person is None or self.promise.merges_over_people
        return self.promise.monotone and over_people

    @property
    def kept_above(self) -> bool:
        """True if a node keeps the promise whenever one below it does, without suppression."""
        return self.monotone or self.promise.kept_by_coarser

    def failing(self, rows: LatticeRows) -> np.ndarray:
        """Mark the rows in groups that break the promise (bool, one per row)."""
        group, groups = self.group_rows(rows)
        failing = self.promise.failing(groups)
        if self.person is not None:
            values = {} if self.sensitive is None else {self._name: rows.codes[self.sensitive]}
            whose = rows.codes[self.person]
            people = count_people(group, whose, groups, values, rows.counts)
            failing = failing | self.promise.failing_over_people(people)
        return np.asarray(failing[group])

    @property
    def _name(self) -> str:
        return self.promise.sensitive or ""

    def group_rows(self, rows: LatticeRows) -> tuple[np.ndarray, Groups]:
        """Return the group of each row (int64, one per row), and the groups."""
        group, first = number_keys(*rows.key([*self.axes, *self.fixed]))
        sizes = np.bincount(group, rows.counts, len(first)).astype(np.int64)
        if self.sensitive is None or self.coded is None:
            return group, self._with_labels(Groups(sizes, {}), rows, first)
        values = max(self.coded.values, 1)
        pairs, counts = tally(
            group * values + rows.codes[self.sensitive], len(first) * values, rows.counts
        )
        counted = self.groups(sizes, *np.divmod(pairs, values), counts)
        return group, self._with_labels(counted, rows, first)

    def _with_labels(self, groups: Groups, rows: LatticeRows, first: np.ndarray) -> Groups:
        """Return groups with their labels, if the promise needs them; `first` is a row of each."""
        if not self.promise.needs_labels:
            return groups
        named = zip(self.names, self.axes, strict=True)
        return replace(groups, labels={name: rows.codes[axis][first] for name, axis in named})

    def groups(
        self, sizes: np.ndarray, group: np.ndarray, value: np.ndarray, count: np.ndarray
    ) -> Groups:
        """Return groups of these sizes (int64), with counts of the sensitive attribute, if any.

        `group`, `value` and `count` are parallel, as in `Counts`.
        """
        if self.coded is None:
            return Groups(sizes, {})
        _, values, numbers, labels, ancestors = self.coded
        counts = Counts(group, value, count, values, numbers, labels, ancestors)
        return Groups(sizes, {self._name: counts})


class LatticeProblem:
    """A lattice in which to find the node of least cost that keeps the promises.

    Columns of `rows`: the quasi-identifiers, the stratum, the vector of all other attributes that
    the metric depends on, the attributes of promises, and the person if people have several rows.

    Attributes:
        metric: the metric of a node's cost.
        starred: whether suppressed rows are still shown, with their quasi-identifiers at `tops`.
        budget: the number of rows that may be suppressed.
        promises: the promises.
        names: the quasi-identifiers.
        levels: by quasi-identifier, the node above each value at each level (int64, levels x
            values).
        tops: the highest level of each quasi-identifier.
        nodes: the number of nodes of the lattice.
        rows: the distinct rows with their counts.
        row_of: the distinct row of each row of the table (int64).
        over_people: whether people have several rows, so that promises are kept over people, too.
        scopes: the promises on columns of `rows`.
        original: the table before it is generalized, for the metric.
        k: the largest k that is promised, 1 if none is.

    Raises:
        PromiseError: if there is nothing to generalize, if a promise cannot be judged
            only from groups, or if there are more than 2,097,152 nodes.
    """

    def __init__(
        self,
        microdata: Microdata,
        strata: Sequence[str],
        promises: Sequence[PrivacyModel],
        parameters: FullDomainParameters,
        times: np.ndarray | None = None,
    ) -> None:
        """Collapse the rows; `times` is how many rows each represents (int64), None for one."""
        columns = microdata.with_roles("quasi-identifier")
        _require_judged(promises, columns, microdata.rows)
        self.metric: Metric = parameters.metric
        self.starred = parameters.suppressed == "star"
        counts = np.ones(microdata.rows, dtype=np.int64) if times is None else times
        self.budget = floor(Fraction(parameters.suppression) * int(counts.sum()))
        self.promises = promises
        self.names = [column.name for column in columns]
        self.levels = [_levels(column, strata) for column in columns]
        self.tops = tuple(len(nodes) - 1 for nodes in self.levels)
        self.nodes = prod(map(len, self.levels))
        if self.nodes > _MOST_NODES:
            raise PromiseError(
                f"full-domain: the hierarchies have {self.nodes} combinations of levels, "
                f"of which at most {_MOST_NODES} can be searched; remove levels, or use mondrian"
            )
        self.rows, self.row_of, place = _collapse(
            microdata, columns, strata, promises, self.metric, counts
        )
        self.over_people = microdata.person is not None
        self.scopes = [self._scope(promise, microdata, place) for promise in promises]
        domains = tuple(map(partial(domain_of, counts), columns, self.levels))
        self.original = Original(domains, self.rows.counts)
        self.k = largest_k(promises)

    def _scope(self, promise: PrivacyModel, microdata: Microdata, place: dict[str, int]) -> Scope:
        """Return a promise on the columns of `rows`; `place` is the column of each attribute."""
        names = promise.adversary_columns if promise.quasi_identifiers else self.names
        beside = {*promise.adversary_columns} - {*self.names}
        fixed = (len(self.names), *sorted(place[name] for name in beside))
        axes = tuple(axis for axis, name in enumerate(self.names) if name in names)
        person = len(self.rows.codes) - 1 if self.over_people else None
        named = tuple(self.names[axis] for axis in axes)
        if not promise.counts_values():
            return Scope(promise, axes, fixed, person=person, names=named)
        column = _sensitive(promise, microdata)
        coded = column.counted_codes()
        return Scope(promise, axes, fixed, place[column.name], coded, person, named)

    def cost(self, node: Node, rows: LatticeRows, suppressed: np.ndarray) -> Cost:
        """Return the cost of a node by the metric of the problem.

        Args:
            node: the level of each quasi-identifier.
            rows: the distinct rows at the node.
            suppressed: which of them are suppressed (bool, one per distinct row).
        """
        axes, further = len(self.levels), len(self.levels) + 1
        remaining = rows.take(~suppressed) if suppressed.any() else rows
        group, first = number_keys(*remaining.key(range(axes + 1)))
        withheld = np.bincount(
            rows.codes[further][suppressed], rows.counts[suppressed], rows.bounds[further]
        )
        table = Generalized(
            original=self.original,
            node=node,
            nodes=[codes[first] for codes in remaining.codes[:axes]],
            sizes=np.bincount(group, remaining.counts).astype(np.int64),
            group=group,
            value=remaining.codes[further],
            count=remaining.counts,
            suppressed=withheld.astype(np.int64),
            k=self.k,
        )
        return METRICS[self.metric](table)


def _require_judged(promises: Sequence[PrivacyModel], columns: Sequence[Column], rows: int) -> None:
    """Refuse a table with nothing to generalize, and promises that need more than its groups.

    Raises:
        PromiseError: in both cases.
    """
    if not columns or not rows:
        what = "rows" if columns else "quasi-identifiers"
        raise PromiseError(f"full-domain: the table has no {what} to generalize")
    for promise in promises:
        if promise.reference_uri is not None or promise.needs_covers:
            raise PromiseError(
                f"full-domain: cannot keep {promise.name}, which depends on more than the table's "
                "groups; leave it out, or use another partition"
            )


def _sensitive(promise: PrivacyModel, microdata: Microdata) -> Column:
    """Return the attribute that a promise protects; the only one, if it names none."""
    if promise.sensitive is not None:
        return microdata[promise.sensitive]
    return microdata.with_roles("sensitive")[0]


def _levels(column: Column, strata: Sequence[str]) -> np.ndarray:
    """Return the node above each category at each allowed level: a stratum stays at level 0."""
    levels = column.levels()
    return levels[:1] if column.name in strata else levels


def domain_of(counts: np.ndarray, column: Column, levels: np.ndarray) -> MetricDomain:
    """Return the domain of a column; a null, alone below the root, does not affect ranges.

    `counts` is how many rows each row represents (int64).
    """
    units = None
    if is_ordered(column.values.type) and len(column.values):
        units = exact(column.values, column.name).units
        units = np.concatenate([units[:1], units]) if column.has_null else units
    return domain(column.category()[0], levels, units, counts)


def _collapse(
    microdata: Microdata,
    columns: Sequence[Column],
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    metric: Metric,
    counts: np.ndarray,
) -> tuple[LatticeRows, np.ndarray, dict[str, int]]:
    """Return the distinct rows, each row's distinct row (int64), and the column of each attribute.

    The attributes are those of promises. The last column is each row's person, if people have
    several rows.
    """
    categories = [column.category() for column in columns]
    categories.append(_joint([microdata[name] for name in strata], microdata.rows))
    beside = [microdata[name] for name in strata if microdata[name] not in columns]
    further = [*beside, *microdata.with_roles("sensitive")] if metric == "kl" else []
    categories.append(_joint(further, microdata.rows))
    place: dict[str, int] = {}
    names = {column.name for column in columns}
    for promise in promises:
        own = [_sensitive(promise, microdata).name] if promise.counts_values() else []
        for name in sorted({*own, *promise.adversary_columns} - names - {*place}):
            place[name] = len(categories)
            categories.append(microdata[name].category())
    if microdata.person is not None:
        categories.append((microdata.person, int(microdata.person.max(initial=-1)) + 1))
    codes, bounds = zip(*categories, strict=True)
    codes = tuple(np.asarray(column, dtype=np.int64) for column in codes)
    rows = LatticeRows(codes, bounds, counts)
    return *rows.number(), place


def _joint(columns: Sequence[Column], rows: int) -> tuple[np.ndarray, int]:
    """Return one code per row (int64) for the vector of some columns, and the number of codes."""
    if not columns:
        return np.zeros(rows, dtype=np.int64), 1
    different, codes = np.unique(key(columns, rows)[0], return_inverse=True)
    return codes, len(different)
