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
    """Groups of alike sensitive values that keep (k,e)-anonymity with small ranges."""

    method: Literal["ke"]
    objective: Annotated[
        Literal["sum", "weighted", "max", "max-overlapping", "random"],
        Field(
            description="what is minimised: the groups' ranges, summed, summed by rows, or the "
            "largest, of groups that may overlap or not; random minimises nothing"
        ),
    ] = "sum"


class AnatomyParameters(Part):
    """Groups of rows with different sensitive values, each as rare as l-diversity asks."""

    method: Literal["anatomy"]


PartitionParameters = Annotated[
    FullDomainParameters
    | MondrianParameters
    | ForestParameters
    | FactorsParameters
    | KEParameters
    | AnatomyParameters,
    Field(discriminator="method"),
]
