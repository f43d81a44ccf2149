"""The parameters of (k,e)-anonymous partitions as a spec writes them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.tasks.partitions.declared import Need, PartitionParameters


class KEParameters(PartitionParameters):
    """Groups of alike sensitive values that keep (k,e)-anonymity with small ranges."""

    needs: ClassVar[Need] = Need((KEAnonymity,), "a ke-anonymity promise to read k and e from")
    over_people: ClassVar[bool] = True

    method: Literal["ke"]
    objective: Annotated[
        Literal["sum", "weighted", "max", "max-overlapping", "random"],
        Field(
            description="minimise the sum of the groups' ranges (weighted by rows), or the largest "
            "range (of groups that may overlap); random minimises nothing"
        ),
    ] = "sum"
