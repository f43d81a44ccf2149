"""A destination that is open for a delivery; `tasks.destinations.registry` has all."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines.snapshot import LineSnapshot, VersionSnapshot
from sfumato.tasks.lines.versions import Record


class Destination(Protocol):
    """A place that is brought up to a line, in this order; each step may be done again."""

    notices: list[str]
    """Further messages for the steward, in lines."""

    def withdraw(self, version: VersionSnapshot) -> None:
        """Leave nothing of a version that was withdrawn but what says so.

        Raises:
            SfumatoError: where that cannot be done.
        """
        ...

    def put(self, version: VersionSnapshot) -> bool:
        """Copy a version as a whole: no reader sees it before it is complete.

        Returns:
            False where it was there already, and whole.

        Raises:
            PromiseError: where another one has its number there, or it was withdrawn there.
            SfumatoError: where that cannot be done.
        """
        ...

    def tell(self, line: LineSnapshot) -> None:
        """Say which versions there are, and which of them is current.

        Raises:
            SfumatoError: where that cannot be done.
        """
        ...


Opened = Callable[[Any, LineSnapshot, Mapping[str, str]], AbstractContextManager[Destination]]
"""Opens a declared destination for a line, with the environment that has its secrets."""


@dataclass(frozen=True)
class DestinationKind:
    """A kind of place.

    Attributes:
        declared: how a steward declares one.
        opened: opens one.
    """

    declared: type[BaseModel]
    opened: Opened


def require_same_line(place: str, there: Record, line: LineSnapshot) -> None:
    """Refuse a place that has another line, or a newer state of this one.

    Args:
        place: for messages.
        there: the record, as far as it is known there.
        line: what is to be copied.

    Raises:
        PromiseError: with what to do.
    """
    ours = {line.record.owner, line.former_owner}
    if there.name != line.name or (
        None not in (there.owner, line.record.owner) and there.owner not in ours
    ):
        raise PromiseError(
            f"{place}: contains the line {there.name} of another work directory. Name another place"
        )
    if there.counter > line.record.counter:
        raise PromiseError(
            f"{place}: has a newer state of the line than this machine "
            f"({there.counter} > {line.record.counter}). Restore the line's private "
            "state from a newer backup"
        )


def another_release(place: str, number: str, digest: str) -> PromiseError:
    """Return the refusal to overwrite a version by another of the same number.

    Args:
        place: where.
        number: of the version.
        digest: of what is there.
    """
    return PromiseError(
        f"{place}: has another release as version {number} (digest {digest[:12]}…), "
        "and nothing was overwritten. Name another place, or find out who published "
        "there"
    )


def withdrawn_there(place: str, number: str) -> PromiseError:
    """Return the refusal to bring back a version that a later state of the line withdrew."""
    return PromiseError(
        f"{place}: version {number} was withdrawn there, and this line does not know "
        "that. Restore the line as it was published last"
    )
