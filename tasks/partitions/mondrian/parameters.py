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

    method: Literal["mondrian"]
    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="whether rows with equal values may be parted"),
    ] = "strict"
    leave: Annotated[ExactNumber, Field(ge=0, lt=1)] = field_since(
        6, Decimal(0), "how likely a part is left that could be cut, lest what is left tells why"
    )

    @property
    def equal_rows_together(self) -> bool:
        """True for strict cuts."""
        return self.mode == "strict"
