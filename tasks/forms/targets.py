"""The table of targets: every node of each annotated hierarchy, with its weight and its groups.

A node is the run from `lower` to `upper` in the order of the domain; the node above it contains it.
A leaf is one value, and every target has a leaf for each value. The root has weight 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from io import BytesIO
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import pack
from sfumato.expectations.groups.groups import Subdomains, Target
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import Exact, exact, is_ordered
from sfumato.expectations.shared.sorting import distinct, stable_order
from sfumato.tasks.arrays.ranks import places_in
from sfumato.tasks.forms import counts_table as st
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Column, encode, key
from sfumato.tasks.partitions.targets.tree import Tree, taxonomy_tree
from sfumato.tasks.schema.names import AIMS, COUNT, GROUP_ID, TARGET, TARGETS
from sfumato.tasks.schema.published import DeclaredColumn, Schema, names_with_roles

_NO_TREE = f"{TARGETS}: subdomains of a target overlap, or have no parent"
_alive: WeakValueDictionary[bytes, Target] = WeakValueDictionary()
QIT = "qit"


@dataclass(frozen=True, eq=False)
class OrderedDomain:
    """The values in their order; `place` is the position of each of `Column.values`.

    Numbers, dates and timestamps ascend, and are known exactly. Other values are in the order of
    their hierarchy's leaves, or ascend if they have no hierarchy. `ancestors[level]` numbers the
    node above each position at each level, in the order of appearance.
    """

    values: pa.Array
    place: np.ndarray
    numbers: Exact | None
    ancestors: np.ndarray | None

    def __len__(self) -> int:
        return len(self.place)

    def lengths(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return the ranges of runs: exact units of values, or their number less one."""
        units = np.arange(len(self)) if self.numbers is None else self.numbers.units
        lengths: np.ndarray = units[last] - units[first]
        return lengths


def domain_of(column: Column) -> OrderedDomain:
    """Return the domain of the values of a column without nulls."""
    ordered = is_ordered(column.values.type)
    order = np.arange(len(column.values))
    if column.ancestors is not None and not ordered:
        order = taxonomy_tree(column.ancestors)[1]
    place = places_in(order)
    values = column.values.take(as_array(order.astype(np.int64), pa.int64()))
    ancestors = None if column.ancestors is None else _as_they_appear(column.ancestors[:, order])
    return OrderedDomain(values, place, exact(values, column.name) if ordered else None, ancestors)


def _as_they_appear(ancestors: np.ndarray) -> np.ndarray:
    """Return the same nodes, those of each level numbered in the order of their first values."""
    levels = []
    for nodes in ancestors:
        _, first, number = np.unique(nodes, return_index=True, return_inverse=True)
        levels.append(places_in(np.argsort(first))[number])
    return np.array(levels, dtype=np.int64)


LOWER, UPPER, WEIGHT = "lower", "upper", "weight"


_NODE = (TARGET, LOWER, UPPER)


def table_of(domain: OrderedDomain, trees: Sequence[tuple[Tree, Target]]) -> pa.Table:
    """Return the nodes of targets over a domain, numbered in the order of `trees`."""
    sizes = [len(tree.parent) for tree, _ in trees]
    first, last, weight = (
        np.concatenate(part)
        for part in zip(
            *((tree.first, tree.last, target.weight) for tree, target in trees), strict=True
        )
    )
    number, bounds = np.repeat(np.arange(len(trees)), sizes), runs(domain, first, last)
    return pa.table({TARGET: number, **bounds, WEIGHT: weight.astype(np.int64)})


def runs(domain: OrderedDomain, first: np.ndarray, last: np.ndarray) -> dict[str, pa.Array]:
    """Return the values at the ends of runs, by their positions in the domain (int64)."""
    return {
        LOWER: domain.values.take(_integers(first)),
        UPPER: domain.values.take(_integers(last)),
    }


def schema_of(type_: pa.DataType) -> pa.Schema:
    """Return the schema of a number, the ends of a run of values of this type, and a weight."""
    types = {TARGET: pa.int64(), LOWER: type_, UPPER: type_, WEIGHT: pa.int64()}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])


def renumber(table: pa.Table) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Number targets by their contents, equal ones once; sort rows by number, lower, upper.

    Nodes ascend in lower and descend in upper, as values, so that roots come first.

    Returns:
        The table, the targets' old numbers (int64, ascending), and the new number of each (int64).
    """
    number, ends = as_integers(table[TARGET]), _both(table).codes
    low, high = ends[: len(number)], ends[len(number) :]
    order = np.lexsort((-high, low, number))
    old, starts = np.unique(number[order], return_index=True)
    nodes = np.stack([low, -high, as_integers(table[WEIGHT])], axis=1)[order]
    contents = [tuple(part.ravel().tolist()) for part in np.split(nodes, starts[1:]) if len(part)]
    rows = dict(zip(contents, np.split(order, starts[1:]), strict=False))
    place = {content: index for index, content in enumerate(sorted(rows))}
    row_sets = [rows[content] for content in place]
    again = np.repeat(np.arange(len(row_sets)), [len(part) for part in row_sets])
    taken = table.take(_integers(np.concatenate([order[:0], *row_sets])))
    new = np.array([place[content] for content in contents], dtype=np.int64)
    return taken.set_column(0, table.schema.field(TARGET), _integers(again)), old, new


def _integers(numbers: np.ndarray) -> pa.Array:
    return as_array(numbers.astype(np.int64), pa.int64())


def are_numbered(table: pa.Table) -> bool:
    """Decide whether the rows and numbers are as `renumber` would have them, each node once."""
    again, old, new = renumber(table)
    keys, _ = key([encode(n, "insensitive", table[n]) for n in _NODE], table.num_rows)
    once = len(distinct(keys)) == table.num_rows
    return once and np.array_equal(old, new) and bool(again.equals(table))


def _both(table: pa.Table) -> Column:
    """Return the lower and then the upper ends of all rows, as one column."""
    ends = [*table[LOWER].chunks, *table[UPPER].chunks]
    return encode(LOWER, "sensitive", pa.chunked_array(ends, table.schema.field(LOWER).type))


@dataclass(frozen=True, eq=False)
class PublishedTargets:
    """Targets as published, their nodes sorted by target, first, last.

    Attributes:
        domain: the domain of the attribute.
        target: that each node is of (int64, one per node).
        node: its number in its target, in this order (int64, one per node).
        first: the position of its least value in the domain (int64, one per node).
        last: the position of its greatest value (int64, one per node).
        targets: the trees of the nodes with their weights.
    """

    domain: OrderedDomain
    target: np.ndarray
    node: np.ndarray
    first: np.ndarray
    last: np.ndarray
    targets: tuple[Target, ...]


def read(table: pa.Table, name: str, declared: DeclaredColumn) -> PublishedTargets:
    """Return the targets that a table has for an attribute.

    Raises:
        PromiseError: where its rows are no hierarchies over one domain, each with all its values.
    """
    ends = _with_hierarchy(_both(table), declared)
    if ends.has_null or not table.num_rows:
        raise PromiseError(f"{TARGETS}: has no rows of {name!r}, or bounds that are null")
    domain = domain_of(ends)
    number, weight = as_integers(table[TARGET]), as_integers(table[WEIGHT])
    place = domain.place[ends.codes]
    first, last = place[: len(number)], place[len(number) :]
    order = np.lexsort((-last, first, number))
    number, weight, first, last = number[order], weight[order], first[order], last[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    leaves = np.bincount(number[first == last], minlength=len(starts)) if _dense(number) else [0]
    if not np.array_equal(leaves, np.full(len(starts), len(domain))):
        raise PromiseError(f"{TARGETS}: not every target, 0, 1, …, has every value once")
    parent = _parents(number, first, last)
    if (weight[starts] != 1).any() or (weight < 0).any():
        raise PromiseError(f"{TARGETS}: a weight is negative, or a root's is not 1")
    if not _are_reduced(parent, weight, starts, number):
        raise PromiseError(f"{TARGETS}: weights of siblings have a common divisor")
    targets = map(_target, np.split(parent, starts[1:]), np.split(weight, starts[1:]))
    node = np.arange(len(number)) - starts[number]
    return PublishedTargets(domain, number, node, first, last, tuple(targets))


def _target(parent: np.ndarray, weight: np.ndarray) -> Target:
    """Return the target of these nodes, the one in use if there is one: results are kept for it."""
    content = blake2b(parent.tobytes())
    content.update(weight.tobytes())
    return _alive.setdefault(content.digest(), Target(parent, weight))


def _are_reduced(
    parent: np.ndarray, weight: np.ndarray, starts: np.ndarray, number: np.ndarray
) -> bool:
    """Decide whether no siblings' weights have a common divisor: there is one way to write them."""
    below = parent >= 0
    siblings = (parent + starts[number])[below]
    order = stable_order(siblings)
    first = np.flatnonzero(np.diff(siblings[order], prepend=-1))
    return not len(first) or bool((np.gcd.reduceat(weight[below][order], first) <= 1).all())


def _with_hierarchy(column: Column, declared: DeclaredColumn) -> Column:
    if declared.hierarchy is None or column.has_null:
        return column
    hierarchy = hierarchy_of(column, declared.hierarchy)
    texts = pc.cast(column.values, pa.string()).to_pylist()
    if any(text not in hierarchy for text in texts):
        raise PromiseError(f"{TARGETS}: a bound is not a leaf of the hierarchy")
    return with_ancestors(column, hierarchy)


def _dense(number: np.ndarray) -> bool:
    """Decide whether ascending numbers are 0, 1, … without a gap."""
    return bool(number[0] == 0) and bool((np.diff(number) <= 1).all())


def _parents(number: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return the node above each sorted node (int64), by its number in the target; -1 for roots.

    All are int64, one per node, sorted by target, then first, then last in descending order. Of the
    nodes before it in its target a node is inside those that have not ended when it begins: their
    number is its depth, and the last one of the depth before is the node above.

    Raises:
        PromiseError: where nodes overlap, occur twice, or are inside none but the root.
    """
    rows = np.arange(len(number))
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    start, span = starts[number], int(last.max(initial=0)) + 2
    ended = np.searchsorted(np.sort(number * span + last), number * span + first) - start
    depth = rows - start - ended
    roots = rows == start
    by_depth = stable_order(depth)
    key = (depth * len(rows) + rows)[by_depth]
    before = np.searchsorted(key, (depth - 1) * len(rows) + rows) - 1
    above = np.where(roots, rows, by_depth[np.maximum(before, 0)])
    twice = np.zeros(len(rows), dtype=bool)
    twice[1:] = (np.diff(first) == 0) & (np.diff(last) == 0) & ~roots[1:]
    if (first > last).any() or twice.any() or ((depth == 0) != roots).any():
        raise PromiseError(_NO_TREE)
    if (last > last[above]).any():
        raise PromiseError(_NO_TREE)
    return np.where(roots, -1, above - start)


def locate(
    published: PublishedTargets, target: np.ndarray, lower: pa.Array, upper: pa.Array
) -> np.ndarray:
    """Return the row of `published` that each subdomain is (int64, one per subdomain).

    Args:
        published: the targets.
        target: the target of each subdomain (int64, one per subdomain).
        lower: its least value (of the attribute's type, one per subdomain).
        upper: its greatest value.

    Raises:
        PromiseError: where a subdomain is no node of its target.
    """
    first, last = (_places(published.domain, bound) for bound in (lower, upper))
    columns = [(published.target, target), (published.first, first), (published.last, last)]
    whole = [np.concatenate(pair) for pair in columns]
    keys, _ = pack(whole, [int(column.max(initial=0)) + 1 for column in whole])
    node_keys, subdomain_keys = keys[: len(published.target)], keys[len(published.target) :]
    order = np.argsort(node_keys)
    place = np.minimum(np.searchsorted(node_keys[order], subdomain_keys), len(node_keys) - 1)
    if (node_keys[order][place] != subdomain_keys).any():
        raise PromiseError("a group has a subdomain that its target lacks")
    rows: np.ndarray = order[place]
    return rows


def _places(domain: OrderedDomain, values: pa.ChunkedArray) -> np.ndarray:
    indices = pc.index_in(values, value_set=domain.values)
    if indices.null_count or values.null_count:
        raise PromiseError("a bound of a group's subdomain is not a value of its target")
    return as_integers(indices)


@dataclass(frozen=True, eq=False)
class ShownGroups:
    """The groups of published tables, as an adversary sees them.

    Attributes:
        sizes: rows of each group (int64, one per group).
        published: the targets, with their domain.
        row: the node in `published` that each row of `st` shows (int64, one per row of `st`).
        subdomains: the subdomains of each group.
    """

    sizes: np.ndarray
    published: PublishedTargets
    row: np.ndarray
    subdomains: Subdomains


def shown_groups(tables: Tables, schema: Schema) -> ShownGroups:
    """Return the groups that the tables show.

    Raises:
        PromiseError: where the tables contradict each other.
    """
    name = sensitive_name(schema)
    published = read(tables[TARGETS], name, schema[name])
    sizes = _sizes(tables)
    aim = _aim(tables[AIMS], len(sizes), len(published.targets))
    table = tables[st.ST]
    group, count = as_integers(table[GROUP_ID]), as_integers(table[COUNT])
    row = locate(published, aim[group], table[LOWER], table[UPPER])
    ordered, ancestors = published.domain.numbers is not None, published.domain.ancestors
    subdomains = Subdomains(
        group, published.node[row], count, aim, published.targets, ordered, ancestors
    )
    return ShownGroups(sizes, published, row, subdomains)


def _sizes(tables: Tables) -> np.ndarray:
    """Return the rows of each group; a group has at least as many subdomains."""
    ids, sizes = np.unique(as_integers(tables[QIT][GROUP_ID]), return_counts=True)
    subdomains = st.totals(tables[st.ST], len(ids))
    if not np.array_equal(ids, np.arange(len(ids))) or subdomains is None:
        raise PromiseError(f"{st.ST}: its groups are not those of {QIT}, 0, 1, …, or count nothing")
    if (subdomains < sizes).any():
        raise PromiseError(f"{st.ST}: a group has fewer subdomains than rows in {QIT}")
    return sizes


def _aim(table: pa.Table, groups: int, targets: int) -> np.ndarray:
    """Return the target of each group; every target is some group's."""
    order = stable_order(as_integers(table[GROUP_ID]))
    target: np.ndarray = as_integers(table[TARGET])[order]
    if not np.array_equal(as_integers(table[GROUP_ID])[order], np.arange(groups)):
        raise PromiseError(f"{AIMS}: not every group of {QIT} has one target")
    if not np.array_equal(np.unique(target), np.arange(targets)):
        raise PromiseError(f"{AIMS}: its targets are not those of {TARGETS}")
    return target


def sensitive_name(schema: Schema) -> str:
    """Return the only sensitive column; a spec with others is refused."""
    return names_with_roles(schema, "sensitive")[0]


def number_of_targets(tables: Tables) -> int:
    """Return how many targets published tables have; 0 for tables of other forms."""
    return pc.count_distinct(tables[TARGETS][TARGET]).as_py() if TARGETS in tables else 0


def digest_of_domain(tables: Tables) -> str | None:
    """Return a digest of the values that targets are over, None if there are no targets."""
    if TARGETS not in tables:
        return None
    table = tables[TARGETS]
    values = pc.unique(table.filter(pc.equal(table[LOWER], table[UPPER]))[LOWER])
    content = BytesIO()
    sorted_ = values.take(pc.sort_indices(values))
    with pa.ipc.new_stream(content, pa.schema([(LOWER, sorted_.type)])) as stream:
        stream.write_batch(pa.record_batch([sorted_], names=[LOWER]))
    return sha256(content.getvalue()).hexdigest()
