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
from sfumato.tasks.microdata.table import Microdata, Randomness, encode, key
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
    """Shuffle the sensitive columns within the groups, alike or each by itself, and publish."""
    kept = np.flatnonzero(partition.group >= 0)
    shown, group = microdata.take(kept), partition.group[kept]
    rows = stable_order(group)
    columns = {
        column.name: column.encoded()
        for column in shown.with_roles("quasi-identifier", "insensitive")
    }
    shuffled = np.empty(len(kept), dtype=np.int64)
    for number, column in enumerate(shown.with_roles("sensitive")):
        if number == 0 or parameters.sensitive == "independent":
            shuffled[rows] = np.lexsort((randomness(len(kept)), group))
        columns[column.name] = column.encoded().take(pa.array(shuffled))
    return canonical({TABLE: pa.table({**columns, GROUP_ID: group})})


def canonical(tables: Tables) -> Tables:
    """The same tables in canonical order."""
    if len(tables) > 1:
        return canonical_with(tables, TABLE)
    return {name: canonical_table(table) for name, table in tables.items()}


def schemas(schema: Schema, parameters: PermutedParameters) -> Mapping[str, pa.Schema]:
    """All columns of their own types, and the group's number."""
    fields = [pa.field(name, column.arrow_type, column.nulls) for name, column in schema.items()]
    return {TABLE: pa.schema([*fields, pa.field(GROUP_ID, pa.int64(), nullable=False)])}


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Sizes and sensitive values per group_id; exact quasi-identifiers tell nothing more apart.

    An adversary who knows other sensitive values sees the rows of a group that have them.
    """
    table = tables[TABLE]
    known = [name for name in adversary_columns if schema[name].role == "sensitive"]
    by = [encode(GROUP_ID, "insensitive", table[GROUP_ID])]
    by += [encode(name, "sensitive", table[name]) for name in known]
    keys, bound = key(by, table.num_rows)
    return count(keys, bound, {n: sensitive_column(table, schema, n).coded() for n in sensitive})


def rules(
    schema: Schema, parameters: PermutedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """The rules of any published table."""
    arrow = schemas(schema, parameters)[TABLE]
    return {TABLE: rules_of_published(arrow, rows, is_canonical, withheld)}
