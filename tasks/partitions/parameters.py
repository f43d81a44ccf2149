"""The partitions' parameters as a spec writes them."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from sfumato.expectations.models.model import ExactNumber
from sfumato.tasks.partitions.full_domain.metrics import Metric
from sfumato.tasks.schema.part import Part


class _Method(Part):
    """A partition's parameters."""

    @property
    def may_suppress(self) -> bool:
        """Whether rows may be left out, so that promises are kept that all rows would break."""
        return False


class FullDomainParameters(_Method):
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

    @property
    def may_suppress(self) -> bool:
        """Whether there is a budget."""
        return self.suppression > 0


class MondrianParameters(_Method):
    """Boxes cut at medians for as long as every part keeps the promises."""

    method: Literal["mondrian"]
    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="whether rows with equal values may be parted"),
    ] = "strict"


class ForestParameters(_Method):
    """Groups of rows that differ in few cells: within O(k) of the fewest suppressed cells."""

    method: Literal["forest"]


class FactorsParameters(_Method):
    """Groups of rows that differ in few cells: for k = 2 or 3, by minimum-weight factors."""

    method: Literal["factors"]


class KEParameters(_Method):
    """Groups of alike sensitive values that keep (k,e)-anonymity with small ranges."""

    method: Literal["ke"]
    objective: Annotated[
        Literal["sum", "weighted", "max", "max-overlapping", "random"],
        Field(
            description="what is minimised: the groups' ranges, summed, summed by rows, or the "
            "largest, of groups that may overlap or not; random minimises nothing"
        ),
    ] = "sum"


class AnatomyParameters(_Method):
    """Groups of rows with different sensitive values, each as rare as l-diversity asks."""

    method: Literal["anatomy"]


class AmbiguityParameters(_Method):
    """Groups that cover many combinations of quasi-identifiers, as large as α and β ask."""

    method: Literal["ambiguity"]
    probes: Annotated[
        int, Field(ge=1, description="rows looked at for each one that a group takes")
    ] = 64
    calibrate: Annotated[
        bool,
        Field(description="whether groups grow until all together keep α, not each by itself"),
    ] = False
    residue: Annotated[
        Literal["suppress", "refuse"],
        Field(description="what happens to rows that fit in no group"),
    ] = "suppress"

    @property
    def may_suppress(self) -> bool:
        """Whether what fits in no group is left out."""
        return self.residue == "suppress"


class DisjointCoverParameters(_Method):
    """Groups no two of which cover the same combination of quasi-identifiers."""

    method: Literal["disjoint-cover"]
    residue: Annotated[
        Literal["suppress", "refuse"],
        Field(description="what happens to rows of a value that is too frequent for beta"),
    ] = "refuse"

    @property
    def may_suppress(self) -> bool:
        """Whether rows of too frequent values are left out."""
        return self.residue == "suppress"


class StratumParameters(_Method):
    """Each stratum one group, whose sensitive values are redistributed as p-privacy asks."""

    method: Literal["stratum"]


class ExactQIParameters(_Method):
    """Rows with equal quasi-identifiers, their values redistributed as p-privacy asks."""

    method: Literal["exact-qi"]


PartitionParameters = Annotated[
    FullDomainParameters
    | MondrianParameters
    | ForestParameters
    | FactorsParameters
    | KEParameters
    | AnatomyParameters
    | AmbiguityParameters
    | DisjointCoverParameters
    | StratumParameters
    | ExactQIParameters,
    Field(discriminator="method"),
]
