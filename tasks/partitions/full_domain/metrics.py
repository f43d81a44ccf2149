"""Metrics of information loss in a generalized table, which a lattice search minimises.

A cell is the value of one quasi-identifier in one row. Domains are the values present in the rows
that are to be represented, suppressed ones included, and not the leaves of the hierarchies. A
suppressed row counts as fully generalized. As long as no row is suppressed, none of the metrics
improves when a level is raised.

Sources: height: Samarati; precision: Sweeney; discernibility: Bayardo and Agrawal; average class
size: LeFevre et al.; non-uniform entropy: Gionis and Tassa; NCP (normalized certainty penalty): Xu
et al.; KL (Kullback-Leibler divergence): Machanavajjhala et al., l-diversity (ICDE 2006).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.partitions.full_domain.parameters import Metric

Cost = int | Fraction | float

_DECIMALS = 12  # costs of floats that differ by less are equal


class DomainLevel(NamedTuple):
    """The nodes of one level: `rows` and present `values` below each, and its certainty `penalty`.

    All are int64, one per node. The penalty is in parts of the domain's `whole`, and consists of
    Python integers where the column's units do.
    """

    rows: np.ndarray
    values: np.ndarray
    penalty: np.ndarray


@dataclass(frozen=True, eq=False)
class MetricDomain:
    """A quasi-identifier's levels, and the whole of which its penalties are parts."""

    levels: tuple[DomainLevel, ...]
    whole: int

    @property
    def height(self) -> int:
        """The number of times that a value can be generalized."""
        return len(self.levels) - 1


def domain(
    codes: np.ndarray,
    ancestors: np.ndarray,
    units: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> MetricDomain:
    """Return the domain of a quasi-identifier: the values that its rows have.

    The penalty of a node is the range of its values if they are numbers, otherwise their number; 0
    for a single value.

    Args:
        codes: the value of each row (integers, one per row).
        ancestors: the node above each value at each level (integers, levels x values), numbered
            from 0; level 0 has the values themselves, and each level is coarser than the one
            before.
        units: the values as whole numbers of some unit, ascending, where they are numbers.
        counts: how many rows each represents (int64, one per row), where that is not one.
    """
    rows = np.bincount(codes, counts, ancestors.shape[1]).astype(np.int64)
    present = np.flatnonzero(rows)
    whole = len(present)
    if units is not None:
        units = units[present]
        whole = int(units.max()) - int(units.min())
        if not whole:
            return domain(codes, ancestors, counts=counts)
    levels = (_level(nodes[present], rows[present], units) for nodes in ancestors)
    return MetricDomain(tuple(levels), whole)


def _level(nodes: np.ndarray, rows: np.ndarray, units: np.ndarray | None) -> DomainLevel:
    """Return the nodes of one level, given the node, the rows and the units of each value present.

    `units` ascend; None if the values are no numbers.
    """
    number = int(nodes.max()) + 1
    below = np.bincount(nodes, rows, number).astype(np.int64)
    values = np.bincount(nodes, minlength=number)
    if units is None:
        return DomainLevel(below, values, np.where(values > 1, values, 0))
    ordered = units[np.argsort(nodes, kind="stable")]
    ends = np.cumsum(values)
    some = values > 0
    penalty = np.zeros(number, dtype=units.dtype)
    penalty[some] = ordered[ends[some] - 1] - ordered[(ends - values)[some]]
    return DomainLevel(below, values, penalty)


@dataclass(frozen=True, eq=False)
class Original:
    """The table before it is generalized: its domains and the counts of its distinct rows.

    `counts` (int64) has an entry for each vector of quasi-identifiers and further values that
    occurs.
    """

    domains: tuple[MetricDomain, ...]
    counts: np.ndarray

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def log_likelihood(self) -> float:
        """The sum over the rows of the logarithm of the row's count."""
        return float((self.counts * np.log(self.counts)).sum())

    @cached_property
    def value_log_likelihood(self) -> float:
        """The sum over the cells of the logarithm of the value's count in its column."""
        return sum(entropy_of(domain.levels[0]) for domain in self.domains)


@dataclass(frozen=True, eq=False)
class Generalized:
    """A table generalized to the levels `node`, less its suppressed rows.

    `nodes[i]` is each group's node of quasi-identifier i, `sizes` has the groups' rows (int64, one
    per group). `group`, `value` and `count` (int64) are parallel: the count of a value (all further
    attributes of a row together) in a group, each pair once; `suppressed` has the suppressed rows
    of each value (int64, one per value). `k` is the promised group size.
    """

    original: Original
    node: tuple[int, ...]
    nodes: Sequence[np.ndarray]
    sizes: np.ndarray
    group: np.ndarray
    value: np.ndarray
    count: np.ndarray
    suppressed: np.ndarray
    k: int = 1

    @cached_property
    def rows_suppressed(self) -> int:
        """Number of suppressed rows."""
        return int(self.suppressed.sum())

    def levels(self) -> Iterator[tuple[DomainLevel, np.ndarray]]:
        """Yield each quasi-identifier's level, and each group's node there (int64)."""
        for domain, level, nodes in zip(self.original.domains, self.node, self.nodes, strict=True):
            yield domain.levels[level], nodes


def height(table: Generalized) -> int:
    """Return the sum of the levels."""
    return sum(table.node)


def precision(table: Generalized) -> Fraction:
    """Return 1 - Prec: the mean over all cells of the level over the height; 1 if suppressed.

    A quasi-identifier that cannot be generalized adds nothing.
    """
    domains, rows = table.original.domains, table.original.rows
    steps = sum(Fraction(x, max(d.height, 1)) for x, d in zip(table.node, domains, strict=True))
    kept_rows = rows - table.rows_suppressed
    return (Fraction(steps) / len(domains) * kept_rows + table.rows_suppressed) / rows


def discernibility(table: Generalized) -> int:
    """Return Σ |B|² over the groups, of |B| rows each, plus n for each suppressed one of n rows.

    So each row counts the rows of its group, and a suppressed row counts all rows.
    """
    sizes = table.sizes.astype(object) if table.original.rows > 2**31 else table.sizes
    return int((sizes * sizes).sum()) + table.original.rows * table.rows_suppressed


def average_class_size(table: Generalized) -> Fraction:
    """Return C_avg: the mean number of rows of a group, over k; suppressed rows are in none."""
    return Fraction(int(table.sizes.sum()), len(table.sizes) * table.k)


def entropy(table: Generalized) -> float:
    """Return the non-uniform entropy: the mean over rows of Σ_i ln(rows of node i / of value i)."""
    original = table.original
    logs = sum(np.log(level.rows[nodes]) for level, nodes in table.levels())
    suppressed = table.rows_suppressed * len(original.domains) * np.log(original.rows)
    total = float((table.sizes * logs).sum()) + float(suppressed)
    return _round_cost((total - original.value_log_likelihood) / original.rows)


def ncp(table: Generalized) -> Fraction:
    """Return the normalized certainty penalty, the exact mean over all cells.

    The penalty of a numeric cell is the range of the values below its node over the range of all;
    of a categorical cell, the number of values below its node over the number of all (0 for a
    single value); of a suppressed cell, 1.
    """
    wholes = [domain.whole for domain in table.original.domains]
    penalties = zip(table.levels(), wholes, strict=True)
    cells = sum(Fraction(_total(*level, table.sizes), whole) for level, whole in penalties)
    suppressed = table.rows_suppressed * len(wholes)
    return Fraction(cells + suppressed) / (table.original.rows * len(wholes))


def penalty_of(level: DomainLevel) -> int:
    """Return the penalty of all rows of a column at a level."""
    return _total(level, np.arange(len(level.rows)), level.rows)


def entropy_of(level: DomainLevel) -> float:
    """Return the sum over a column's rows of the logarithm of the rows of their node."""
    return float((level.rows * np.log(np.maximum(level.rows, 1))).sum())


def _total(level: DomainLevel, nodes: np.ndarray, sizes: np.ndarray) -> int:
    """Return the penalty of all rows of groups of these sizes."""
    largest = int(level.penalty.max()) * int(sizes.sum())
    penalty = level.penalty if largest <= INT64_MAX else level.penalty.astype(object)
    return int((sizes * penalty[nodes]).sum())


def kl(table: Generalized) -> float:
    """Return the KL divergence of the table from the generalized one, in nats.

    The generalized table spreads each row evenly over the combinations of values that its nodes
    represent, and a suppressed row over all combinations.
    """
    original = table.original
    spread = sum(np.log(level.values[nodes]) for level, nodes in table.levels())
    everywhere = sum(np.log(domain.levels[0].values.sum()) for domain in original.domains)
    logs = np.log(table.count) - spread[table.group]
    likelihood = 0.0
    if table.rows_suppressed:
        withheld = table.suppressed[table.suppressed > 0]
        added = np.full(len(table.suppressed), -np.inf)
        added[table.suppressed > 0] = np.log(withheld) - everywhere
        logs = np.logaddexp(logs, added[table.value])
        likelihood = float((withheld * (np.log(withheld) - everywhere)).sum())
    likelihood += float((table.count * logs).sum())
    return _round_cost((original.log_likelihood - likelihood) / original.rows)


def _round_cost(cost: float) -> float:
    return round(cost, _DECIMALS) + 0.0


METRICS: Mapping[Metric, Callable[[Generalized], Cost]] = {
    "height": height,
    "precision": precision,
    "discernibility": discernibility,
    "average-class-size": average_class_size,
    "entropy": entropy,
    "ncp": ncp,
    "kl": kl,
}
"""The metrics that a lattice search can minimise, by the name they have in a spec."""
