"""The forms' parameters as a spec writes them."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tasks.microdata.schema import Part

Shown = Literal["labels", "rows", "columns"]
"""What stands for a person: labels beside a sensitive value, exact values without one, or nothing.

Where it is nothing, every quasi-identifier stands by itself.
"""


class _Shown(Part):
    """What a form shows: `shows`, and whether sensitive columns keep their association."""

    shows: ClassVar[Shown]

    @property
    def together(self) -> bool:
        """Whether sensitive values of one person stand in one row."""
        return True


class GeneralizedParameters(_Shown):
    """Labels that stand for several values in the place of quasi-identifiers."""

    shows: ClassVar[Shown] = "labels"

    method: Literal["generalized"]


class SuppressedParameters(_Shown):
    """Quasi-identifiers as they are where a whole group shares them, else a star."""

    shows: ClassVar[Shown] = "labels"

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


class _Apart(_Shown):
    """Sensitive values that stand apart from the rows that they belong to."""

    shows: ClassVar[Shown] = "rows"

    sensitive: _Several = "independent"

    @property
    def together(self) -> bool:
        """Whether sensitive values of one person stand in one row."""
        return self.sensitive == "together"


class PermutedParameters(_Apart):
    """Quasi-identifiers exactly as they are, sensitive values shuffled inside each group."""

    method: Literal["permuted"]


class SplitParameters(_Apart):
    """Quasi-identifiers exactly as they are, the sensitive values of each group counted apart."""

    method: Literal["split"]


class AmbiguousParameters(_Apart):
    """The values of each quasi-identifier that a group admits, each quasi-identifier by itself."""

    shows: ClassVar[Shown] = "columns"

    method: Literal["ambiguous"]


FormParameters = Annotated[
    GeneralizedParameters
    | SuppressedParameters
    | PermutedParameters
    | SplitParameters
    | AmbiguousParameters,
    Field(discriminator="method"),
]
