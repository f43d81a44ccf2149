"""The parameters of distribution-based anonymization as a spec writes them."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.numbers import ExactNumber
from sfumato.tasks.forms.declared import Companions, FormParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS

_Denominator = Annotated[
    Annotated[int, Field(ge=1)] | Literal["exact"],
    BeforeValidator(lambda written: "exact" if written is None else written),
]


class RedistributedParameters(FormParameters):
    """Quasi-identifiers as they are, sensitive values as subdomains spread as a target says."""

    shows: ClassVar[str] = "subdomains"
    rows_table: ClassVar[str | None] = "qit"
    values_apart: ClassVar[bool] = True
    declares: ClassVar[bool] = True
    shows_insensitive: ClassVar[bool] = False
    not_in_parts: ClassVar[str | None] = (
        "redistributed declares targets over the values of all rows, and a part has a tree of its "
        "own: permuted and split show parts"
    )

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

    def fault_in(self, spec: Companions) -> str | None:
        """Refuse partitions without targets, several columns to spread, and several targets."""
        partition, sensitive = spec.partition, spec.named("sensitive")
        if not partition.gives_targets:
            return f"form: redistributed needs partition {_partitions_with_targets()}"
        if len(sensitive) > 1:
            return "form: redistributed shows one sensitive column, and there are several"
        if self.tree == "hierarchy" and spec.columns[sensitive[0]].hierarchy is None:
            return f"form.tree: {sensitive[0]!r} has no hierarchy"
        if partition.small_groups and self.fakes >= 1:
            return (
                f"form.fakes: with partition {partition.method} a share of each group, not a number"
            )
        if sum(isinstance(promise, PPrivacy) for promise in spec.promises) > 1:
            return "promises: one p-privacy promise says what may be learned"
        return None


def _partitions_with_targets() -> str:
    return " or ".join(name for name, kind in PARTITION_PARAMETERS.items() if kind.gives_targets)
