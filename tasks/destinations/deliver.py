"""Delivery: each destination of a line is brought up to the state of the line's directory.

A destination that fails stays behind. This is noted before anything is tried, so that a killed
process also leaves the note; the next delivery completes it. Nothing that was published here
depends on it. One delivery of a line goes at a time, and holds up no publication.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from sfumato.expectations.shared.errors import PromiseError, SfumatoError
from sfumato.tasks.destinations.declared import DatabaseDestination, StoreDestination
from sfumato.tasks.destinations.registry import DESTINATIONS
from sfumato.tasks.lines.known_destinations import (
    KnownDestination,
    KnownDestinations,
    read_destinations,
    write_destinations,
)
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.snapshot import LineSnapshot, snapshot
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.durable import hold_lock
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.state import read_state
from sfumato.tasks.private.wrapping import with_secrets

Secrets = Callable[[Sequence[str]], AbstractContextManager[None]]
"""Provides the variables of a destination whose blocks the environment names."""

_BEGUN = "a delivery was cut short"


@dataclass(frozen=True)
class Delivered:
    """Result of a delivery to one destination.

    Attributes:
        place: its address, as declared.
        copied: the versions that were copied there now.
        behind: why it is not as the line is, None where it is.
        notices: what is to be said beside.
    """

    place: str
    copied: tuple[str, ...] = ()
    behind: str | None = None
    notices: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[str, ...]:
        """The result in lines."""
        if self.behind is not None:
            return (*self.notices, f"{self.place} is behind: {self.behind}")
        versions = f" (copied: {', '.join(self.copied)})" if self.copied else ""
        return (*self.notices, f"{self.place} is complete{versions}")

    def document(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return asdict(self)


def kind_of(declared: Any) -> str:
    """Return the name of the kind of place that is declared."""
    return next(name for name, kind in DESTINATIONS.items() if isinstance(declared, kind.declared))


def remember(line: Line, declared: Sequence[StoreDestination | DatabaseDestination]) -> list[str]:
    """Remember the destinations that a spec names, and no other.

    Returns:
        What is to be said of those that it names no more.
    """
    with hold_lock(line.private / ".delivering"):
        before = read_destinations(line.private)
        destinations = tuple(_entry_for(place, before) for place in declared)
        if destinations == before.destinations:
            return []
        write_destinations(line.private, KnownDestinations(destinations=destinations))
    remaining = {(destination.kind, destination.place) for destination in destinations}
    gone = [
        destination.place
        for destination in before.destinations
        if (destination.kind, destination.place) not in remaining
    ]
    return [
        f"{place} is not a destination any more. Its files stay there, also of withdrawn versions"
        for place in gone
    ]


def deliver(line: Line, environ: Mapping[str, str], secrets: Secrets) -> list[Delivered]:
    """Bring all destinations that a line remembers up to the line, once it has a version.

    Args:
        line: the line, whose locks need not be held.
        environ: the values of `${NAME}` in addresses, and keys of stores.
        secrets: has variables whose blocks the environment names.

    Raises:
        PromiseError: where it cannot be read what the line remembers.
    """
    with hold_lock(line.private / ".delivering"):
        destinations = read_destinations(line.private).destinations
        if not read_record(line.public).versions:
            return []
        return [_deliver(line, destination, environ, secrets) for destination in destinations]


def _deliver(
    line: Line, destination: KnownDestination, environ: Mapping[str, str], secrets: Secrets
) -> Delivered:
    """Bring one destination up to date, or report why not; the other destinations do not wait."""
    _note(line, destination, behind=destination.behind or _BEGUN)
    result = Delivered(destination.place)
    try:
        with sanitise_errors("deliver"):
            former = read_state(line.private).former_mark
            whole = snapshot(line.public, former)
            result = _bring(whole, destination, environ, secrets)
            delivered = whole.sha256
    except SfumatoError as error:
        reason = str(error).removeprefix(f"{destination.place}: ")
        _note(line, destination, behind=reason)
        return Delivered(destination.place, behind=reason)
    _note(line, destination, delivered=delivered)
    return result


def _bring(
    line: LineSnapshot, destination: KnownDestination, environ: Mapping[str, str], secrets: Secrets
) -> Delivered:
    declared, kind = _read_declaration(destination), DESTINATIONS[destination.kind]
    with (
        secrets(declared.variables),
        kind.opened(declared, line, with_secrets(environ)) as there,
    ):
        for version in line.withdrawn:
            there.withdraw(version)
        copied = tuple(version.number for version in line.live if there.put(version))
        there.tell(line)
    return Delivered(destination.place, copied, notices=tuple(there.notices))


def _read_declaration(destination: KnownDestination) -> Any:
    try:
        return DESTINATIONS[destination.kind].declared.model_validate(destination.declared)
    except (KeyError, ValidationError):
        raise PromiseError(
            f"{destination.place}: cannot be read as a destination. Release again"
        ) from None


def _entry_for(
    declared: StoreDestination | DatabaseDestination, before: KnownDestinations
) -> KnownDestination:
    """Return the entry of a destination that a spec names; a new one is behind until delivery."""
    kind = kind_of(declared)
    document = declared.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    earlier = before.find(kind, declared.uri)
    if earlier is None:
        reason = "nothing was delivered there yet"
        return KnownDestination(kind=kind, declared=document, time=_now(), behind=reason)
    return earlier.model_copy(update={"declared": document})


def _note(
    line: Line,
    destination: KnownDestination,
    behind: str | None = None,
    delivered: str | None = None,
) -> None:
    update = {"time": _now(), "behind": behind, "delivered": delivered or destination.delivered}
    notes = read_destinations(line.private)
    write_destinations(line.private, notes.with_one(destination.model_copy(update=update)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
