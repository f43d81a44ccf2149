"""The terms of a release: the allow-listed part of its spec, and its row counts.

Everything else in a release is a function of the published tables and of this.
"""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from sfumato.expectations.models.promises import Promise
from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.expectations.shared.registered import Deferred
from sfumato.tasks.continued.parameters import ComposedVersions, Versions
from sfumato.tasks.forms.parameters import FormChoice
from sfumato.tasks.partitions.of_line import DeclaredPartition
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import COMPOSED_IN_PARTS, field_since, lowest_format
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule as Hierarchy
from sfumato.tasks.schema.hierarchy_rules import Stratum
from sfumato.tasks.schema.names import GROUP_ID, Part
from sfumato.tasks.schema.published import DeclaredColumn, names_with_roles
from sfumato.tasks.schema.stated import CalibratedIntervals, KeptBars, PublishedWords
from sfumato.tasks.terms.parts import PartsOfTable, PublishedPart

if TYPE_CHECKING:
    from sfumato.tasks.policies.term import PublishedPolicy
else:
    PublishedPolicy = Any

_POLICY = Deferred("sfumato.tasks.policies.term:PublishedPolicy")  # few releases have one
Count = Annotated[int, Field(ge=0)]
Format = Literal["parquet", "csv"]
LineName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=63)]
Title = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$")]


class FacedPeople(Part):
    """Counts of some people: all, those who face a single value, and those who face too few."""

    people: Count
    one: Count
    few: Count

    @model_validator(mode="after")
    def _are_parts_of_each_other(self) -> "FacedPeople":
        if not self.one <= self.few <= self.people:
            raise ValueError("its counts of people contradict each other")
        return self


class ColumnExposure(Part):
    """Exposure of one sensitive column.

    Attributes:
        column: its name.
        asked: how many different values everybody should face.
        intersection: people by the values that all their groups have in common.
        newcomers: who came between two versions, by the values that came with them.
        leavers: who left between two versions, by the values that left with them.
    """

    column: str
    asked: Annotated[int, Field(ge=2)]
    intersection: FacedPeople
    newcomers: FacedPeople
    leavers: FacedPeople


class JointExposure(Part):
    """Exposure by a version together with others that its publisher knows.

    Attributes:
        versions: how many there are, this one included.
        lines: of how many lines, this one included.
        columns: by sensitive column, those that some other version has, too.
    """

    versions: Annotated[int, Field(ge=1)]
    lines: Annotated[int, Field(ge=1)]
    columns: tuple[ColumnExposure, ...]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class CsvFiles(_Frozen):
    """The writing of tables as CSV files."""

    formulas: Literal["keep", "quote"] = field_since(
        1, "keep", "texts that a spreadsheet would run as formulas: unchanged, or behind a quote"
    )


class RowCounts(_Frozen):
    """The number of rows read, and what became of them."""

    read: int
    dropped_by_filter: int
    dropped_for_nulls: int
    dropped_as_repeats: int
    suppressed: int
    published: int
    fakes: int
    vacant: int = field_since(2, 0, "values of people who left, still shown")
    not_represented_versions: int = field_since(
        2, 0, "rows of people whom earlier versions keep out of this one"
    )


class RelatedCounts(Part):
    """The number of related rows read, and what became of them."""

    read: Count
    dropped_by_filter: Count
    dropped_for_nulls: Count
    dropped_as_orphans: Annotated[
        Count, Field(description="rows of no person in the table of people")
    ]
    dropped_with_people: Annotated[Count, Field(description="rows of people who were left out")]
    published: Count

    @model_validator(mode="after")
    def _adds_up(self) -> "RelatedCounts":
        dropped = self.dropped_by_filter + self.dropped_for_nulls
        dropped += self.dropped_as_orphans + self.dropped_with_people
        if self.read != dropped + self.published:
            raise ValueError("its counts of related rows contradict each other")
        return self


def _as_list(columns: dict[str, DeclaredColumn]) -> list[dict[str, Any]]:
    return [
        {"name": name, **column.model_dump(mode="json", by_alias=True, exclude_none=True)}
        for name, column in columns.items()
    ]


def _by_name(columns: Any) -> Any:
    if not isinstance(columns, list):
        return columns
    return {column["name"]: {k: v for k, v in column.items() if k != "name"} for column in columns}


def _each_once(formats: tuple[Format, ...]) -> tuple[Format, ...]:
    if len(set(formats)) < len(formats):
        raise ValueError("a format is named twice. Name each once")
    return formats


class Terms(_Frozen):
    """The part of a spec that may be published: the same for all versions of an unchanged spec."""

    name: str
    title: str
    unit: Annotated[Literal["row", "identifier"], Field(description="whom a row is about")]
    rows_per_unit: Literal["one", "several"] = field_since(
        6, "one", "true if promises are kept also over people who have several rows"
    )
    households: bool = field_since(6, False, "true if promises are kept also over households")
    versions: Versions
    columns: Annotated[  # a list in JSON: canonical JSON keeps no order of keys
        dict[str, DeclaredColumn], BeforeValidator(_by_name), PlainSerializer(_as_list)
    ]
    strata: tuple[Stratum, ...]
    promises: tuple[Promise, ...]
    partition: DeclaredPartition
    form: FormChoice
    formats: Annotated[tuple[Format, ...], AfterValidator(_each_once)]
    csv: CsvFiles = field_since(1, CsvFiles(), "how tables are written as CSV files")
    parts: PartsOfTable | None = field_since(3, None, "how the table was cut into parts, if it was")
    policy: Annotated[PublishedPolicy, _POLICY] | None = field_since(
        12, None, "the policy by name, with the rules that a machine decides"
    )

    @property
    def format(self) -> int:
        """The lowest format that can say these terms."""
        least = COMPOSED_IN_PARTS if self.is_composed and self.parts is not None else 0
        admitted = (self.form.admits_since.get(promise.name, 0) for promise in self.promises)
        return max(lowest_format(self), least, *admitted)

    @property
    def is_composed(self) -> bool:
        """True if versions were made to be combined."""
        return isinstance(self.versions, ComposedVersions)

    @property
    def has_related_rows(self) -> bool:
        """True if a second table has rows that belong to people."""
        return bool(self.form.related_columns)

    @property
    def shows_numbers_of_rows(self) -> bool:
        """True if anyone can see how many people of a group have rows of a second table."""
        if not self.has_related_rows:
            return False
        from sfumato.tasks.forms.related.facts import shows_numbers  # few have such tables

        return shows_numbers(self.columns)

    @property
    def over_people(self) -> bool:
        """True if promises are kept over people with several rows, or over households.

        These rows may be those of a second table.
        """
        return self.rows_per_unit == "several" or self.households or self.has_related_rows

    @property
    def kept_over(self) -> Literal["people", "households"]:
        """The word for those over whom promises are kept, if they are kept over more than rows."""
        return "households" if self.households else "people"

    @property
    def rows_are_people(self) -> bool:
        """True if each row is a different person."""
        return self.unit == "identifier" and self.rows_per_unit == "one"

    @property
    def tells_whose(self) -> bool:
        """True if the owners of the rows are part of a version's identity."""
        return self.is_composed or self.over_people

    @property
    def is_recoded(self) -> bool:
        """True if labels replace quasi-identifiers, and all other values are unchanged."""
        return self.form.recodes

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The declared hierarchies by column."""
        hierarchies = {name: column.hierarchy for name, column in self.columns.items()}
        return {name: hierarchy for name, hierarchy in hierarchies.items() if hierarchy is not None}

    @property
    def codings_by_column(self) -> dict[str, tuple[str, ...]]:
        """The columns whose values were coded, each with the keys of its codings."""
        codings = {name: tuple(column.codings) for name, column in self.columns.items()}
        return {name: keys for name, keys in codings.items() if keys}

    def numbered_columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table whose numbers continue from part to part of a release."""
        own = self.form.numbered_columns(table)
        return (GROUP_ID,) if self.is_composed and not own else own

    def names_with_roles(self, *roles: str) -> list[str]:
        """Return the published columns that have one of these roles, in order."""
        return names_with_roles(self.columns, *roles)

    def digest(self) -> str:
        """Return the SHA-256 that identifies these terms."""
        terms = self.model_dump(mode="json", by_alias=True, include=set(Terms.model_fields))
        return hashlib.sha256(canonical_json(terms)).hexdigest()


class Declared(Terms):
    """The terms of a release, and what it knows of its own making."""

    rows: RowCounts
    software: dict[str, str]
    predecessor: Annotated[str | None, Field(pattern="^[0-9a-f]{64}$")] = field_since(
        2, None, "the digest of the version that a composed one continues"
    )
    exposure: JointExposure | None = field_since(
        2, None, "what the version and other versions reveal together, if that is accepted"
    )
    intervals: CalibratedIntervals | None = field_since(
        5, None, "the publisher's statement by how much intervals are widened"
    )
    bars: KeptBars | None = field_since(
        6, None, "the limits on attacks that the publisher states to be kept"
    )
    window: ExactNumber | None = field_since(
        6, None, "the width of a small range, within which guesses of numbers count"
    )
    rows_apart: str | None = field_since(
        6, None, "the stated reason why rows with the same identifier are about different people"
    )
    words: PublishedWords = field_since(
        6, PublishedWords(), "the owner's words about the line and its columns"
    )
    rounds: Mapping[str, Literal[0, 2]] = field_since(
        11,
        {},
        "the rounds for which the frequencies of a column's values were fitted, if not 100",
    )
    related_rows: RelatedCounts | None = field_since(
        15, None, "the number of related rows read, and what became of them"
    )
    made_of: tuple[PublishedPart, ...] = field_since(
        3, (), "the parts of a release in parts, in order"
    )
