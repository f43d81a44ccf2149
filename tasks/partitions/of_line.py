"""The groups of another line in place of a partition: as a spec says it, and a release declares."""

from collections import ChainMap
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol, cast

from pydantic import Field

from sfumato.expectations.registered import Registered
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS

GROUPS = "groups"


class GroupsOfLine(PartitionParameters):
    """The groups of another line about the same people; nothing is partitioned.

    Attributes:
        line: whose groups are shown.
    """

    since: ClassVar[int] = 2

    method: Literal["groups"] = "groups"
    line: Annotated[str, Field(description="the line whose groups are shown")]


_KINDS = ChainMap({GROUPS: GroupsOfLine}, cast(Any, PARTITION_PARAMETERS))
DeclaredPartition = Annotated[PartitionParameters, Registered("method", _KINDS)]
"""What a release declares of its groups: the partition that made them, or whose they are."""


def line_of(partition: PartitionParameters) -> str | None:
    """The line whose groups are shown, None where a partition makes them."""
    return partition.line if isinstance(partition, GroupsOfLine) else None


class MayFollow(Protocol):
    """The parts of a spec that have to go with the groups of another line."""

    @property
    def groups(self) -> str | None:
        """The line whose groups are shown."""
        ...

    @property
    def name(self) -> str:
        """The line's own name."""
        ...

    @property
    def people(self) -> str | None:
        """The name of the set of people."""
        ...

    @property
    def unit(self) -> str | None:
        """`row` where rows are people."""
        ...

    @property
    def remember(self) -> str:
        """What the line knows of its people."""
        ...

    @property
    def strata(self) -> Sequence[object]:
        """What keeps groups apart."""
        ...

    @property
    def versions(self) -> object:
        """How versions may be combined."""
        ...


def fault_of_groups(spec: MayFollow, partitioned: bool) -> str | None:
    """Name a key of a spec that does not go with the groups of another line, and the rule.

    Args:
        spec: its parts.
        partitioned: whether it has a partition of its own.
    """
    if spec.groups is None:
        return None if partitioned else "partition: is needed (or groups: the line that has them)"
    rules = {
        "groups: stands in place of a partition: leave one of the two out": partitioned,
        f"groups: {spec.groups} is this line itself": spec.groups == spec.name,
        "people: is needed: name the people that both lines are about, as the other line does": (
            spec.people is None
        ),
        "unit: groups needs to know people again: name an identifier with unit: true": (
            spec.unit == "row"
        ),
        "remember: units forgets who is in which group, and groups needs that": (
            spec.remember == "units"
        ),
        "strata: groups are those of another line, with its strata": bool(spec.strata),
        "versions.vacancies: the other line says who has which place: keep": (
            getattr(spec.versions, "vacancies", "keep") != "keep"
        ),
        "versions.cohort: who is in no group of the other line waits for it": (
            getattr(spec.versions, "cohort", 1) != 1
        ),
    }
    return next((fault for fault, broken in rules.items() if broken), None)
