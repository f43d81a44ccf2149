"""The parameters of the form of two related tables, as a release declares them."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.forms.declared import Companions, FormParameters
from sfumato.tasks.schema.formats import field_since
from sfumato.tasks.schema.names import GROUP_ID

GROUPS = "group_counts"
"""The table of groups."""
_REPORTS = ("groups", "people", "attacks")  # what reports call what is no table
PEOPLE, ROWS, MOST = "people", "related_rows", "most_rows"
"""Its columns: people, related rows, and the most related rows of one person."""
_OVER_PEOPLE = frozenset({"alpha-k"})
"""Promises that are about facts although exact rows are shown: their rows are people."""
TableName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=63, description="the name of a table")
]


class ApartParameters(FormParameters):
    """People with their quasi-identifiers, and related rows beside their groups."""

    shows: ClassVar[str] = "apart"
    values_apart: ClassVar[bool] = True
    keeps_nulls: ClassVar[bool] = True
    since: ClassVar[int] = 15

    method: Literal["apart"]
    people: TableName
    related: TableName
    key: Annotated[
        str, Field(min_length=1, description="the column by which both tables name people")
    ]
    columns: Annotated[
        tuple[str, ...], Field(min_length=1, description="the columns of the related table")
    ]
    cap: Annotated[int, Field(ge=1)] | None = field_since(
        15, None, "the most related rows of a person; people with more were left out"
    )

    sensitive: Literal["independent", "together"] = field_since(
        16, "independent", "together: the facts of one person are in one row"
    )

    @classmethod
    def admits(cls, promise: PrivacyModel) -> bool:
        """Decide whether a promise means something: of related rows, or of facts of people."""
        of_facts = "rows" in promise.ways or promise.name in _OVER_PEOPLE
        return promise.of_related or (of_facts and promise.protects)

    @property
    def facts_together(self) -> bool:
        """True if the facts of one person are in one row."""
        return self.sensitive == "together"

    @property
    def table_of_rows(self) -> str:
        """The table with a row for each person."""
        return self.people

    @property
    def related_columns(self) -> tuple[str, ...]:
        """The published columns of the related table."""
        return self.columns

    @property
    def related_table(self) -> str:
        """The table of rows that belong to people."""
        return self.related

    @property
    def person_key(self) -> str:
        """The column by which related rows name people."""
        return self.key

    @property
    def most_related_rows(self) -> int | None:
        """The most related rows of a person who was not left out; None without such a limit."""
        return self.cap

    @property
    def together(self) -> bool:
        """True: the values of one related row are in one row."""
        return True

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [self.people, self.related, GROUPS]
        if len(set(names)) < len(names):
            raise ValueError(f"tables: {names[0]}, {names[1]} and {GROUPS} must differ")
        if taken := sorted({*names} & {*_REPORTS}):
            raise ValueError(
                f"tables: {taken[0]} cannot be the name of a table, because reports use it"
            )
        if GROUP_ID in self.columns:
            raise ValueError(f"tables: no column can have the name {GROUP_ID}")
        return self

    def fault_in(self, spec: Companions) -> str | None:
        """Refuse columns whose values would stand beside a person's, or related rows', unjudged."""
        for name, column in spec.columns.items():
            related = name in self.columns
            if related and column.role == "quasi-identifier":
                return (
                    f"columns.{name}: known values of related rows would single out people's rows. "
                    "Give the column role drop, or sensitive with a promise"
                )
            if not related and column.role == "sensitive" and column.derive is None:
                return (
                    f"columns.{name}: sensitive columns of {self.people} are published beside "
                    f"{self.related} only if they are computed from it (derive). Give the column "
                    f"role drop. To publish it as a fact, repeat it in every row of "
                    f"{self.related} (there `{name}_of_row: {{role: drop}}`). Then write here "
                    f"`{name}_of_person: {{role: sensitive, derive: MAX({name}_of_row)}}`. Add its "
                    "type, and a promise or `unprotected: REASON`"
                )
        return None
