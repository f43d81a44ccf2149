"""The parameters of Anatomy as a spec writes them."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.tasks.partitions.declared import Need, PartitionParameters
from sfumato.tasks.schema.formats import field_since
from sfumato.tasks.schema.names import Part


class AlikeValues(Part):
    """Groups of values that quasi-identifiers hardly tell apart."""

    epsilon: Annotated[
        ExactNumber,
        Field(
            gt=0,
            le=100,
            description="parameter of the noise in the counts by which values are compared",
        ),
    ]


class AnatomyParameters(PartitionParameters):
    """Groups of rows with different sensitive values, each as rare as l-diversity asks."""

    needs: ClassVar[Need] = Need(
        (DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity),
        "an l-diversity promise to read l from",
    )
    distinct_values: ClassVar[bool] = True
    over_people: ClassVar[bool] = True

    method: Literal["anatomy"]
    draw: Literal["random", "round-robin"] = field_since(
        2,
        "random",
        "draw groups as the paper does, or deal values out, which gives few sets of values",
    )
    alike: AlikeValues | None = field_since(
        6, None, "group values that quasi-identifiers hardly distinguish, by counts with noise"
    )

    @property
    def counts_rows(self) -> bool:
        """True if values are compared by counts with noise."""
        return self.alike is not None

    @model_validator(mode="after")
    def _sets_are_chosen_once(self) -> Self:
        if self.alike is not None and self.draw != "random":
            raise ValueError("alike: does not go with `draw: round-robin`; leave one of them out")
        return self
