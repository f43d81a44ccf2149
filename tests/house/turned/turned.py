"""A toy form: permutation, all sensitive columns alike, by parameters of its own."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sfumato.expectations.rules.structure import Rule
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.permuted import permuted
from sfumato.tasks.forms.permuted.parameters import PermutedParameters
from sfumato.tasks.forms.permuted.permuted import canonical, groups
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import Schema
from tests.house.turned.parameters import TurnedParameters

__all__ = ["canonical", "groups", "publish", "rules", "schemas"]

_TOGETHER = PermutedParameters(method="permuted", sensitive="together")


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: TurnedParameters,
    randomness: Randomness,
) -> Tables:
    """Shuffle the sensitive columns within the groups, all alike."""
    return permuted.publish(microdata, partition, _TOGETHER, randomness)


def schemas(schema: Schema, parameters: TurnedParameters) -> Mapping[str, pa.Schema]:
    """All columns of their own types, and the group's number."""
    return permuted.schemas(schema, _TOGETHER)


def rules(
    schema: Schema, parameters: TurnedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """What must hold of any published table."""
    return permuted.rules(schema, _TOGETHER, rows, withheld)
