"""The parameters of forms as a spec writes them, without those of redistribution."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from sfumato.expectations.models.alpha_beta import AlphaBeta, AlphaBetaBesideMarginals
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.forms.declared import Companions, FormParameters, SensitiveApart
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.schema.formats import field_since


class RecodedParameters(FormParameters):
    """Labels in the place of quasi-identifiers."""

    shows: ClassVar[str] = "labels"
    recodes: ClassVar[bool] = True
    keeps_nulls: ClassVar[bool] = True

    protects: Literal["values", "identities"] = field_since(
        6, "values", "sensitive values, or who people are in a table without sensitive values"
    )
    label_tables: bool = field_since(6, False, "also publish tables of what each label admits")

    @property
    def protects_values(self) -> bool:
        """False if the form hides who people are, and has no values to protect."""
        return self.protects == "values"

    @property
    def tells_labels(self) -> bool:
        """True if tables publish which values each label admits."""
        return self.label_tables


class GeneralizedParameters(RecodedParameters):
    """Labels that stand for several values in the place of quasi-identifiers."""

    shows_hierarchies: ClassVar[bool] = True

    method: Literal["generalized"]
    single_values: Literal["quoted", "plain"] = field_since(
        6,
        "quoted",
        "braces and quotes around single texts without a hierarchy; quoted adds them to texts with "
        "special characters, plain only to texts that read like a label",
    )


class SuppressedParameters(RecodedParameters):
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
            raise ValueError("linked: a column is listed twice; list it once")
        return self

    def fault_in(self, spec: Companions) -> str | None:
        """Refuse to link any other columns."""
        for name in (name for linked in self.linked for name in linked):
            if name not in spec.names_with_roles("quasi-identifier"):
                return f"form.linked: {name!r} is not a quasi-identifier"
        return None


class AmbiguousParameters(SensitiveApart):
    """The values of each quasi-identifier that a group admits, each quasi-identifier by itself."""

    shows: ClassVar[str] = "columns"
    counts_alone: ClassVar[bool] = True
    shows_insensitive: ClassVar[bool] = False

    method: Literal["ambiguous"]
    marginals: tuple[str, ...] = field_since(
        14,
        (),
        "quasi-identifiers of which the rows with each value are also counted over all groups",
    )

    @field_validator("marginals")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("a column is listed twice; list it once")
        return names

    @property
    def counted_columns(self) -> tuple[str, ...]:
        """The quasi-identifiers whose values are counted over all groups together."""
        return self.marginals

    def fault_in(self, spec: Companions) -> str | None:
        """Refuse to count other columns than quasi-identifiers."""
        for name in self.marginals:
            if name not in spec.names_with_roles("quasi-identifier"):
                return f"form.marginals: {name!r} is not a column with role quasi-identifier"
        return None

    def grouped_by(
        self, promises: Sequence[PrivacyModel], partition: PartitionParameters
    ) -> tuple[PrivacyModel, ...]:
        """Return the promises; of (α,β)-privacy only β, if the partition does not aim at presence.

        The gate judges presence on the tables, whatever groups were made for.
        """
        return tuple(
            self._grouped_by(promise, partition) if isinstance(promise, AlphaBeta) else promise
            for promise in super().grouped_by(promises, partition)
        )

    def _grouped_by(self, promise: AlphaBeta, partition: PartitionParameters) -> PrivacyModel:
        if not partition.aims_at_presence:
            return replace(promise.over_versions, quasi_identifiers=promise.quasi_identifiers)
        if not self.marginals:
            return promise
        return AlphaBetaBesideMarginals.from_promise(promise, self.marginals)


class ExactRowsParameters(SensitiveApart):
    """Quasi-identifiers exactly as they are, beside the sensitive values of each group."""

    shows: ClassVar[str] = "rows"
    admits_since: ClassVar[Mapping[str, int]] = {"people": 16}

    @classmethod
    def admits(cls, promise: PrivacyModel) -> bool:
        """Decide whether a promise means something: everyone in the one table has a row."""
        return super().admits(promise) and not promise.needs_owners


class PermutedParameters(ExactRowsParameters):
    """Quasi-identifiers exactly as they are, sensitive values shuffled inside each group."""

    rows_table: ClassVar[str | None] = "microdata"

    method: Literal["permuted"]


class SplitParameters(ExactRowsParameters):
    """Quasi-identifiers exactly as they are, the sensitive values of each group counted apart."""

    rows_table: ClassVar[str | None] = "qit"
    values_apart: ClassVar[bool] = True

    method: Literal["split"]
