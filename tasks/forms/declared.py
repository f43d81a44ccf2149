"""The declaration of a form in a spec: its parameters, and the data that it shows.

The subclasses are in modules beside their algorithms, which they do not import.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field, model_validator

from sfumato.expectations.models.model import PrivacyModel, Way
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.schema.columns import ColumnSpec, Role
from sfumato.tasks.schema.names import GROUP_ID, Part


class Companions(Protocol):
    """The parts of a spec that a form has to match."""

    @property
    def columns(self) -> Mapping[str, ColumnSpec]:
        """The columns of the source by name."""
        ...

    @property
    def promises(self) -> Sequence[PrivacyModel]:
        """The promises of the release."""
        ...

    @property
    def partition(self) -> PartitionParameters:
        """The parameters of the partition."""
        ...

    def names_with_roles(self, *roles: Role) -> list[str]:
        """Return the columns that have one of these roles, in order."""
        ...


class FormParameters(Part):
    """A form's parameters, frozen.

    `shows` names the way in which a person is shown, by which queries are answered: "labels" beside
    a sensitive value, "rows" of exact values beside grouped ones, or beside "subdomains" of them,
    or "columns", each by itself. A form with a way of its own names the one of these on which
    promises mean the same in `judged_as`. `rows_table` is the table of exact rows, if there is one;
    `values_apart` tells that sensitive values stand in other tables; `recodes`, that labels stand
    in the place of quasi-identifiers; `shows_hierarchies`, that these come from hierarchies;
    `counts_alone`, that no aggregate but counts can be asked; `declares`, that promises are judged
    by declared distributions, not by the rows' values; `shows_insensitive`, that insensitive
    columns are published; `keeps_nulls`, that sensitive values may be missing. `admits_since` has
    the promises, by name, that the form did not admit at first, with the formats that admit them.
    """

    shows: ClassVar[str]
    judged_as: ClassVar[Way | None] = None
    recodes: ClassVar[bool] = False
    counts_alone: ClassVar[bool] = False
    rows_table: ClassVar[str | None] = None
    values_apart: ClassVar[bool] = False
    declares: ClassVar[bool] = False
    shows_insensitive: ClassVar[bool] = True
    shows_hierarchies: ClassVar[bool] = False
    keeps_nulls: ClassVar[bool] = False
    admits_since: ClassVar[Mapping[str, int]] = {}

    method: str

    @model_validator(mode="before")
    @classmethod
    def _has_no_marginals(cls, written: Any) -> Any:
        """Refuse `marginals` by name in a form that is not judged with them."""
        if isinstance(written, Mapping) and "marginals" in set(written) - set(cls.model_fields):
            raise ValueError(
                f"marginals: form {written.get('method')} cannot be judged beside them. Leave "
                "marginals out, or use form ambiguous"
            )
        return written

    @classmethod
    def admits(cls, promise: PrivacyModel) -> bool:
        """Decide whether a promise means something for what the form shows."""
        return (cls.judged_as or cls.shows) in promise.ways

    @classmethod
    def numbered_columns(cls, _table: str) -> tuple[str, ...]:
        """Return the columns of a table whose numbers continue from part to part of a release."""
        return () if cls.shows == "labels" else (GROUP_ID,)

    @property
    def table_of_rows(self) -> str:
        """The table of exact rows, one for each person."""
        return str(self.rows_table)

    @property
    def related_columns(self) -> tuple[str, ...]:
        """The published columns of a second table, whose rows belong to people."""
        return ()

    @property
    def related_table(self) -> str:
        """The table of rows that belong to people; empty without one."""
        return ""

    @property
    def person_key(self) -> str:
        """The column by which related rows name people, which is not published; empty without."""
        return ""

    @property
    def most_related_rows(self) -> int | None:
        """The most related rows of a person who was not left out; None without such a limit."""
        return None

    @property
    def protects_values(self) -> bool:
        """False if the form hides who people are, and has no values to protect."""
        return True

    @property
    def tells_labels(self) -> bool:
        """True if tables publish which values each label admits."""
        return False

    @property
    def together(self) -> bool:
        """True if the sensitive values of one person are in one row."""
        return True

    @property
    def facts_together(self) -> bool:
        """True if the facts of one person beside related rows are in one row."""
        return False

    @property
    def counted_columns(self) -> tuple[str, ...]:
        """The quasi-identifiers whose values are counted over all groups together."""
        return ()

    def grouped_by(
        self,
        promises: Sequence[PrivacyModel],
        partition: PartitionParameters,  # noqa: ARG002 - of most forms
    ) -> tuple[PrivacyModel, ...]:
        """Return the promises that groups are made for, without those about a reference."""
        return tuple(promise for promise in promises if not promise.needs_population)

    def fault_in(self, _spec: Companions) -> str | None:
        """Return a key of a spec that the form does not go with, and why; None if all do."""
        return None


class SensitiveApart(FormParameters):
    """Sensitive values that stand apart from the rows that they belong to."""

    keeps_nulls: ClassVar[bool] = True

    sensitive: Annotated[
        Literal["independent", "together"],
        Field(description="together keeps a person's sensitive values in one row"),
    ] = "independent"

    @property
    def tells_labels(self) -> bool:
        """True if tables publish which values each label admits."""
        return False

    @property
    def together(self) -> bool:
        """True if the sensitive values of one person are in one row."""
        return self.sensitive == "together"
