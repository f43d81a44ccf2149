"""The parameters of partitions that aim at no promise, as a spec writes them.

Their groups are the owner's own, or rows that look alike. A promise that these do not keep is
refused by the gate.
"""

from typing import ClassVar, Literal

from sfumato.tasks.partitions.declared import PartitionParameters


class StratumParameters(PartitionParameters):
    """Each stratum one group; p-privacy gives it the distribution of its sensitive values."""

    gives_targets: ClassVar[bool] = True

    method: Literal["stratum"]


class ExactQIParameters(PartitionParameters):
    """Rows with equal quasi-identifiers; p-privacy gives them the distribution of their values."""

    gives_targets: ClassVar[bool] = True
    small_groups: ClassVar[bool] = True

    method: Literal["exact-qi"]
