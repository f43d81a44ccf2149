"""The parameters of Mondrian as a spec writes them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.tasks.partitions.declared import PartitionParameters


class MondrianParameters(PartitionParameters):
    """Boxes cut at medians for as long as every part keeps the promises."""

    over_people: ClassVar[bool] = True

    method: Literal["mondrian"]
    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="whether rows with equal values may be parted"),
    ] = "strict"

    @property
    def equal_rows_together(self) -> bool:
        """True of strict cuts."""
        return self.mode == "strict"
