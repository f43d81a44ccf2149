"""The parameters of partitions that redistribute sensitive values, as a spec writes them."""

from typing import ClassVar, Literal

from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.tasks.partitions.declared import Need, PartitionParameters

_TARGET = Need((PPrivacy,), "a p-privacy promise to read the target distribution from")


class StratumParameters(PartitionParameters):
    """Each stratum one group, whose sensitive values are redistributed as p-privacy asks."""

    needs: ClassVar[Need] = _TARGET
    gives_targets: ClassVar[bool] = True

    method: Literal["stratum"]


class ExactQIParameters(PartitionParameters):
    """Rows with equal quasi-identifiers, their values redistributed as p-privacy asks."""

    needs: ClassVar[Need] = _TARGET
    gives_targets: ClassVar[bool] = True
    small_groups: ClassVar[bool] = True

    method: Literal["exact-qi"]
