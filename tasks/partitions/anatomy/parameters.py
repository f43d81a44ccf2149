"""The parameters of Anatomy as a spec writes them."""

from typing import ClassVar, Literal

from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.tasks.partitions.declared import Need, PartitionParameters


class AnatomyParameters(PartitionParameters):
    """Groups of rows with different sensitive values, each as rare as l-diversity asks."""

    needs: ClassVar[Need] = Need(
        (DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity),
        "an l-diversity promise to read l from",
    )
    distinct_values: ClassVar[bool] = True

    method: Literal["anatomy"]
