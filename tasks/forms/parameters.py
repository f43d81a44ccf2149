"""The forms' parameters as a spec writes them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.microdata.schema import Part


class GeneralizedParameters(Part):
    """Labels that stand for several values in the place of quasi-identifiers."""

    method: Literal["generalized"]


class SuppressedParameters(Part):
    """Quasi-identifiers as they are where a whole group shares them, else a star."""

    method: Literal["suppressed"]
    linked: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=2)], ...],
        Field(description="quasi-identifiers that are suppressed together"),
    ] = ()

    @model_validator(mode="after")
    def _each_is_linked_once(self) -> Self:
        names = [name for linked in self.linked for name in linked]
        if len(set(names)) < len(names):
            raise ValueError("linked: a column stands twice")
        return self


_Several = Annotated[
    Literal["independent", "together"],
    Field(description="whether several sensitive columns keep their association"),
]


class PermutedParameters(Part):
    """Quasi-identifiers exactly as they are, sensitive values shuffled inside each group."""

    method: Literal["permuted"]
    sensitive: _Several = "independent"


class SplitParameters(Part):
    """Quasi-identifiers exactly as they are, the sensitive values of each group counted apart."""

    method: Literal["split"]
    sensitive: _Several = "independent"


FormParameters = Annotated[
    GeneralizedParameters | SuppressedParameters | PermutedParameters | SplitParameters,
    Field(discriminator="method"),
]
