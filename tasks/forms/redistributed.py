"""The form of distribution-based anonymization: subdomains in the place of sensitive values.

`qit` has the quasi-identifiers as they are and group_id; `st` the subdomains of each group, from
`lower` to `upper`, with their counts; `aims` the target of each group; `targets` the nodes of each
target (see `tasks.forms.targets`). A group may have more subdomains than rows: some are then of no
row, and nothing reveals which.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.groups import Groups, Target
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import TotalCount, rules_of_published
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.numbers import Number, plain
from sfumato.expectations.shared.sorting import stable_order, starts
from sfumato.tasks.arrays.ranks import places_in
from sfumato.tasks.forms import counts_table as st
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.order import canonical_with, is_canonical, is_sorted
from sfumato.tasks.forms.redistributed_parameters import FakesBy, RedistributedParameters
from sfumato.tasks.forms.targets import (
    LOWER,
    QIT,
    UPPER,
    OrderedDomain,
    are_numbered,
    domain_of,
    renumber,
    runs,
    schema_of,
    sensitive_name,
    shown_groups,
    table_of,
)
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, encode, key
from sfumato.tasks.partitions.partition import Partition, TargetDistributions
from sfumato.tasks.partitions.targets.distribution import weights_of_chances
from sfumato.tasks.partitions.targets.fakes import Measure, mean_width, with_fakes
from sfumato.tasks.partitions.targets.least import RangeTree
from sfumato.tasks.partitions.targets.minimum import LeastCopies, minima
from sfumato.tasks.partitions.targets.tree import Tree, balanced_tree, median_tree, taxonomy_tree
from sfumato.tasks.partitions.targets.trees_with_weights import Annotated, annotate
from sfumato.tasks.schema.names import AIMS, COUNT, GROUP_ID, TARGET, TARGETS
from sfumato.tasks.schema.published import Schema, names_with_roles

Trees = list[tuple[Tree, Annotated]]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Subdomains of groups: parallel, `count` copies of the run from `first` to `last`."""

    group: np.ndarray
    first: np.ndarray
    last: np.ndarray
    count: np.ndarray


_trees_of_targets: WeakKeyDictionary[TargetDistributions, tuple[RedistributedParameters, Trees]]
_trees_of_targets = WeakKeyDictionary()


def annotate_trees(
    aims: TargetDistributions, domain: OrderedDomain, parameters: RedistributedParameters
) -> Trees:
    """Return the tree of each distribution, annotated with it.

    Trees are made once for the same distributions and parameters, since what is published of them
    is measured afterwards.

    Raises:
        SpecError: where there is no such tree, its weights cannot be as small as wanted, or exact
            ones are too large to be published.
    """
    made_with, trees = _trees_of_targets.get(aims, (None, []))
    if made_with != parameters:
        trees = _annotate_trees(aims, domain, parameters)
        _trees_of_targets[aims] = parameters, trees
    return trees


def _annotate_trees(
    aims: TargetDistributions, domain: OrderedDomain, parameters: RedistributedParameters
) -> Trees:
    annotated = []
    for distribution in aims.distributions:
        weights = weights_of_chances(distribution)[np.argsort(domain.place)]
        tree = _tree(aims.name, domain, weights.tolist(), parameters)
        with_weights = annotate(tree, weights, None if aims.exact else parameters.largest)
        if max(with_weights.target.weight.tolist()) > INT64_MAX:
            raise SpecError(
                "form.denominator: the exact ratios of a target are too large; use a number, "
                "such as 16"
            )
        annotated.append((tree, with_weights))
    return annotated


def _tree(
    name: str, domain: OrderedDomain, weights: Sequence[int], parameters: RedistributedParameters
) -> Tree:
    match parameters.tree:
        case "balanced":
            return balanced_tree(len(domain), parameters.arity)
        case "median":
            return median_tree(weights, parameters.arity)
    if domain.ancestors is None:
        raise SpecError(f"form.tree: {name!r} has no hierarchy; declare one, or use another tree")
    tree, order = taxonomy_tree(domain.ancestors)
    if (np.diff(order) < 0).any():
        raise SpecError(
            f"form.tree: a node of the hierarchy of {name!r} has values that are not neighbours; "
            "use another tree"
        )
    return tree


def range_tree(column: Column, parameters: RedistributedParameters) -> RangeTree:
    """Return the tree of subdomains over a column's values, if it is the same for all targets.

    Raises:
        SpecError: where there is no such tree.
    """
    domain = domain_of(column)
    tree = _tree(column.name, domain, [], parameters)
    return RangeTree(tree, domain.lengths(tree.first, tree.last), np.argsort(domain.place))


@dataclass(frozen=True, eq=False)
class _NodeEnds:
    """The least and the greatest value of each node, in exact units or as positions."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of_tree(cls, tree: Tree, domain: OrderedDomain) -> Self:
        """Return the ends of the nodes of a tree over a domain."""
        units = np.arange(len(domain)) if domain.numbers is None else domain.numbers.units
        return cls(units[tree.first], units[tree.last])

    @property
    def lengths(self) -> np.ndarray:
        """The length of each node's range."""
        lengths: np.ndarray = self.high - self.low
        return lengths


def _measure_of_width(ends: _NodeEnds, rows: int) -> Measure:
    return lambda copies: mean_width(ends.low, ends.high, copies, rows)


MEASURES: Mapping[FakesBy, Callable[[_NodeEnds, int], Measure | None]] = {
    "ranges": lambda _ends, _rows: None,
    "width": _measure_of_width,
}
"""What the number of a group's fakes makes least, given the ends of nodes and the rows."""


def choose_subdomains(
    trees: Sequence[tuple[Tree, Target]],
    aim: np.ndarray,
    group: np.ndarray,
    place: np.ndarray,
    domain: OrderedDomain,
    parameters: RedistributedParameters,
) -> Chosen:
    """Return the subdomains of each group, with as many fakes as are allowed and useful.

    Args:
        trees: the trees with their targets.
        aim: the position in `trees` of each group's tree (int64, one per group).
        group: 0, 1, … (int64, one per row).
        place: the position of a row's value in the domain (int64, one per row).
        domain: the domain.
        parameters: of the form.
    """
    turn = stable_order(aim)
    rank = places_in(turn)
    pairs, counts = np.unique(rank[group] * len(domain) + place, return_counts=True)
    ranks, places = np.divmod(pairs, len(domain))
    parts = []
    for (tree, target), (low, high) in zip(trees, _spans(aim[turn], len(trees)), strict=True):
        start = np.searchsorted(ranks, np.arange(low, high + 1))
        leaf, count = tree.leaf[places[start[0] : start[-1]]], counts[start[0] : start[-1]]
        made = _copies(
            target, start - start[0], leaf, count, _NodeEnds.of_tree(tree, domain), parameters
        )
        first, last = tree.first[made.node], tree.last[made.node]
        parts.append((turn[low + made.group], first, last, made.count))
    return Chosen(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _spans(aims: np.ndarray, trees: int) -> list[tuple[int, int]]:
    """Return where the groups that share a tree begin and end; groups are sorted by their aims."""
    ends = np.searchsorted(aims, np.arange(trees + 1)).tolist()
    return list(pairwise(ends))


def _copies(
    target: Target,
    start: np.ndarray,
    leaf: np.ndarray,
    count: np.ndarray,
    ends: _NodeEnds,
    parameters: RedistributedParameters,
) -> LeastCopies:
    """Return the copies of each node for groups whose values follow one another."""
    sizes = np.add.reduceat(count, start[:-1]) if len(start) > 1 else count
    most = np.array([parameters.most(rows) for rows in sizes.tolist()], dtype=np.int64)
    plain = np.repeat(most == 0, np.diff(start))
    least = minima(target, _starts_of_chosen(start, plain), leaf[plain], count[plain])
    parts = [(least.group, least.node, least.count)]
    for index in np.flatnonzero(most).tolist():
        own = np.zeros(len(target.parent), dtype=np.int64)
        own[leaf[start[index] : start[index + 1]]] = count[start[index] : start[index + 1]]
        measure = MEASURES[parameters.fakes_by](ends, int(own.sum()))
        faked = with_fakes(target, own, ends.lengths, most[index], measure).copies
        nodes = np.flatnonzero(faked)
        parts.append((np.full(len(nodes), index), nodes, faked[nodes]))
    group, node, copies = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = stable_order(group)
    return LeastCopies(group[order], node[order], copies[order])


def _starts_of_chosen(start: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return where groups start among the chosen values (bool)."""
    before: np.ndarray = np.append(0, np.cumsum(chosen))[start]
    return before


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: RedistributedParameters,
    randomness: Randomness,
) -> Tables:
    """Spread the values of each group as its target says, publish in canonical order.

    Raises:
        PromiseError: where the partition aims at no distribution.
        SpecError: where the form's tree or denominator do not suit the values.
    """
    aims = _aims(partition)
    positions = np.flatnonzero(partition.group >= 0)
    group, column = partition.group[positions], microdata[aims.name]
    domain = domain_of(column)
    trees = [
        (tree, annotated.target) for tree, annotated in annotate_trees(aims, domain, parameters)
    ]
    place = domain.place[column.codes[positions]]
    chosen = choose_subdomains(trees, aims.target, group, place, domain, parameters)
    exact = microdata.take(positions).with_roles("quasi-identifier")
    bounds = runs(domain, chosen.first, chosen.last)
    tables = {
        QIT: {**{c.name: c.dictionary_array() for c in exact}, GROUP_ID: group},
        st.ST: {GROUP_ID: chosen.group, **bounds, COUNT: chosen.count},
        AIMS: {GROUP_ID: np.arange(len(aims.target)), TARGET: aims.target},
    }
    whole = {name: pa.table(columns) for name, columns in tables.items()}
    return canonical({**whole, TARGETS: table_of(domain, trees)})


def _aims(partition: Partition) -> TargetDistributions:
    if partition.target_distributions is None:
        raise PromiseError(
            "form redistributed needs a partition that gives targets; use stratum or exact-qi"
        )
    return partition.target_distributions


def rounding_distances(
    microdata: Microdata, partition: Partition, parameters: RedistributedParameters
) -> list[Fraction]:
    """Return the total variation between each declared distribution and the requested one."""
    aims = _aims(partition)
    trees = annotate_trees(aims, domain_of(microdata[aims.name]), parameters)
    return [annotated.distance for _, annotated in trees]


def canonical(tables: Tables) -> Tables:
    """Return the tables in canonical order: targets by their contents, then as any others.

    Raises:
        PromiseError: where a group aims at a target that does not exist.
    """
    targets, old, new = renumber(tables[TARGETS])
    aims = tables[AIMS]
    numbers = as_integers(aims[TARGET])
    places = np.searchsorted(old, numbers)
    if not len(old) or (old[np.minimum(places, len(old) - 1)] != numbers).any():
        raise PromiseError(f"{AIMS}: a group aims at a target that {TARGETS} lacks")
    where = aims.column_names.index(TARGET)
    renamed = aims.set_column(
        where, aims.schema.field(TARGET), as_array(new[places].astype(np.int64), pa.int64())
    )
    others = {name: table for name, table in tables.items() if name != TARGETS}
    ordered = canonical_with({**others, AIMS: renamed}, QIT)
    return {**ordered, TARGETS: targets}


def schemas(schema: Schema, parameters: RedistributedParameters) -> Mapping[str, pa.Schema]:
    """Return schemas: quasi-identifiers and bounds of their own types, numbers, and counts."""
    group = pa.field(GROUP_ID, pa.int64(), nullable=False)
    targets = schema_of(schema[sensitive_name(schema)].arrow_type)
    bounds = [targets.field(LOWER), targets.field(UPPER)]
    exact = [st.field(name, schema) for name in names_with_roles(schema, "quasi-identifier")]
    return {
        QIT: pa.schema([*exact, group]),
        st.ST: pa.schema([group, *bounds, pa.field(COUNT, pa.int64(), nullable=False)]),
        AIMS: pa.schema([group, targets.field(TARGET)]),
        TARGETS: targets,
    }


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Return the subdomains shown per group_id, and the target of each group.

    Raises:
        PromiseError: where the tables contradict each other.
    """
    seen = shown_groups(tables, schema)
    name = sensitive_name(schema)
    return Groups(seen.sizes, {}, subdomains={name: seen.subdomains} if name in sensitive else {})


def rules(
    schema: Schema, parameters: RedistributedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules: one row per person in `qit`, other rows once, fakes only if allowed."""
    arrow = schemas(schema, parameters)
    ordered: Mapping[str, Callable[[pa.Table], bool]] = {
        QIT: is_canonical,
        st.ST: _once(GROUP_ID, LOWER, UPPER),
        AIMS: _once(GROUP_ID),
        TARGETS: are_numbered,
    }
    besides = {QIT: (GROUP_ID,)} | {n: arrow[n].names for n in (st.ST, AIMS, TARGETS)}
    by_table = {
        name: rules_of_published(
            arrow[name], rows if name == QIT else None, check, withheld, besides[name]
        )
        for name, check in ordered.items()
    }
    if not parameters.fakes:
        by_table[st.ST] = (*by_table[st.ST], TotalCount(COUNT, rows))
    return by_table


def _once(*names: str) -> Callable[[pa.Table], bool]:
    """Return a check that rows are sorted, and have different values in these columns."""

    def holds(table: pa.Table) -> bool:
        keys, _ = key([encode(n, "insensitive", table[n]) for n in names], table.num_rows)
        return is_sorted(table) and len(starts(keys)) == table.num_rows  # equal ones are neighbours

    return holds


def fakes(tables: Tables) -> int:
    """Return the number of made-up values: subdomains without a row."""
    return int(as_integers(tables[st.ST][COUNT]).sum()) - int(tables[QIT].num_rows)


def diagnostics(
    original: Microdata,
    partition: Partition,
    tables: Tables,
    schema: Schema,
    parameters: RedistributedParameters,
) -> dict[str, Any]:
    """Return the sum of ranges, the share at the root, and targets' distances from the requested.

    The distance is the total variation, of each target by its number in the order of the partition.
    """
    rounded = rounding_distances(original, partition, parameters)
    return {
        **facts(tables, schema),
        "distance_of_targets": [float(distance) for distance in rounded],
    }


def facts(tables: Tables, schema: Schema) -> dict[str, Number | str]:
    """Measure the tables' accuracy exactly: ranges, the share at the root, fakes.

    `sum_of_ranges` is in the attribute's units; where values have no distance, a range is the
    number of its values, less one.

    Raises:
        PromiseError: where the tables contradict each other.
    """
    seen = shown_groups(tables, schema)
    domain, row, count = seen.published.domain, seen.row, seen.subdomains.count
    lengths = domain.lengths(seen.published.first[row], seen.published.last[row])
    total = sum(length * n for length, n in zip(lengths.tolist(), count.tolist(), strict=True))
    copies = int(count.sum())
    at_root = int(count[seen.subdomains.node == 0].sum())
    exact = domain.numbers.fraction(total) if domain.numbers else total
    return {
        "sum_of_ranges": plain(exact),
        "share_at_the_root": plain(Fraction(at_root, copies)),
        "fakes": copies - int(seen.sizes.sum()),
    }
