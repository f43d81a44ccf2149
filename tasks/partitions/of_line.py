"""Parameters of a spec that shows the groups of another line and has no partition of its own."""

from collections import ChainMap
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol, cast

from pydantic import Field

from sfumato.expectations.shared.registered import Registered
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
    line: Annotated[str, Field(description="name of the line that has the groups")]


_KINDS = ChainMap({GROUPS: GroupsOfLine}, cast(Any, PARTITION_PARAMETERS))
DeclaredPartition = Annotated[PartitionParameters, Registered("method", _KINDS)]
"""A release's declaration of its groups: their partition, or the line that they are of."""


def line_of(partition: PartitionParameters) -> str | None:
    """Return the name of the line whose groups are shown, None if a partition makes them."""
    return partition.line if isinstance(partition, GroupsOfLine) else None


class SpecOfGroups(Protocol):
    """The parts of a spec that must agree with showing the groups of another line."""

    @property
    def groups(self) -> str | None:
        """The name of the line whose groups are shown, None if the spec names none."""
        ...

    @property
    def name(self) -> str:
        """The name of the line itself."""
        ...

    @property
    def people(self) -> str | None:
        """The name of the set of people."""
        ...

    @property
    def unit(self) -> str | None:
        """`row` if each row counts as a person."""
        ...

    @property
    def remember(self) -> str:
        """The extent to which the line remembers its people: `map` or `units`."""
        ...

    @property
    def strata(self) -> Sequence[object]:
        """The strata, which keep groups apart."""
        ...

    @property
    def versions(self) -> object:
        """The rule by which versions may be combined."""
        ...


def fault_of_groups(spec: SpecOfGroups, partitioned: bool) -> str | None:
    """Name a key of a spec that does not go with the groups of another line, and the rule.

    Args:
        spec: its parts.
        partitioned: whether it has a partition of its own.
    """
    if spec.groups is None:
        return None if partitioned else "partition: is missing (or type `groups: LINE`)"
    rules = {
        "groups: replaces partition; leave one of the two out": partitioned,
        f"groups: {spec.groups} is this line itself; name another line": spec.groups == spec.name,
        "people: is missing; type the name that the other line has here (`people: NAME`)": (
            spec.people is None
        ),
        "unit: groups needs to recognise people; declare an identifier with `unit: true`": (
            spec.unit == "row"
        ),
        "remember: units forgets who is in which group, which groups needs; use `remember: map`": (
            spec.remember == "units"
        ),
        "strata: groups are from another line, with its strata; leave strata out": bool(
            spec.strata
        ),
        "versions.vacancies: the other line decides who gets which place; use `vacancies: keep`": (
            getattr(spec.versions, "vacancies", "keep") != "keep"
        ),
        "versions.cohort: people in no group of the other line wait for it; leave cohort out": (
            getattr(spec.versions, "cohort", 1) != 1
        ),
    }
    return next((fault for fault, broken in rules.items() if broken), None)
