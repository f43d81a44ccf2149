"""The form of distribution-based anonymization: subdomains in the place of sensitive values.

`qit` has the quasi-identifiers as they are and group_id; `st` the subdomains of each group, from
`lower` to `upper`, with their counts; `aims` the target of each group; `targets` the nodes of each
target (see `tasks.forms.redistributed.targets`). A group may have more subdomains than rows: some
then stand for no row at all, and nothing tells which.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_array, as_integers
from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.numbers import Number, plain
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import TotalCount, rules_of_published
from sfumato.expectations.sorting import distinct
from sfumato.tasks.forms import counts_table as st
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.order import canonical_with, is_canonical, is_sorted
from sfumato.tasks.forms.redistributed.domain import domain_of
from sfumato.tasks.forms.redistributed.parameters import RedistributedParameters
from sfumato.tasks.forms.redistributed.shown_groups import QIT, sensitive_name, shown_groups
from sfumato.tasks.forms.redistributed.subdomains import annotate_trees, choose_subdomains
from sfumato.tasks.forms.redistributed.targets import (
    LOWER,
    UPPER,
    are_numbered,
    renumber,
    runs,
    schema_of,
    table_of,
)
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata, encode, key
from sfumato.tasks.partitions.partition import Partition, TargetDistributions
from sfumato.tasks.schema.names import AIMS, COUNT, GROUP_ID, TARGET, TARGETS
from sfumato.tasks.schema.published import Schema, names_with_roles


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
    kept = np.flatnonzero(partition.group >= 0)
    group, column = partition.group[kept], microdata[aims.name]
    domain = domain_of(column)
    trees = [(tree, of.target) for tree, of in annotate_trees(aims, domain, parameters)]
    place = domain.place[column.codes[kept]]
    shown = choose_subdomains(trees, aims.target, group, place, domain, parameters)
    exact = microdata.take(kept).with_roles("quasi-identifier")
    bounds = runs(domain, shown.first, shown.last)
    tables = {
        QIT: {**{c.name: c.encoded() for c in exact}, GROUP_ID: group},
        st.ST: {GROUP_ID: shown.group, **bounds, COUNT: shown.count},
        AIMS: {GROUP_ID: np.arange(len(aims.target)), TARGET: aims.target},
    }
    whole = {name: pa.table(columns) for name, columns in tables.items()}
    return canonical({**whole, TARGETS: table_of(domain, trees)})


def _aims(partition: Partition) -> TargetDistributions:
    if partition.target_distributions is None:
        raise PromiseError(
            "form redistributed needs the partition stratum or exact-qi: others aim at no target"
        )
    return partition.target_distributions


def rounding_distances(
    microdata: Microdata, partition: Partition, parameters: RedistributedParameters
) -> list[Fraction]:
    """The total variation between each declared distribution and the one asked for."""
    aims = _aims(partition)
    trees = annotate_trees(aims, domain_of(microdata[aims.name]), parameters)
    return [of.distance for _, of in trees]


def canonical(tables: Tables) -> Tables:
    """The same tables in canonical order: targets by their contents, then as any others.

    Raises:
        PromiseError: where a group aims at a target that is not there.
    """
    targets, old, new = renumber(tables[TARGETS])
    aims = tables[AIMS]
    asked = as_integers(aims[TARGET])
    at = np.searchsorted(old, asked)
    if not len(old) or (old[np.minimum(at, len(old) - 1)] != asked).any():
        raise PromiseError(f"{AIMS}: a group aims at a target that {TARGETS} lacks")
    where = aims.column_names.index(TARGET)
    renamed = aims.set_column(
        where, aims.schema.field(TARGET), as_array(new[at].astype(np.int64), pa.int64())
    )
    others = {name: table for name, table in tables.items() if name != TARGETS}
    ordered = canonical_with({**others, AIMS: renamed}, QIT)
    return {**ordered, TARGETS: targets}


def schemas(schema: Schema, parameters: RedistributedParameters) -> Mapping[str, pa.Schema]:
    """Quasi-identifiers and bounds of their own types, numbers of groups and targets, counts."""
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
    """The subdomains shown per group_id, and the target of each.

    Raises:
        PromiseError: where the tables contradict each other.
    """
    seen = shown_groups(tables, schema)
    name = sensitive_name(schema)
    return Groups(seen.sizes, {}, subdomains={name: seen.shown} if name in sensitive else {})


def rules(
    schema: Schema, parameters: RedistributedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """One row per person in `qit`; elsewhere each thing once, and no fakes where none may be."""
    arrow = schemas(schema, parameters)
    ordered: Mapping[str, Callable[[pa.Table], bool]] = {
        QIT: is_canonical,
        st.ST: _once(GROUP_ID, LOWER, UPPER),
        AIMS: _once(GROUP_ID),
        TARGETS: are_numbered,
    }
    besides = {QIT: (GROUP_ID,)} | {n: arrow[n].names for n in (st.ST, AIMS, TARGETS)}
    found = {
        name: rules_of_published(
            arrow[name], rows if name == QIT else None, by, withheld, besides[name]
        )
        for name, by in ordered.items()
    }
    if not parameters.fakes:
        found[st.ST] = (*found[st.ST], TotalCount(COUNT, rows))
    return found


def _once(*names: str) -> Callable[[pa.Table], bool]:
    """Decide whether rows are sorted, and have different values in these columns."""

    def holds(table: pa.Table) -> bool:
        keys, _ = key([encode(n, "insensitive", table[n]) for n in names], table.num_rows)
        return is_sorted(table) and len(distinct(keys)) == table.num_rows

    return holds


def fakes(tables: Tables) -> int:
    """The number of values made up: subdomains without a row."""
    return int(as_integers(tables[st.ST][COUNT]).sum()) - int(tables[QIT].num_rows)


def diagnostics(
    original: Microdata,
    partition: Partition,
    tables: Tables,
    schema: Schema,
    parameters: RedistributedParameters,
) -> dict[str, Any]:
    """The sum of ranges, the share at the root, and how far targets are from those asked for.

    The distance is the total variation, of each target by its number in the order of the partition.
    """
    rounded = rounding_distances(original, partition, parameters)
    return {
        **facts(tables, schema),
        "distance_of_targets": [float(distance) for distance in rounded],
    }


def facts(tables: Tables, schema: Schema) -> dict[str, Number | str]:
    """Measure the tables' accuracy exactly: ranges, what stands at the root, fakes.

    `sum_of_ranges` is in the attribute's units; where values have no distance, a range is the
    number of its values, less one.

    Raises:
        PromiseError: where the tables contradict each other.
    """
    seen = shown_groups(tables, schema)
    domain, row, count = seen.told.domain, seen.row, seen.shown.count
    lengths = domain.lengths(seen.told.first[row], seen.told.last[row])
    total = sum(length * n for length, n in zip(lengths.tolist(), count.tolist(), strict=True))
    copies = int(count.sum())
    at_root = int(count[seen.shown.node == 0].sum())
    exact = domain.numbers.fraction(total) if domain.numbers else total
    return {
        "sum_of_ranges": plain(exact),
        "share_at_the_root": plain(Fraction(at_root, copies)),
        "fakes": copies - int(seen.sizes.sum()),
    }
