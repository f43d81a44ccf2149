"""destinations.json: a line's memory of the places where copies of it are.

    complete    the last delivery left the whole line there, known by its SHA-256
    behind      it may not be there: a delivery failed, or a process was killed in one

The file is part of the private state and not of the public record, which is copied itself, and read
by everyone: addresses of servers are not public. It is no secret either: secrets are only in the
environment. Losing the file does no harm: each delivery looks at the place itself.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.formats import read_document

DESTINATIONS = "destinations.json"
_FORMAT = 1


class KnownDestination(BaseModel):
    """A destination as it was last heard of.

    Attributes:
        kind: the kind of place.
        declared: as its spec declares it.
        time: when it was last delivered to.
        behind: why it is behind, None if it was complete.
        delivered: the SHA-256 of the line that was last there as a whole.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: str
    declared: dict[str, Any]
    time: str
    behind: str | None = None
    delivered: str | None = None

    @property
    def place(self) -> str:
        """Its address, as declared."""
        return str(self.declared["uri"])

    def why_behind(self, sha256: str) -> str | None:
        """Return why it does not hold the line of this SHA-256, or None if it does."""
        if self.behind is None and self.delivered != sha256:
            return "the line has changed since the last delivery"
        return self.behind


class KnownDestinations(BaseModel):
    """All destinations of a line."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1] = 1
    destinations: tuple[KnownDestination, ...] = ()

    def find(self, kind: str, uri: str) -> KnownDestination | None:
        """Return the destination of this kind and address, or None if it is not known."""
        same = (
            destination
            for destination in self.destinations
            if (destination.kind, destination.place) == (kind, uri)
        )
        return next(same, None)

    def with_one(self, updated: KnownDestination) -> "KnownDestinations":
        """Return a copy in which one destination is replaced."""
        changed = (
            updated
            if (destination.kind, destination.place) == (updated.kind, updated.place)
            else destination
            for destination in self.destinations
        )
        return self.model_copy(update={"destinations": tuple(changed)})


def knows_destinations(line: Path) -> bool:
    """Decide whether a line has had destinations."""
    return (line / DESTINATIONS).is_file()


def read_destinations(line: Path) -> KnownDestinations:
    """Return the destinations that a line remembers; no destinations if it has none.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    place = line / DESTINATIONS
    destinations = read_document(place, KnownDestinations, _FORMAT, "a line's destinations")
    return destinations or KnownDestinations()


def write_destinations(line: Path, destinations: KnownDestinations) -> None:
    """Replace the destinations that a line remembers."""
    write_atomically(line / DESTINATIONS, destinations.model_dump_json(exclude_none=True).encode())
