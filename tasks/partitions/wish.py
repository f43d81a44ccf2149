"""The wish that a partition be chosen, which a spec writes and no release declares."""

from collections import ChainMap
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field

from sfumato.expectations.registered import Registered
from sfumato.tasks.partitions.aimed.parameters import Aims
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS

AUTO = "auto"


class AutoParameters(PartitionParameters):
    """The partition with the least expected width, chosen once for the line."""

    gives_targets: ClassVar[bool] = True  # what is chosen goes with the form

    method: Literal["auto"]
    aims: Annotated[
        Aims | None,
        Field(description="the families of queries; without them, those of evaluate.workloads"),
    ] = None
    forms: Annotated[
        tuple[str, ...],
        Field(description="forms that may be chosen beside the spec's, by their names"),
    ] = ()

    @property
    def not_in_parts(self) -> str | None:
        """Why parts of a table cannot be grouped one after another."""
        return "auto looks at the whole table: name a partition"


_WISHES = ChainMap({AUTO: AutoParameters}, cast(Any, PARTITION_PARAMETERS))
PartitionWish = Annotated[PartitionParameters, Registered("method", _WISHES)]
"""A partition as a spec writes it, or the wish that one be chosen."""
