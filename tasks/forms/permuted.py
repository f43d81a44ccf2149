"""Permutation: quasi-identifiers as they are, sensitive values shuffled inside each group.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
One table, `microdata`: the quasi-identifiers, insensitive columns, the sensitive column, group_id.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from expectations.counting import count
from expectations.groups import Groups
from expectations.structure import Rule
from tasks.forms.form import GROUP_ID, Tables
from tasks.forms.order import canonical
from tasks.forms.parameters import PermutedParameters
from tasks.forms.recoded import counted
from tasks.forms.schema import Schema
from tasks.microdata.randomness import Randomness
from tasks.microdata.table import Microdata, encode
from tasks.partitions.partition import Partition


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: PermutedParameters,
    randomness: Randomness,
) -> Tables:
    """Shuffle each sensitive column within the groups and publish in canonical order."""
    kept = np.flatnonzero(partition.group >= 0)
    shown, group = microdata.take(kept), partition.group[kept]
    rows = np.argsort(group, kind="stable")
    columns = {
        column.name: column.array()
        for column in shown.with_roles("quasi-identifier", "insensitive")
    }
    for column in shown.with_roles("sensitive"):
        shuffled = np.empty(len(kept), dtype=np.int64)
        shuffled[rows] = np.lexsort((randomness(len(kept)), group))
        columns[column.name] = column.array().take(pa.array(shuffled))
    return {"microdata": canonical(pa.table({**columns, GROUP_ID: group}))}


def schemas(schema: Schema) -> Mapping[str, pa.Schema]:
    """All columns of their own types, and the group's number."""
    fields = [pa.field(name, column.arrow_type, column.nulls) for name, column in schema.items()]
    return {"microdata": pa.schema([*fields, pa.field(GROUP_ID, pa.int64(), nullable=False)])}


def groups(
    tables: Tables, schema: Schema, told_apart_by: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Sizes and sensitive values per group_id; exact quasi-identifiers tell nothing more apart."""
    table = tables["microdata"]
    ids = encode(GROUP_ID, "insensitive", table[GROUP_ID])
    columns = {name: counted(table, schema, name).coded() for name in sensitive}
    return count(ids.codes.astype(np.int64), len(ids.values), columns)


def rules(schema: Schema) -> Mapping[str, tuple[Rule, ...]]:
    """None: nothing is recoded."""
    return {}
