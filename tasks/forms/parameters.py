"""The forms' parameters as a spec writes them."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from sfumato.expectations.models.model import ExactNumber
from sfumato.tasks.schema.part import Part

Shown = Literal["labels", "rows", "columns"]
"""What stands for a person: labels beside a sensitive value, exact values without one, or nothing.

Where it is nothing, every quasi-identifier stands by itself.
"""


class _Shown(Part):
    """What a form shows: `shows`, and whether sensitive columns keep their association.

    `declares` says whether promises are judged by declared distributions, not by the rows' values.
    """

    shows: ClassVar[Shown]
    declares: ClassVar[bool] = False

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


_Denominator = Annotated[
    Annotated[int, Field(ge=1)] | Literal["exact"],
    BeforeValidator(lambda written: "exact" if written is None else written),
]


class RedistributedParameters(_Shown):
    """Quasi-identifiers as they are, sensitive values as subdomains spread as a target says."""

    shows: ClassVar[Shown] = "rows"
    declares: ClassVar[bool] = True

    method: Literal["redistributed"]
    tree: Annotated[
        Literal["balanced", "median", "hierarchy"],
        Field(
            description="which subdomains there are: parts with as many values each, parts about "
            "as likely, or the nodes of the column's hierarchy"
        ),
    ] = "balanced"
    arity: Annotated[
        int, Field(ge=2, description="how many parts a subdomain has, without a hierarchy")
    ] = 2
    denominator: Annotated[
        _Denominator,
        Field(description="most that the weights of a subdomain's parts add up to; null: exact"),
    ] = 16
    fakes: Annotated[
        ExactNumber,
        Field(ge=0, description="most fake values in a group: a number, or a share of its rows"),
    ] = Decimal(0)

    @property
    def largest(self) -> int | None:
        """The denominator, None where ratios are exact."""
        return None if self.denominator == "exact" else self.denominator

    def most(self, rows: int) -> int:
        """The most fake values in a group of so many rows."""
        whole = self.fakes >= 1
        return int(self.fakes) if whole else int(Fraction(self.fakes) * rows)

    @model_validator(mode="after")
    def _fakes_are_counted_or_a_share(self) -> Self:
        if self.fakes >= 1 and self.fakes != int(self.fakes):
            raise ValueError("fakes: neither a whole number nor a share below 1")
        return self


FormParameters = Annotated[
    GeneralizedParameters
    | SuppressedParameters
    | PermutedParameters
    | SplitParameters
    | AmbiguousParameters
    | RedistributedParameters,
    Field(discriminator="method"),
]
