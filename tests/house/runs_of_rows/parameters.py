"""The parameters of a toy partition."""

from typing import ClassVar, Literal

from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.tasks.partitions.declared import Need, PartitionParameters


class RunsOfRowsParameters(PartitionParameters):
    """Rows in the order of their first quasi-identifier, so many in each group."""

    needs: ClassVar[Need] = Need((DistinctLDiversity,), "an l-diversity promise to read l from")

    method: Literal["runs-of-rows"]
