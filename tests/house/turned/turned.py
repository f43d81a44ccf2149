"""A toy form: permutation, all sensitive columns alike, by parameters of its own.

Its table has a name of its own, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.tasks.forms import permuted
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.forms.permuted import canonical
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import Schema
from tests.house.turned.parameters import TurnedParameters

__all__ = ["canonical", "groups", "publish", "rules", "schemas"]

TABLE = "people"
_TOGETHER = PermutedParameters(method="permuted", sensitive="together")


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: TurnedParameters,
    randomness: Randomness,
) -> Tables:
    """Shuffle the sensitive columns within the groups, all alike."""
    return _rename_table(permuted.publish(microdata, partition, _TOGETHER, randomness))


def schemas(schema: Schema, parameters: TurnedParameters) -> Mapping[str, pa.Schema]:
    """All columns of their own types, and the group's number."""
    return _rename_table(permuted.schemas(schema, _TOGETHER))


def rules(
    schema: Schema, parameters: TurnedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules of any published table."""
    return _rename_table(permuted.rules(schema, _TOGETHER, rows, withheld))


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Sizes and sensitive values per group_id."""
    return permuted.groups({"microdata": tables[TABLE]}, schema, adversary_columns, sensitive)


def _rename_table(of_tables: Mapping[str, Any]) -> dict[str, Any]:
    """The same under the name of the table."""
    return {TABLE: of_tables["microdata"]}
