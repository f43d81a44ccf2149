"""The parameters of Mondrian as a spec writes them."""

from typing import Annotated, Literal

from pydantic import Field

from sfumato.tasks.partitions.declared import PartitionParameters


class MondrianParameters(PartitionParameters):
    """Boxes cut at medians for as long as every part keeps the promises."""

    method: Literal["mondrian"]
    mode: Annotated[
        Literal["strict", "relaxed"],
        Field(description="whether rows with equal values may be parted"),
    ] = "strict"
