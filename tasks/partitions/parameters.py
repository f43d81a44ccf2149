"""The partitions' parameters as a spec writes them."""

from typing import Annotated, Literal

from pydantic import Field

from tasks.microdata.schema import Part


class KEParameters(Part):
    """Groups of neighbouring sensitive values: (k,e)-anonymity at the least sum of ranges."""

    method: Literal["ke"]
    objective: Annotated[
        Literal["sum"], Field(description="what is minimised: the sum of the groups' ranges")
    ] = "sum"


PartitionParameters = KEParameters
