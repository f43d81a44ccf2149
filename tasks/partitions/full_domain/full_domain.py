"""Full-domain generalization: each quasi-identifier at the one level that loses the least.

The optimum over all levels is exact: of the nodes of the lattice that keep every promise it is the
one of least cost, and of several the lowest, then the lexicographically first. With a budget, rows
of groups that break a promise are suppressed, again and again until no group does.

Source: Samarati and Sweeney; LeFevre, DeWitt, Ramakrishnan, Incognito (SIGMOD 2005). A suppression
budget keeps the lattice monotone for k-anonymity alone: a group that is diverse may be merged with
one that is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, prod
from typing import Any

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.exact import exact, is_ordered
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.partitions.full_domain.lattice import (
    LatticeRows,
    Node,
    Scope,
    minimal,
    number_keys,
    shown_rows,
    suppress_failing,
    walk,
)
from sfumato.tasks.partitions.full_domain.metrics import (
    METRICS,
    Cost,
    Generalized,
    MetricDomain,
    Original,
    domain,
)
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters, Metric
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.shared.thresholds import largest_k

_MOST_NODES = 2**21


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: FullDomainParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows that are equal once each quasi-identifier is at its best level.

    A stratum that is a quasi-identifier stays at level 0. Suppressed rows are dropped (group -1),
    or become one group per stratum with all other quasi-identifiers at the root.

    Raises:
        PromiseError: where no node keeps the promises within the budget, where one cannot be judged
            from groups alone, or where there are more than 2,097,152 nodes.
    """
    question = _Question(microdata, strata, promises, parameters)
    found = question.answer()
    rows, levels = question.rows.at(question.levels, found.node), question.levels
    suppressed, starred = found.suppressed, parameters.suppressed == "star"
    shown = shown_rows(rows, found.node, question.tops, suppressed)
    group_of, first = _groups(shown, len(levels), suppressed & (not starred))
    level = np.where(suppressed[first], np.array([question.tops]).T, np.array([found.node]).T)
    recoding = dict(zip(question.names, level.astype(np.int64), strict=True))
    return Partition(group_of[question.row_of], recoding, question.facts(found))


def _groups(shown: LatticeRows, axes: int, dropped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of each distinct row, -1 where dropped, and a row of each group."""
    kept = np.flatnonzero(~dropped)
    group, first = number_keys(*shown.take(kept).key(range(axes + 1)))
    group_of = np.full(len(shown), -1, dtype=np.int64)
    group_of[kept] = group
    return group_of, kept[first]


@dataclass(frozen=True, eq=False)
class _FoundNode:
    """The best node, what it costs, and which distinct rows it suppresses."""

    node: Node
    cost: Cost
    suppressed: np.ndarray
    judged: int
    minimal: tuple[tuple[Node, Cost], ...] = field(default=())


class _Question:
    """The table and its promises, as a lattice.

    Columns of `rows`: the quasi-identifiers, the stratum, what else metrics tell apart, and the
    attributes of promises.
    """

    def __init__(
        self,
        microdata: Microdata,
        strata: Sequence[str],
        promises: Sequence[PrivacyModel],
        parameters: FullDomainParameters,
    ) -> None:
        columns = microdata.with_roles("quasi-identifier")
        _require_judged(promises, columns, microdata.rows)
        self.metric: Metric = parameters.metric
        self.starred = parameters.suppressed == "star"
        self.budget = floor(Fraction(parameters.suppression) * microdata.rows)
        self.promises = promises
        self.names = [column.name for column in columns]
        self.levels = [_levels(column, strata) for column in columns]
        self.tops = tuple(len(nodes) - 1 for nodes in self.levels)
        if (nodes := prod(map(len, self.levels))) > _MOST_NODES:
            raise PromiseError(
                f"full-domain: the hierarchies have {nodes} combinations of levels, "
                f"of which at most {_MOST_NODES} can be searched"
            )
        self.rows, self.row_of, place = _collapsed(
            microdata, columns, strata, promises, self.metric
        )
        self.scopes = [self._scope(promise, microdata, place) for promise in promises]
        domains = tuple(map(_domain, columns, self.levels))
        self.original = Original(domains, self.rows.counts)
        self.k = largest_k(promises)

    def _scope(self, promise: PrivacyModel, microdata: Microdata, place: dict[str, int]) -> Scope:
        told = promise.adversary_columns if promise.quasi_identifiers else self.names
        known = {*promise.adversary_columns} - {*self.names}
        fixed = (len(self.names), *sorted(place[name] for name in known))
        axes = tuple(axis for axis, name in enumerate(self.names) if name in told)
        if not promise.protects:
            return Scope(promise, axes, fixed)
        column = _sensitive(promise, microdata)
        return Scope(promise, axes, fixed, place[column.name], column.coded())

    def answer(self) -> _FoundNode:
        """The best node.

        Raises:
            PromiseError: where no node keeps the promises.
        """
        self._require_feasible()
        if self.budget or not all(promise.monotone for promise in self.promises):
            return self._of_all()
        found = minimal(self.rows, self.levels, self.scopes)
        none = np.zeros(len(self.rows), dtype=bool)
        costs = []
        for node in found.nodes:
            rows = self.rows.at(self.levels, node)
            rows = rows.collapse()[0] if self.metric == "kl" else rows
            costs.append((self._cost(node, rows, np.zeros(len(rows), dtype=bool)), sum(node), node))
        costs.sort()
        cost, _, node = costs[0]
        return _FoundNode(node, cost, none, found.judged, tuple((n, c) for c, _, n in costs))

    def _require_feasible(self) -> None:
        """Without suppression, whatever merging cannot break holds at the root if anywhere."""
        if self.budget:
            return
        top = self.rows.at(self.levels, self.tops)
        for scope in self.scopes:
            if scope.promise.monotone and scope.failing(top).any():
                raise PromiseError(
                    f"{scope.promise.name} cannot be kept by full-domain generalization: "
                    "it is broken with all quasi-identifiers at the root"
                )

    def _of_all(self) -> _FoundNode:
        """The best of all nodes, each judged and evaluated.

        Only for k-anonymity what is suppressed at a node is at least what is above it.
        """
        skipped = np.zeros([len(nodes) for nodes in self.levels], dtype=bool)
        prunes = all(isinstance(promise, KAnonymity) for promise in self.promises)
        best: tuple[Cost, int, Node] | None = None
        judged = 0
        for node, rows in walk(self.rows, self.levels, skipped):
            judged += 1
            suppressed, kept = self._suppressed(node, rows)
            if kept:
                offered = (self._cost(node, rows, suppressed), sum(node), node)
                best = offered if best is None else min(best, offered)
            elif prunes and int(rows.counts[suppressed].sum()) > self.budget:
                skipped[tuple(slice(level + 1) for level in node)] = True
        if best is None:
            names = ", ".join(dict.fromkeys(promise.name for promise in self.promises))
            raise PromiseError(
                f"{names} cannot be kept by full-domain generalization "
                f"with at most {self.budget} of {self.original.rows} rows suppressed"
            )
        cost, _, node = best
        suppressed, _ = self._suppressed(node, self.rows.at(self.levels, node))
        return _FoundNode(node, cost, suppressed, judged)

    def _suppressed(self, node: Node, rows: LatticeRows) -> tuple[np.ndarray, bool]:
        return suppress_failing(rows, node, self.tops, self.scopes, self.budget, self.starred)

    def _cost(self, node: Node, rows: LatticeRows, suppressed: np.ndarray) -> Cost:
        """What a node costs, given its distinct rows and which of them are suppressed."""
        axes, told = len(self.levels), len(self.levels) + 1
        kept = rows.take(~suppressed) if suppressed.any() else rows
        group, first = number_keys(*kept.key(range(axes + 1)))
        withheld = np.bincount(
            rows.codes[told][suppressed], rows.counts[suppressed], rows.bounds[told]
        )
        table = Generalized(
            original=self.original,
            node=node,
            nodes=[codes[first] for codes in kept.codes[:axes]],
            sizes=np.bincount(group, kept.counts).astype(np.int64),
            group=group,
            value=kept.codes[told],
            count=kept.counts,
            suppressed=withheld.astype(np.int64),
            k=self.k,
        )
        return METRICS[self.metric](table)

    def facts(self, found: _FoundNode) -> dict[str, Any]:
        """What the search has found, for its steward."""
        facts: dict[str, Any] = {
            "nodes": prod(map(len, self.levels)),
            "nodes_judged": found.judged,
            "levels": dict(zip(self.names, found.node, strict=True)),
            "metric": self.metric,
            "cost": float(found.cost),
            "rows_suppressed": int(self.rows.counts[found.suppressed].sum()),
        }
        if found.minimal:
            facts["minimal_nodes"] = [
                {"levels": list(node), "cost": float(cost)} for node, cost in found.minimal
            ]
        return facts


def _require_judged(promises: Sequence[PrivacyModel], columns: Sequence[Column], rows: int) -> None:
    if not columns or not rows:
        what = "rows" if columns else "quasi-identifiers"
        raise PromiseError(f"full-domain: there are no {what} to generalize")
    for promise in promises:
        if promise.reference_uri is not None or promise.needs_covers:
            raise PromiseError(
                f"full-domain: {promise.name} cannot be aimed at, "
                "for it is not judged from the table's groups alone"
            )


def _sensitive(promise: PrivacyModel, microdata: Microdata) -> Column:
    """The attribute that a promise protects; the only one, where it names none."""
    if promise.sensitive is not None:
        return microdata[promise.sensitive]
    return microdata.with_roles("sensitive")[0]


def _levels(column: Column, strata: Sequence[str]) -> np.ndarray:
    """The node above each category at each level that is allowed: a stratum is kept as it is."""
    levels = column.levels()
    return levels[:1] if column.name in strata else levels


def _domain(column: Column, levels: np.ndarray) -> MetricDomain:
    """The domain of a column; a null, which is alone below the root, has no influence on ranges."""
    units = None
    if is_ordered(column.values.type) and len(column.values):
        units = exact(column.values, column.name).units
        units = np.concatenate([units[:1], units]) if column.has_null else units
    return domain(column.category()[0], levels, units)


def _collapsed(
    microdata: Microdata,
    columns: Sequence[Column],
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    metric: Metric,
) -> tuple[LatticeRows, np.ndarray, dict[str, int]]:
    """The distinct rows, the one of each row, and the place of each attribute of a promise."""
    categories = [column.category() for column in columns]
    categories.append(_joint([microdata[name] for name in strata], microdata.rows))
    beside = [microdata[name] for name in strata if microdata[name] not in columns]
    told = [*beside, *microdata.with_roles("sensitive")] if metric == "kl" else []
    categories.append(_joint(told, microdata.rows))
    place: dict[str, int] = {}
    names = {column.name for column in columns}
    for promise in promises:
        own = [_sensitive(promise, microdata).name] if promise.protects else []
        for name in sorted({*own, *promise.adversary_columns} - names - {*place}):
            place[name] = len(categories)
            categories.append(microdata[name].category())
    codes, bounds = zip(*categories, strict=True)
    codes = tuple(np.asarray(column, dtype=np.int64) for column in codes)
    rows = LatticeRows(codes, bounds, np.ones(microdata.rows, dtype=np.int64))
    return *rows.collapse(), place


def _joint(columns: Sequence[Column], rows: int) -> tuple[np.ndarray, int]:
    """One code per row for the vector of some columns."""
    if not columns:
        return np.zeros(rows, dtype=np.int64), 1
    different, codes = np.unique(key(columns, rows)[0], return_inverse=True)
    return codes, len(different)
