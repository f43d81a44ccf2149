"""Declarations of partitions in a spec: parameters, needed promises, and properties of the groups.

The subclasses are defined beside their algorithms, in modules that do not import the algorithms.
"""

from typing import ClassVar, Literal, NamedTuple

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.schema.names import Part


class Need(NamedTuple):
    """Promises of which a partition needs at least one, and the words for what it reads there."""

    models: tuple[type[PrivacyModel], ...]
    words: str


Labels = Literal["nodes", "stars"]
"""Labels that a partition chooses: nodes of hierarchies, or values and stars."""


class PartitionParameters(Part):
    """A partition's parameters, frozen.

    `needs` are the promises that it reads its targets from; `gives_targets` tells that each group
    gets the distribution that its sensitive values are to follow; `small_groups` tells that there
    may be as many groups as combinations of quasi-identifiers; `distinct_values`, that a group's
    values of the column whose promise is read all differ; `disjoint_covers`, that no two groups
    admit the same combination of quasi-identifiers; `chosen_once` tells that something is
    chosen for all rows alike, from counts where no memory holds them; `over_people`, that promises
    are kept over people who have several rows, too; `all_at_once`, that all groups are judged
    together whenever any changes; `judges_labels`, which labels promises about combinations of
    labels are kept with, None if they are not; `aims_at_presence`, that each group by itself keeps
    (α,β)-privacy.
    """

    needs: ClassVar[Need | None] = None
    gives_targets: ClassVar[bool] = False
    small_groups: ClassVar[bool] = False
    distinct_values: ClassVar[bool] = False
    disjoint_covers: ClassVar[bool] = False
    chosen_once: ClassVar[bool] = False
    over_people: ClassVar[bool] = False
    all_at_once: ClassVar[bool] = False
    judges_labels: ClassVar[Labels | None] = None
    aims_at_presence: ClassVar[bool] = False

    method: str

    @property
    def may_suppress(self) -> bool:
        """True if rows may be suppressed to keep promises that all rows together would break."""
        return False

    @property
    def counts_rows(self) -> bool:
        """True if noise hides one row, as if every person had one row only."""
        return False

    @property
    def equal_rows_together(self) -> bool:
        """True if rows with equal quasi-identifiers are always in one group."""
        return False

    @property
    def not_in_parts(self) -> str | None:
        """The reason why a table cannot be grouped part by part, None if it can."""
        return None

    def fault_of(self, _promise: PrivacyModel) -> str | None:
        """Name the key of a promise that the partition can never keep, and the broken rule."""
        return None
