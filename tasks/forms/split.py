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
    positions = np.flatnonzero(partition.group >= 0)
    published, group = microdata.take(positions), partition.group[positions].astype(np.int64)
    exact = published.with_roles("quasi-identifier", "insensitive")
    qit = pa.table({**{c.name: c.dictionary_array() for c in exact}, GROUP_ID: group})
    return canonical({QIT: qit, **st.tables_of(published, group, parameters.together)})


def canonical(tables: Tables) -> Tables:
    """Return the tables in canonical order: rows by their values, groups by first appearance."""
    return canonical_with(tables, QIT)


def schemas(schema: Schema, parameters: SplitParameters) -> Mapping[str, pa.Schema]:
    """Return schemas: columns of their own types, the group's number, and counts."""
    exact = [
        st.field(name, schema)
        for name in names_with_roles(schema, "quasi-identifier", "insensitive")
    ]
    qit = pa.schema([*exact, pa.field(GROUP_ID, pa.int64(), nullable=False)])
    return {QIT: qit, **st.schemas(schema, parameters.together)}


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Count sensitive values per group_id, and per known value of another attribute.

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
    """Return the same as `groups` if groups have `vacant` more values than rows (int64 each).

    Raises:
        PromiseError: where the counts of a group do not add up.
    """
    _require_matching(tables, vacant)
    known_columns = [name for name in adversary_columns if schema[name].role == "sensitive"]
    return st.groups(_tables_of_counts(tables), schema, known_columns, sensitive)


def _tables_of_counts(tables: Tables) -> Tables:
    return {name: table for name, table in tables.items() if name != QIT}


def _require_matching(tables: Tables, vacant: np.ndarray | int) -> None:
    """Refuse counts that differ from the groups' rows, before anything is repeated by them."""
    ids = as_integers(tables[QIT][GROUP_ID])
    different, place = np.unique(ids, return_inverse=True)
    dense = np.array_equal(different, np.arange(len(different)))
    sizes = np.bincount(place, minlength=len(different))
    for name, table in _tables_of_counts(tables).items():
        rows = st.totals(table, len(different))
        if not dense or rows is None or not np.array_equal(sizes + vacant, rows):
            raise PromiseError(f"{name}: counts of a group do not add up to its rows in {QIT}")


def rules(
    schema: Schema, parameters: SplitParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules: one row per person in `qit`; elsewhere the counts add up to as many."""
    arrow = schemas(schema, parameters)[QIT]
    of_counts = st.rules(schema, parameters.together, rows, withheld)
    return {QIT: rules_of_published(arrow, rows, is_canonical, withheld), **of_counts}
