"""The parameters of Anatomy as a spec writes them."""

from typing import ClassVar, Literal

from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.tasks.partitions.declared import Need, PartitionParameters
from sfumato.tasks.schema.formats import since


class AnatomyParameters(PartitionParameters):
    """Groups of rows with different sensitive values, each as rare as l-diversity asks."""

    needs: ClassVar[Need] = Need(
        (DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity),
        "an l-diversity promise to read l from",
    )
    distinct_values: ClassVar[bool] = True
    over_people: ClassVar[bool] = True

    method: Literal["anatomy"]
    draw: Literal["random", "round-robin"] = since(
        2, "random", "how groups are drawn: as the paper does, or dealt, with few sets of values"
    )
