"""The parameters of full-domain generalization as a spec writes them."""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.tasks.partitions.declared import Labels, PartitionParameters

Metric = Literal[
    "height", "precision", "discernibility", "average-class-size", "entropy", "ncp", "kl"
]


class FullDomainParameters(PartitionParameters):
    """Each quasi-identifier at one level of its hierarchy: the levels that lose the least."""

    chosen_once: ClassVar[bool] = True
    over_people: ClassVar[bool] = True
    all_at_once: ClassVar[bool] = True
    judges_labels: ClassVar[Labels] = "nodes"

    method: Literal["full-domain"]
    metric: Annotated[Metric, Field(description="measure of loss to minimise")] = "ncp"
    suppression: Annotated[
        ExactNumber, Field(ge=0, lt=1, description="largest share of rows that may be suppressed")
    ] = Decimal(0)
    suppressed: Annotated[
        Literal["drop", "star"],
        Field(description="leave suppressed rows out, or show them without quasi-identifiers"),
    ] = "drop"

    @property
    def may_suppress(self) -> bool:
        """True if there is a budget of suppressed rows."""
        return self.suppression > 0

    @property
    def equal_rows_together(self) -> bool:
        """True without a budget: suppressed rows may be apart from rows equal to them."""
        return not self.suppression

    @property
    def not_in_parts(self) -> str | None:
        """The reason why a table cannot be grouped part by part, None without a budget.

        A budget of rows is spent where it gains most, which no part can know.
        """
        if not self.suppression:
            return None
        return (
            "full-domain chooses the rows to suppress among all rows, which no part contains; "
            "type `suppression: 0`"
        )
