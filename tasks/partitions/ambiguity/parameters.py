"""The parameters of ambiguous partitions as a spec writes them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.tasks.partitions.declared import Need, PartitionParameters


class AmbiguityParameters(PartitionParameters):
    """Groups that cover many combinations of quasi-identifiers, as large as α and β ask."""

    aims_at_presence: ClassVar[bool] = True
    needs: ClassVar[Need] = Need((AlphaBeta,), "an alpha-beta promise to read alpha and beta from")
    method: Literal["ambiguity"]
    probes: Annotated[
        int, Field(ge=1, description="rows that are compared for each row that a group takes")
    ] = 64
    calibrate: Annotated[
        bool,
        Field(description="grow groups until all of them together keep alpha, not only each one"),
    ] = False
    residue: Annotated[
        Literal["suppress", "refuse"],
        Field(description="leave rows that fit in no group out, or stop with an error"),
    ] = "suppress"

    @property
    def may_suppress(self) -> bool:
        """True where rows that fit in no group are suppressed."""
        return self.residue == "suppress"

    @property
    def not_in_parts(self) -> str | None:
        """Why parts of a table cannot be grouped one after another."""
        return (
            "ambiguity hides the rows of a group among those that all other groups admit, which no "
            "part contains; use disjoint-cover, which keeps the same promise"
        )
