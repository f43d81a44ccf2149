"""The partitions' parameters as a spec writes them."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from expectations.model import ExactNumber
from tasks.microdata.schema import Part
from tasks.partitions.metrics import Metric


class FullDomainParameters(Part):
    """Each quasi-identifier at one level of its hierarchy: the levels that lose the least."""

    method: Literal["full-domain"]
    metric: Annotated[Metric, Field(description="what is minimised")] = "ncp"
    suppression: Annotated[
        ExactNumber, Field(ge=0, lt=1, description="share of the rows that may be suppressed")
    ] = Decimal(0)
    suppressed: Annotated[
        Literal["drop", "star"],
        Field(
            description="whether suppressed rows are left out, or shown without quasi-identifiers"
        ),
    ] = "drop"


class MondrianParameters(Part):
    """Boxes cut at medians for as long as every part keeps the promises."""

    method: Literal["mondrian"]
    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="whether rows with equal values may be parted"),
    ] = "strict"


class ForestParameters(Part):
    """Groups of rows that differ in few cells: within O(k) of the fewest suppressed cells."""

    method: Literal["forest"]


class FactorsParameters(Part):
    """Groups of rows that differ in few cells: for k = 2 or 3, by minimum-weight factors."""

    method: Literal["factors"]


class KEParameters(Part):
    """Groups of neighbouring sensitive values: (k,e)-anonymity at the least sum of ranges."""

    method: Literal["ke"]
    objective: Annotated[
        Literal["sum"], Field(description="what is minimised: the sum of the groups' ranges")
    ] = "sum"


PartitionParameters = Annotated[
    FullDomainParameters | MondrianParameters | ForestParameters | FactorsParameters | KEParameters,
    Field(discriminator="method"),
]
