"""The parts of a release spec as it writes them, each validated by itself."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.promises import Promise, with_columns
from sfumato.expectations.rules.owned import OwnedRules
from sfumato.expectations.shared.registered import Deferred
from sfumato.flows.rules.defaults import WORDS, SpecVersion, resolve
from sfumato.flows.rules.two_tables import as_one_spec
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.candidates.wished import PartitionWish
from sfumato.tasks.continued.parameters import DeclaredRule, Rule, read_versions
from sfumato.tasks.destinations.declared import DatabaseDestination, StoreDestination
from sfumato.tasks.forms.parameters import WrittenForm
from sfumato.tasks.microdata.readers.declared import RelatedSource, Source
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.of_line import GroupsOfLine
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy, Role
from sfumato.tasks.schema.hierarchy_rules import Stratum
from sfumato.tasks.schema.stated import DossierStatements
from sfumato.tasks.terms.parts import PartsOfTable
from sfumato.tasks.terms.terms import CsvFiles, Format, LineName, Title
from sfumato.tasks.verification.signing_keys import KeyName
from sfumato.tasks.workers.registry import Engine

if TYPE_CHECKING:
    from sfumato.tasks.policies.policy import PolicyWish
else:
    PolicyWish = Any


class StrictPart(BaseModel):
    """A part of a spec whose keys are Python names, frozen; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Publish(StrictPart):
    """The place where releases appear, and their formats."""

    uri: Annotated[str, Field(min_length=1, description="a path or file:// address")]
    formats: Annotated[tuple[Format, ...], Field(min_length=1)] = ("parquet", "csv")
    csv: CsvFiles = CsvFiles()
    page_url: Annotated[
        str | None,
        Field(
            alias="page-url",
            pattern=r"^https?://[^\s?#]+$",
            description="where `uri` is served, for links to pages",
        ),
    ] = None
    signed_by: Annotated[
        KeyName | None,
        Field(alias="signed-by", description="the name of the signing key (sfumato keys)"),
    ] = None
    destinations: Annotated[
        tuple[StoreDestination, ...],
        Field(description="stores of objects to which the line is copied"),
    ] = ()
    database: Annotated[
        DatabaseDestination | None,
        Field(
            description=(
                "a database in which each version has its own schema, and views show the "
                "current version"
            )
        ),
    ] = None

    @property
    def copies(self) -> tuple[StoreDestination | DatabaseDestination, ...]:
        """All places to which the line is copied."""
        return (*self.destinations, *(() if self.database is None else (self.database,)))

    @model_validator(mode="after")
    def _parquet_is_among_them(self) -> Self:
        if "parquet" not in self.formats:
            raise ValueError(
                "formats: parquet is missing, and queries and checks read it. Add parquet"
            )
        if "csv" not in self.formats and self.csv != CsvFiles():
            raise ValueError(
                "csv: describes CSV files, and formats has no csv. Add csv to formats, or "
                "leave this key out"
            )
        if len(set(self.formats)) < len(self.formats):
            raise ValueError("formats: names a format twice. Name each once")
        if len({destination.uri for destination in self.destinations}) < len(self.destinations):
            raise ValueError("destinations: name the same uri twice. Name each place once")
        return self


class ApprovalWish(StrictPart):
    """Approval before a version appears: how many reviewers, and how long it waits for them."""

    reviewers: Annotated[
        int,
        Field(
            ge=1, le=20, description="how many reviewers must approve, each with a key of their own"
        ),
    ] = 1
    days: Annotated[
        int, Field(ge=1, le=366, description="how many days a candidate waits before it expires")
    ] = 14


Watched = Literal[
    "published", "pending", "refused", "faulted", "withdrawn", "behind", "late", "crashed"
]
WATCHED: tuple[Watched, ...] = get_args(Watched)


class Schedule(StrictPart):
    """The times at which a deployed line is released."""

    cron: Annotated[
        str,
        Field(
            pattern=r"^\S+( \S+){4}$", description="when it runs, as minute hour day month weekday"
        ),
    ]
    timezone: Annotated[
        str, Field(description="a time zone of the IANA database, such as Europe/Amsterdam")
    ] = "UTC"

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                "not a time zone of the IANA database, such as Europe/Amsterdam"
            ) from None
        return name


class Notifications(StrictPart):
    """The Prefect notification block that is told of a deployed line, and of what."""

    block: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9-]+/[a-z0-9-]+$",
            description="a notification block of Prefect, such as slack-webhook/on-call",
        ),
    ]
    on: Annotated[tuple[Watched, ...], Field(min_length=1)] = (
        "refused",
        "faulted",
        "withdrawn",
        "late",
        "crashed",
    )


class SpecParts(StrictPart):
    """The keys of a release spec, each valid by itself."""

    version: Annotated[SpecVersion, Field(description=WORDS)]
    name: Annotated[
        LineName, Field(description="the name of the line, and of its directory below publish.uri")
    ]
    title: Annotated[Title, Field(description="the title that readers of its pages see first")]
    source: Source
    nulls: Annotated[
        NullPolicy,
        Field(description="what happens to missing values in columns without their own nulls"),
    ] = "refuse"
    columns: Annotated[
        dict[str, ColumnSpec], Field(min_length=1, description="all columns, by name")
    ]
    other_columns: Annotated[
        Literal["drop"] | None,
        Field(
            alias="other-columns",
            description="what happens to the columns of `source.seen` that are not under columns",
        ),
    ] = None
    roles: Annotated[
        Literal["proposed", "confirmed"],
        Field(
            description=(
                "sfumato init writes `proposed`; nothing runs until a steward writes `confirmed`"
            )
        ),
    ] = "confirmed"
    promises: Annotated[
        tuple[Promise, ...],
        Field(min_length=1, description="the privacy models that each version keeps, all of them"),
    ]
    grouping: Annotated[
        PartitionWish | None,
        Field(alias="partition", description="how people are grouped"),
    ] = None
    groups: Annotated[
        LineName | None,
        Field(
            description=(
                "another line about the same people; its groups are used in place of a partition"
            )
        ),
    ] = None
    related: Annotated[
        RelatedSource | None,
        Field(description="the table of rows that belong to people; written under `tables`"),
    ] = None
    form: Annotated[WrittenForm, Field(description="what is shown of a group")]
    publish: Publish
    unit: Annotated[
        str | None,
        Field(
            description=(
                "`row` if each row is one person; otherwise the identifier with `unit: true`"
            )
        ),
    ] = None
    household: Annotated[
        str | None,
        Field(
            description=(
                "the identifier of each person's household; promises are then kept over "
                "households also"
            )
        ),
    ] = None
    strata: Annotated[
        tuple[Stratum, ...],
        Field(
            description="columns or bands that divide the table; no group has rows of two strata"
        ),
    ] = ()
    parts: Annotated[
        PartsOfTable | None,
        Field(description="settings of a release in parts, for a table larger than memory"),
    ] = None
    engine: Annotated[
        Engine,
        Field(
            description=(
                "what makes the parts: this process (local), or the workers of Dask (SFUMATO_DASK)"
            )
        ),
    ] = "local"
    versions: Annotated[
        DeclaredRule,
        BeforeValidator(read_versions, json_schema_input_type=DeclaredRule | Rule),
        Field(description="whether the same people may be in several versions, and how"),
    ] = "disjoint"
    remember: Annotated[
        Literal["map", "units"],
        Field(
            description=(
                "what is kept in private for later versions: who is in which group (map), or "
                "only who is in the release (units)"
            )
        ),
    ] = "map"
    people: Annotated[
        LineName | None,
        Field(description="a name for the set of people, if several lines are about them"),
    ] = None
    across_lines: Annotated[
        Literal["refuse", "accepted-risk"],
        Field(
            alias="across-lines",
            description=(
                "what happens if this line and others about the same people reveal more together"
            ),
        ),
    ] = "refuse"
    approval: Annotated[
        Literal["none", "required"] | ApprovalWish,
        Field(description="the approval that a version needs; `required` means one reviewer"),
    ] = "none"
    artifacts: Annotated[
        Literal["all", "published-only"],
        Field(description="what Prefect shows: all counts, or only those that are published"),
    ] = "all"
    stages: Annotated[
        Literal["plain", "encrypted"],
        Field(
            description=(
                "how microdata is written to disk during a run; the key of `encrypted` is in "
                "memory only"
            )
        ),
    ] = "plain"
    retain: Annotated[
        int, Field(ge=0, le=24 * 366, description="hours for which a run's stages are kept")
    ] = 0
    evaluate: Evaluation = Evaluation()
    attacks: Annotated[
        AttackBars,
        Field(
            description="limits for the success of attackers, measured against the original table"
        ),
    ] = AttackBars()
    policy: Annotated[
        Annotated[PolicyWish, Deferred("sfumato.tasks.policies.policy:PolicyWish", in_short=True)]
        | None,
        Field(
            description=(
                "a policy by name (sfumato policies list), or by the path of its file; a mapping "
                "also has kinds of columns and statements"
            )
        ),
    ] = None
    dossier: Annotated[
        DossierStatements | None,
        Field(
            description="statements for each version's private dossier, beside what was measured"
        ),
    ] = None
    schedule: Annotated[
        Schedule | None, Field(description="when the line's deployment runs (sfumato deploy)")
    ] = None
    notifications: Annotated[
        Notifications | None,
        Field(description="the notifications that a deployed line sends (sfumato deploy)"),
    ] = None
    expectations: Annotated[
        OwnedRules,
        Field(description="expectations that the owner adds; they must pass also"),
    ] = OwnedRules()

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_its_version(cls, document: Any) -> Any:
        return resolve(as_one_spec(document))

    @property
    def partition(self) -> PartitionParameters:
        """The partition, or the line whose groups replace it."""
        return self.grouping or GroupsOfLine(line=str(self.groups))

    @property
    def related_columns(self) -> dict[str, ColumnSpec]:
        """The columns of the related table, without its key; none without such a table."""
        names = () if self.related is None else self.related.columns
        return {name: self.columns[name] for name in names}

    @property
    def columns_with_key(self) -> dict[str, ColumnSpec]:
        """The columns of the related table, with its key, which has the type of people's unit."""
        if self.related is None:
            return {}
        unit = self.columns[self.related.key]
        key = ColumnSpec(role="identifier", type=unit.type, nulls="category")
        return {self.related.key: key, **self.related_columns}

    @property
    def own_columns(self) -> dict[str, ColumnSpec]:
        """The columns of the people's source: all, unless a second table belongs to it."""
        others = {*self.related_columns, *self.facts}
        return {name: column for name, column in self.columns.items() if name not in others}

    @property
    def facts(self) -> dict[str, ColumnSpec]:
        """The columns of people that are computed from related rows."""
        return {name: column for name, column in self.columns.items() if column.derive is not None}

    @property
    def columns_of_facts(self) -> set[str]:
        """The columns of the related table that facts of people are computed from."""
        if self.related is None or not self.facts:
            return set()
        from sfumato.tasks.microdata.derived import columns_of_facts  # few specs have facts

        return columns_of_facts(self.facts, self.related.name, self.related_columns)

    @property
    def approval_wish(self) -> ApprovalWish | None:
        """The approval that is asked for, or None."""
        if isinstance(self.approval, ApprovalWish):
            return self.approval
        return ApprovalWish() if self.approval == "required" else None

    @property
    def formats(self) -> tuple[Format, ...]:
        """The formats of tables; in parts, CSV only if the spec asks for it."""
        if self.parts is not None and "formats" not in self.publish.model_fields_set:
            return ("parquet",)
        return self.publish.formats

    def names_with_roles(self, *roles: Role) -> list[str]:
        """Return the columns with one of these roles, in order; weights count as insensitive."""
        return [name for name, c in self.columns.items() if {c.role, c.shown_as} & {*roles}]

    @property
    def repeats(self) -> bool:
        """True if people have several rows, which are all represented."""
        return any(column.repeat == "all" for column in self.columns.values())

    @property
    def rows_apart(self) -> str | None:
        """The reasons why rows with a repeated identifier are different people's, or None."""
        if self.unit != "row":
            return None
        named = (c for c in self.columns.values() if c.role == "identifier")
        return "; ".join(c.unprotected for c in named if c.unprotected is not None) or None

    @property
    def over_people(self) -> bool:
        """True if promises are kept over people who have several rows, or over households."""
        return self.repeats or self.household is not None

    def scoped_promises(self) -> tuple[PrivacyModel, ...]:
        """Return the promises, each with the columns that it is about."""
        columns = [
            self.names_with_roles(role) for role in ("quasi-identifier", "sensitive", "weight")
        ]
        scoped = tuple(with_columns(promise, *columns) for promise in self.promises)
        if self.related is None or not self.facts:
            return scoped
        from sfumato.tasks.forms.related.facts import judge_beside  # few specs have facts

        return tuple(judge_beside(promise, self.facts) for promise in scoped)
