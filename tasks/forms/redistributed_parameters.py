"""The parameters of distribution-based anonymization as a spec writes them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.tasks.forms.declared import Companions, FormParameters
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.schema.formats import field_since
from sfumato.tasks.schema.names import AIMS, GROUP_ID, TARGET, TARGETS, Part

_SUPPRESSING = (
    "partition.suppression: targets would reveal values of suppressed rows; suppress no rows"
)
MOST = 40
"""The largest denominator of targets of groups: each way of writing it may be tried."""

_Denominator = Annotated[
    Annotated[int, Field(ge=1)] | Literal["exact"],
    BeforeValidator(lambda written: "exact" if written is None else written),
]


FakesBy = Literal["ranges", "width"]
"""What the number of fakes makes least: the sum of ranges, or the bounds of a group's mean."""


_Fakes = Annotated[
    ExactNumber,
    Field(ge=0, description="most fake values in a group, as a number or a share of its rows"),
]


class FakesByMeasure(Part):
    """The most fake values of a group, and what their number makes least, as one key of a spec."""

    most: _Fakes
    by: Annotated[
        FakesBy,
        Field(description="the sum of ranges, or the width of the bounds of the group's mean"),
    ] = "ranges"


class RedistributedParameters(FormParameters):
    """Quasi-identifiers as they are, sensitive values as subdomains spread as a target says."""

    shows: ClassVar[str] = "subdomains"
    rows_table: ClassVar[str | None] = "qit"
    values_apart: ClassVar[bool] = True
    declares: ClassVar[bool] = True
    shows_insensitive: ClassVar[bool] = False
    admits_since: ClassVar[Mapping[str, int]] = {"delta-disclosure": 13}

    method: Literal["redistributed"]
    tree: Annotated[
        Literal["balanced", "median", "hierarchy"],
        Field(
            description="subdomains are parts with equally many values, parts that are about "
            "equally likely, or the nodes of the column's hierarchy"
        ),
    ] = "balanced"
    arity: Annotated[
        int, Field(ge=2, description="number of parts of a subdomain, without a hierarchy")
    ] = 2
    denominator: Annotated[
        _Denominator,
        Field(description="largest sum of the weights of a subdomain's parts; exact has no limit"),
    ] = 16
    # a mapping becomes two keys before any of them is read
    fakes: Annotated[
        _Fakes,
        BeforeValidator(lambda written: written, json_schema_input_type=_Fakes | FakesByMeasure),
    ] = Decimal(0)
    fakes_by: FakesBy = field_since(
        13,
        "ranges",
        "what the number of fakes makes least in a group: the sum of ranges, or the width of the "
        "bounds of its mean",
    )
    rows: Annotated[int | None, Field(ge=1)] = field_since(
        6, None, "fewest rows of a group, with a partition other than stratum and exact-qi"
    )

    @classmethod
    def numbered_columns(cls, table: str) -> tuple[str, ...]:
        """Return the numbered columns as in `FormParameters`; targets have numbers, too."""
        return {TARGETS: (TARGET,), AIMS: (GROUP_ID, TARGET)}.get(table, (GROUP_ID,))

    def grouped_by(
        self, promises: Sequence[PrivacyModel], partition: PartitionParameters
    ) -> tuple[PrivacyModel, ...]:
        """Return only the number of rows if it is given, otherwise promises about values."""
        if partition.gives_targets:
            return super().grouped_by(promises, partition)
        if self.rows is not None:
            return (KAnonymity(k=self.rows, quasi_identifiers=promises[0].quasi_identifiers),)
        return tuple(promise for promise in promises if not isinstance(promise, PPrivacy))

    @property
    def largest(self) -> int | None:
        """The denominator, None if ratios are exact."""
        return None if self.denominator == "exact" else self.denominator

    def most(self, rows: int) -> int:
        """Return the most fake values in a group of so many rows."""
        whole = self.fakes >= 1
        return int(self.fakes) if whole else int(Fraction(self.fakes) * rows)

    @model_validator(mode="before")
    @classmethod
    def _fakes_with_their_measure(cls, written: Any) -> Any:
        """Return the keys with `fakes: {most, by}` as two of them."""
        fakes = written.get("fakes") if isinstance(written, Mapping) else None
        if not isinstance(fakes, Mapping):
            return written
        is_named = fakes.get("by", "ranges") in get_args(FakesBy)
        if "most" not in fakes or set(fakes) - {"most", "by"} or not is_named:
            raise ValueError(
                "fakes: must be a number, or have the keys most (a number) and by (ranges or width)"
            )
        measure = {"fakes-by": fakes["by"]} if "by" in fakes else {}
        return {**written, "fakes": fakes["most"], **measure}

    @model_validator(mode="after")
    def _fakes_are_counted_or_a_share(self) -> Self:
        if self.fakes_by != "ranges" and not self.fakes:
            raise ValueError("fakes-by: there are no fakes; leave it out, or allow some")
        if self.fakes >= 1 and self.fakes != int(self.fakes):
            raise ValueError("fakes: must be a whole number or a share below 1")
        return self

    def fault_in(self, spec: Companions) -> str | None:
        """Refuse partitions without targets, several columns to spread, and several targets."""
        partition, sensitive = spec.partition, spec.names_with_roles("sensitive")
        targets = sum(isinstance(promise, PPrivacy) for promise in spec.promises)
        if targets != 1:
            return (
                "form: redistributed needs a p-privacy promise to read the target distribution from"
                if not targets
                else "promises: only one p-privacy promise is possible; leave the others out"
            )
        if partition.may_suppress and not partition.gives_targets:
            return _SUPPRESSING
        if len(sensitive) > 1:
            return (
                "form: redistributed shows only one sensitive column; keep one, or use form split"
            )
        if self.tree == "hierarchy" and spec.columns[sensitive[0]].hierarchy is None:
            return f"form.tree: {sensitive[0]!r} has no hierarchy; declare one, or use another tree"
        if partition.small_groups and self.fakes >= 1:
            return f"form.fakes: must be a share below 1 with partition {partition.method}"
        own = any(isinstance(p, PPrivacy) and p.of_groups for p in spec.promises)
        fault = self._fault_of_rows(partition, own)
        return fault or (self._fault_of_own(spec) if own else None)

    def _fault_of_rows(self, partition: PartitionParameters, own: bool) -> str | None:
        """Return why the fewest rows of a group cannot be given, or are missing; None if neither.

        `own` tells that groups have targets of their own.
        """
        if partition.gives_targets and self.rows is not None:
            return (
                f"form.rows: partition {partition.method} makes groups of any size; leave rows out"
            )
        if not (partition.gives_targets or own) and self.rows is None:
            return (
                f"form.rows: partition {partition.method} needs the fewest rows of a group, since "
                "the target does not depend on its values; write rows, or use partition "
                f"{_partitions_with_targets()}"
            )
        return None

    def _fault_of_own(self, spec: Companions) -> str | None:
        """Return what does not go with targets of groups' own, None if everything does."""
        limits = [p for p in spec.promises if not isinstance(p, PPrivacy)]
        compared = [p for p in limits if p.compares_with_all]
        if self.largest is None or self.largest > MOST:
            return f"form.denominator: must be a number up to {MOST} where groups have own targets"
        if spec.partition.may_suppress:
            return _SUPPRESSING
        for i, promise in enumerate(spec.promises):
            if not (isinstance(promise, PPrivacy) or _is_aimed_at(promise)):
                return (
                    f"promises.{i}: no method finds the nearest target for {promise.name} as it "
                    "is; promise t-closeness (equal or ordered), beta-likeness or l-diversity"
                )
        if not limits or (compared and len(limits) > 1):
            return (
                "promises: p-privacy with `target: {nearest: own}` also needs exactly one "
                "t-closeness or beta-likeness promise, or only l-diversity promises"
            )
        return self._fault_of_least_ranges(spec.promises)

    def _fault_of_least_ranges(self, promises: Sequence[PrivacyModel]) -> str | None:
        """Return what does not go with targets that are chosen by the sum of ranges."""
        if not any(isinstance(p, PPrivacy) and p.with_least_ranges for p in promises):
            return None
        if self.tree == "median":
            return (
                "form.tree: median depends on the target, and `objective: ranges` compares all "
                "targets over one tree; use balanced or hierarchy"
            )
        if self.fakes:
            return (
                "form.fakes: `objective: ranges` finds the least ranges without made-up values; "
                "leave fakes out"
            )
        return None


def _is_aimed_at(promise: PrivacyModel) -> bool:
    """Return True if the nearest target that keeps a promise is known."""
    if isinstance(promise, TCloseness):
        return promise.distance in ("equal", "ordered")
    return promise.by_ranks or isinstance(promise, BetaLikeness)


def _partitions_with_targets() -> str:
    return " or ".join(name for name, kind in PARTITION_PARAMETERS.items() if kind.gives_targets)
