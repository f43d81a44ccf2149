"""The parameters of partitions with disjoint covers as a spec writes them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.tasks.partitions.declared import Need, PartitionParameters


class DisjointCoverParameters(PartitionParameters):
    """Groups no two of which cover the same combination of quasi-identifiers."""

    aims_at_presence: ClassVar[bool] = True
    needs: ClassVar[Need] = Need((AlphaBeta,), "an alpha-beta promise to read alpha and beta from")
    disjoint_covers: ClassVar[bool] = True

    method: Literal["disjoint-cover"]
    residue: Annotated[
        Literal["suppress", "refuse"],
        Field(description="leave rows of values too frequent for beta out, or stop with an error"),
    ] = "refuse"

    @property
    def may_suppress(self) -> bool:
        """True if rows of too frequent values are suppressed."""
        return self.residue == "suppress"
