"""The parameters of partitions aimed at a workload, as a spec writes them."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.partitions.declared import Need, PartitionParameters
from sfumato.tasks.schema.names import Part

_Levels = Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)]


_ALL: frozenset[str] = frozenset({"rows", "subdomains", "labels"})


class RangeAim(Part):
    """Windows [x, x + span] of a quasi-identifier that is a number or a date."""

    shown: ClassVar[frozenset[str]] = _ALL

    kind: Literal["range"]
    over: Annotated[str, Field(description="quasi-identifier that queries restrict to a range")]
    spans: Annotated[_Levels, Field(description="widths of the ranges; days for dates")]


class CountsAim(Part):
    """Counts of the rows in such windows on whose sensitive value there is a condition.

    It is one of the value of a row: that values equal it, or are no greater. What a row more or
    less counts, beside sums, is the mean distance of values from their median.
    """

    shown: ClassVar[frozenset[str]] = frozenset({"rows"})
    since: ClassVar[int] = 7

    kind: Literal["counts"]
    over: Annotated[str, Field(description="quasi-identifier that queries restrict to a range")]
    spans: Annotated[_Levels, Field(description="widths of the ranges; days for dates")]
    condition: Annotated[
        Literal["equal", "at-most"],
        Field(description="condition on the sensitive value: equal to a value, or at most a value"),
    ] = "equal"


class GroupByAim(Part):
    """The cells of a GROUP BY of a quasi-identifier that is published as it is."""

    shown: ClassVar[frozenset[str]] = frozenset({"rows", "subdomains"})
    since: ClassVar[int] = 7

    kind: Literal["group-by"]
    by: Annotated[str, Field(description="quasi-identifier that queries group by")]

    @property
    def over(self) -> str:
        """The quasi-identifier."""
        return self.by


class ArbitraryAim(Part):
    """Random sets of rows."""

    shown: ClassVar[frozenset[str]] = _ALL

    kind: Literal["arbitrary"]
    selected: Annotated[_Levels, Field(description="numbers of rows that a query selects")]


WindowsAim = RangeAim | CountsAim | GroupByAim
Aim = Annotated[RangeAim | CountsAim | GroupByAim | ArbitraryAim, Field(discriminator="kind")]
"""A family of queries, whose levels count alike."""
Aims = Annotated[
    tuple[Aim, ...],
    Field(min_length=1, description="families of queries that should get narrow bounds"),
]


class AimedParameters(PartitionParameters):
    """Groups of alike sensitive values within cuts of quasi-identifiers, aimed at queries."""

    needs: ClassVar[Need | None] = Need(
        (KEAnonymity,), "a ke-anonymity promise to read k and e from"
    )
    since: ClassVar[int] = 5

    aims: Aims

    @property
    def windows(self) -> tuple[WindowsAim, ...]:
        """The families of windows of quasi-identifiers, a single value among them."""
        return tuple(aim for aim in self.aims if isinstance(aim, WindowsAim))


class HybridParameters(AimedParameters):
    """Quasi-identifiers cut in two, again and again, while answers get narrower by it."""

    method: Literal["hybrid"]


class ContiguousParameters(AimedParameters):
    """One quasi-identifier cut into runs of its values, of all ways the one with least width."""

    method: Literal["contiguous"]


class AimedSpec(Protocol):
    """The parts of a spec that must agree with aims."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """The columns of the source by name."""
        ...

    @property
    def form(self) -> Any:
        """The parameters of the form."""
        ...

    def names_with_roles(self, *roles: Any) -> list[str]:
        """Return the columns that have one of these roles, in order."""
        ...

    def scoped_promises(self) -> tuple[PrivacyModel, ...]:
        """Return the promises, each with the columns that it is about."""
        ...


def fault_of_aims(
    spec: AimedSpec, parameters: AimedParameters, ordered: frozenset[str]
) -> str | None:
    """Name a key of a spec that an aimed partition does not go with, and the broken rule.

    Args:
        spec: its parts.
        parameters: the partition's.
        ordered: the types of columns that have windows.
    """
    if fault := fault_of_columns(spec, parameters.aims, ordered):
        return fault
    over = {aim.over for aim in parameters.windows}
    if not over:
        return "aims: cuts need an aim other than arbitrary; add `kind: range`, or use `method: ke`"
    if isinstance(parameters, ContiguousParameters) and len(over) > 1:
        return (
            "aims: contiguous cuts only one quasi-identifier, and the aims name several; "
            "name one, or use `method: hybrid`"
        )
    return _fault_of_form(spec, parameters)


def fault_of_columns(spec: AimedSpec, aims: Iterable[Aim], ordered: frozenset[str]) -> str | None:
    """Name an aim whose column is missing or has no windows, and the broken rule.

    Args:
        spec: the parts that the aims have to go with.
        aims: families of queries.
        ordered: the types of columns that have ranges.
    """
    for i, aim in enumerate(aims):
        if not isinstance(aim, WindowsAim):
            continue
        column = spec.columns.get(aim.over)
        if column is None or column.role != "quasi-identifier":
            return f"aims.{i}: {aim.over!r} is not a quasi-identifier"
        if column.type not in ordered and not isinstance(aim, GroupByAim):
            return f"aims.{i}: {aim.over!r} has no ranges, because it is not a number or date"
    return None


def _fault_of_form(spec: AimedSpec, parameters: AimedParameters) -> str | None:
    """Name a part of the spec by which cuts would reveal more than the groups do.

    Somebody who sees all quasi-identifiers knows the cuts. With several sensitive columns, groups
    merged for one column would depend on the values of another.
    """
    if spec.form.rows_table is None or spec.form.declares:
        return (
            f"{parameters.method}: cuts by exact quasi-identifiers, which form {spec.form.method} "
            "does not show; use form permuted or split"
        )
    if len(spec.names_with_roles("sensitive")) > 1:
        return f"{parameters.method}: needs exactly one sensitive column, and there are several"
    for promise in spec.scoped_promises():
        if promise.known_columns or promise.reference_uri is not None:
            return (
                f"{parameters.method}: {promise.name} is about more than the sensitive column; "
                "leave this promise out, or use another partition"
            )
    return None
