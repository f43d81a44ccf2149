"""The parameters of Mondrian as a spec writes them."""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.schema.formats import field_since


class MondrianParameters(PartitionParameters):
    """Boxes cut at medians for as long as every part keeps the promises."""

    over_people: ClassVar[bool] = True
    aims_at_presence: ClassVar[bool] = True

    method: Literal["mondrian"]
    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="relaxed cuts may separate rows with equal values; strict ones do not"),
    ] = "strict"
    leave: Annotated[ExactNumber, Field(ge=0, lt=1)] = field_since(
        6,
        Decimal(0),
        "probability of leaving a part uncut that could be cut, so that uncut parts reveal less",
    )

    @property
    def equal_rows_together(self) -> bool:
        """True for strict cuts."""
        return self.mode == "strict"
