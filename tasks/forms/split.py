"""Anatomy's form: quasi-identifiers in one table, sensitive values in another, joined by group.

`qit` has the quasi-identifiers and insensitive columns as they are, and group_id; `st` has every
sensitive value of each group with its count (see `tasks.forms.counts_table`).

Source: Xiao and Tao, Anatomy: simple and effective privacy preservation (VLDB 2006).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import rules_of_published
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms import counts_table as st
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.form_parameters import SplitParameters
from sfumato.tasks.forms.order import canonical_with, is_canonical
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import Schema, names_with_roles

QIT = "qit"


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: SplitParameters,
    randomness: Randomness,
) -> Tables:
    """Split every row, count the sensitive values of each group, publish in canonical order."""
    kept = np.flatnonzero(partition.group >= 0)
    shown, group = microdata.take(kept), partition.group[kept].astype(np.int64)
    exact = shown.with_roles("quasi-identifier", "insensitive")
    qit = pa.table({**{c.name: c.encoded() for c in exact}, GROUP_ID: group})
    return canonical({QIT: qit, **st.tables_of(shown, group, parameters.together)})


def canonical(tables: Tables) -> Tables:
    """The same tables in canonical order: rows by their values, groups by first appearance."""
    return canonical_with(tables, QIT)


def schemas(schema: Schema, parameters: SplitParameters) -> Mapping[str, pa.Schema]:
    """Columns of their own types, the group's number, and counts."""
    exact = [
        st.field(name, schema)
        for name in names_with_roles(schema, "quasi-identifier", "insensitive")
    ]
    qit = pa.schema([*exact, pa.field(GROUP_ID, pa.int64(), nullable=False)])
    return {QIT: qit, **st.schemas(schema, parameters.together)}


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Counts of sensitive values per group_id, and per known value of another attribute.

    Raises:
        PromiseError: where the counts of a group do not add up to its rows.
    """
    return counted_groups(tables, schema, adversary_columns, sensitive)


def counted_groups(
    tables: Tables,
    schema: Schema,
    adversary_columns: Sequence[str],
    sensitive: Sequence[str],
    vacant: np.ndarray | int = 0,
) -> Groups:
    """The same, where each group has so many values (int64, one per group) more than rows.

    Raises:
        PromiseError: where the counts of a group do not add up.
    """
    _require_matching(tables, vacant)
    known = [name for name in adversary_columns if schema[name].role == "sensitive"]
    return st.groups(_counted(tables), schema, known, sensitive)


def _counted(tables: Tables) -> Tables:
    return {name: table for name, table in tables.items() if name != QIT}


def _require_matching(tables: Tables, vacant: np.ndarray | int) -> None:
    """Refuse counts that are not those of the groups' rows, before anything is repeated by them."""
    ids = as_integers(tables[QIT][GROUP_ID])
    known, place = np.unique(ids, return_inverse=True)
    dense = np.array_equal(known, np.arange(len(known)))
    sizes = np.bincount(place, minlength=len(known))
    for name, table in _counted(tables).items():
        rows = st.totals(table, len(known))
        if not dense or rows is None or not np.array_equal(sizes + vacant, rows):
            raise PromiseError(f"{name}: counts of a group are not as many as its rows in {QIT}")


def rules(
    schema: Schema, parameters: SplitParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """One row per person in `qit`; in the others the counts add up to as many."""
    arrow = schemas(schema, parameters)[QIT]
    of_counts = st.rules(schema, parameters.together, rows, withheld)
    return {QIT: rules_of_published(arrow, rows, is_canonical, withheld), **of_counts}
