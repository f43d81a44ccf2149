"""Releases in parts: how a spec asks for them, and what a release declares of each part.

A part is a sub-table that is grouped, judged and published by itself. No group has rows of two
parts, so that whatever each part promises of its groups holds of all of them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.texts import NUMBERS, ORDERED, Value, as_number
from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType
from sfumato.tasks.schema.part import Part
from sfumato.tasks.schema.strata import Stratum

PARTS = "parts"


class PartsOfTable(Part):
    """How a table larger than memory is cut.

    Attributes:
        rows: how many rows a part has at most.
        by: the quasi-identifier by which a larger stratum is cut; without it one is chosen.
        at: where the pieces of such a stratum begin, but for the first, ascending.
    """

    rows: Annotated[int, Field(gt=0, description="how many rows a part has at most")] = 5_000_000
    by: Annotated[
        str | None, Field(description="the quasi-identifier that cuts strata with more rows")
    ] = None
    at: Annotated[
        tuple[Value, ...], Field(description="where pieces begin, but for the first, ascending")
    ] = ()

    @model_validator(mode="after")
    def _cut_is_whole(self) -> Self:
        if (self.by is None) != (not self.at):
            raise ValueError("by and at: say both, or neither")
        return self


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Share(_Declared):
    """The rows of a part by their values of one column.

    Attributes:
        column: its name.
        values: those that rows may have, as texts, where they are listed.
        least: what they are at least, where they are in a range.
        below: what they are below, where they are in a range.
        null: whether a row may have none.
    """

    column: str
    values: tuple[str, ...] | None = None
    least: Annotated[str | None, Field(alias="from")] = None
    below: str | None = None
    null: bool = False

    def admits(self, texts: Sequence[str], type_: ColumnType) -> list[bool]:
        """Which values of the column a row may have, given as texts.

        >>> Share(column="age", least="30", below="50").admits(["29", "30", "50"], "integer")
        [False, True, False]
        """
        if self.values is not None:
            listed = set(self.values)
            return [text in listed for text in texts]
        if self.least is None and self.below is None:
            return [not self.null] * len(texts)
        kind = "decimal" if type_ in NUMBERS else type_  # integers may have ends between them
        ends = (self.least, self.below)
        low, high = (None if end is None else as_number(end, kind) for end in ends)
        numbers = (as_number(text, type_) for text in texts)
        return [(low is None or n >= low) and (high is None or n < high) for n in numbers]


class PublishedPart(_Declared):
    """One part of a release.

    Attributes:
        name: of its directory.
        rows: how many it publishes.
        groups: how many groups it has.
        first_group: what is added to its group ids where all parts are one table.
        where: its strata, each by its columns: the cut that defines the part.
        digest: of its own manifest.
    """

    name: Annotated[str, Field(pattern="^[0-9]{4,9}$")]
    rows: Annotated[int, Field(ge=0)]
    groups: Annotated[int, Field(ge=0)]
    first_group: Annotated[int, Field(ge=0, alias="first-group")]
    where: tuple[tuple[Share, ...], ...]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class MayBeCut(Protocol):
    """The parts of a spec that have to go with a release in parts."""

    @property
    def parts(self) -> PartsOfTable | None:
        """How the table is cut."""
        ...

    @property
    def columns(self) -> Mapping[str, ColumnSpec]:
        """The columns of the source by name."""
        ...

    @property
    def strata(self) -> Sequence[Stratum]:
        """What keeps groups apart."""
        ...

    @property
    def partition(self) -> PartitionParameters:
        """The parameters of the partition."""
        ...

    @property
    def form(self) -> FormParameters:
        """The parameters of the form."""
        ...

    @property
    def groups(self) -> str | None:
        """The line whose groups are shown."""
        ...

    @property
    def remember(self) -> str:
        """What the line knows of its people."""
        ...

    @property
    def continues(self) -> bool:
        """True where versions are composed."""
        ...

    @property
    def encrypts(self) -> bool:
        """True where stages on disk are encrypted."""
        ...

    @property
    def asks(self) -> bool:
        """True where queries are asked of a version and of the original."""
        ...

    @property
    def reads(self) -> str:
        """The format of the source."""
        ...

    def scoped(self) -> Sequence[PrivacyModel]:
        """The promises, each saying which columns it is about."""
        ...


def fault_of_parts(spec: MayBeCut) -> str | None:
    """Name a key of a spec that does not go with a release in parts, and the rule."""
    parts = spec.parts
    if parts is None:
        return None
    for key, chosen in (("partition", spec.partition), ("form", spec.form)):
        if chosen.not_in_parts:
            return f"{key}: {chosen.not_in_parts}"
    return _fault_of_cut(spec, parts) or _fault_of_promises(spec) or _fault_of_run(spec)


def _fault_of_cut(spec: MayBeCut, parts: PartsOfTable) -> str | None:
    if parts.by is None:
        return None
    column = spec.columns.get(parts.by)
    if column is None or column.role != "quasi-identifier":
        return f"parts.by: {parts.by!r} is not a quasi-identifier"
    if column.type not in ORDERED:
        return f"parts.by: {parts.by!r} has no order: leave by and at out"
    try:
        starts = [as_number(text, column.type) for text in parts.at]
    except ValueError:
        return f"parts.at: not values of type {column.type}"
    return None if starts == sorted(set(starts)) else "parts.at: do not ascend"


def _fault_of_promises(spec: MayBeCut) -> str | None:
    told = {name for name, c in spec.columns.items() if c.role == "quasi-identifier"}
    for i, promise in enumerate(spec.scoped()):
        if promise.compares_with_all and spec.partition.chosen_once:
            return (
                f"promises.{i}: {promise.name} compares groups with all rows, and partition "
                f"{spec.partition.method} cannot come closer in one part alone: use mondrian"
            )
        if promise.reference_uri is not None:
            return f"promises.{i}: {promise.name} speaks of a population, which no part is held to"
        if promise.judged_jointly and not told <= set(promise.quasi_identifiers or ()):
            return (
                f"promises.{i}: {promise.name} is judged over all groups together, and parts keep "
                "it by themselves where it is about all quasi-identifiers, which tell parts apart"
            )
    return None


def _fault_of_run(spec: MayBeCut) -> str | None:
    """The keys beside the release's own that need the whole table in memory."""
    units = [name for name, column in spec.columns.items() if column.unit]
    rules = {
        "source.format: parts are read from Parquet: a file, or a directory of files": (
            spec.reads != "parquet"
        ),
        "versions: composed needs everybody's place among all groups, which is not kept in parts: "
        "use disjoint": spec.continues,
        "groups: those of another line are not known part by part: use a partition": (
            spec.groups is not None
        ),
        "remember: who is in which group is not kept in parts: say remember: units": (
            bool(units) and spec.remember != "units"
        ),
        "evaluate.workloads: need the original beside the release: not asked in parts": (spec.asks),
        "stages: encrypted: parts are read and written piece by piece: use plain, on an encrypted "
        "disk": spec.encrypts,
    }
    for name, column in spec.columns.items():
        rules[f"columns.{name}.generated: rows are not numbered in parts"] = bool(column.generated)
        rules[f"columns.{name}.repeat: keep-one needs all rows at once: use refuse"] = (
            column.repeat != "refuse"
        )
    return next((fault for fault, broken in rules.items() if broken), None)
