"""Permutation: quasi-identifiers as they are, sensitive values shuffled inside each group.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
One table, `microdata`: the quasi-identifiers, insensitive and sensitive columns, group_id.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import rules_of_published
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.forms.order import canonical_table, canonical_with, is_canonical
from sfumato.tasks.forms.recoded import sensitive_column
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, encode, key
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import Schema

TABLE = "microdata"


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: PermutedParameters,
    randomness: Randomness,
) -> Tables:
    """Shuffle the sensitive columns within the groups, together or each by itself, and publish."""
    positions = np.flatnonzero(partition.group >= 0)
    published, group = microdata.take(positions), partition.group[positions]
    columns = {
        column.name: column.dictionary_array()
        for column in published.with_roles("quasi-identifier", "insensitive")
    }
    sensitive, together = published.with_roles("sensitive"), parameters.sensitive == "together"
    columns |= shuffle_within_groups(sensitive, group, randomness, together=together)
    return canonical({TABLE: pa.table({**columns, GROUP_ID: group})})


def shuffle_within_groups(
    columns: Sequence[Column], group: np.ndarray, randomness: Randomness, *, together: bool
) -> dict[str, pa.Array]:
    """Return columns with their values shuffled inside each group, together or each by itself.

    Args:
        columns: of the same rows.
        group: the group of each row (int64).
        randomness: what is drawn from.
        together: whether the values of one row stay in one row.
    """
    rows, order = stable_order(group), np.empty(len(group), dtype=np.int64)
    shuffled = {}
    for number, column in enumerate(columns):
        if number == 0 or not together:
            order[rows] = np.lexsort((randomness(len(group)), group))
        shuffled[column.name] = column.dictionary_array().take(pa.array(order))
    return shuffled


def canonical(tables: Tables) -> Tables:
    """Return the tables in canonical order."""
    if len(tables) > 1:
        return canonical_with(tables, TABLE)
    return {name: canonical_table(table) for name, table in tables.items()}


def schemas(schema: Schema, parameters: PermutedParameters) -> Mapping[str, pa.Schema]:
    """Return the schema: all columns of their own types, and the group's number."""
    fields = [pa.field(name, column.arrow_type, column.nulls) for name, column in schema.items()]
    return {TABLE: pa.schema([*fields, pa.field(GROUP_ID, pa.int64(), nullable=False)])}


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Return sizes and sensitive values per group_id.

    Exact quasi-identifiers distinguish nothing more.

    An adversary who knows other sensitive values sees the rows of a group that have them.
    """
    table = tables[TABLE]
    known_columns = [name for name in adversary_columns if schema[name].role == "sensitive"]
    columns = [encode(GROUP_ID, "insensitive", table[GROUP_ID])]
    columns += [encode(name, "sensitive", table[name]) for name in known_columns]
    keys, bound = key(columns, table.num_rows)
    return count(
        keys, bound, {n: sensitive_column(table, schema, n).counted_codes() for n in sensitive}
    )


def rules(
    schema: Schema, parameters: PermutedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules of any published table."""
    arrow = schemas(schema, parameters)[TABLE]
    return {TABLE: rules_of_published(arrow, rows, is_canonical, withheld)}
