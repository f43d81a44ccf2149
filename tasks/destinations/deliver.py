"""Delivery: each destination of a line is brought up to the line as it stands in its directory.

A destination that fails stays behind, which is noted before anything is tried, so that a killed
process leaves the note, too; whoever delivers next completes it. Nothing that was published here
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
"""Has the variables of a destination in this process, whose blocks the environment names."""

_BEGUN = "a delivery was cut short"


@dataclass(frozen=True)
class Delivered:
    """What became of a destination.

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
    def said(self) -> tuple[str, ...]:
        """All of it in lines."""
        if self.behind is not None:
            return (*self.notices, f"{self.place} is behind: {self.behind}")
        versions = f" (copied: {', '.join(self.copied)})" if self.copied else ""
        return (*self.notices, f"{self.place} is complete{versions}")

    def document(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


def kind_of(declared: Any) -> str:
    """The name of the kind of place that is declared."""
    return next(name for name, kind in DESTINATIONS.items() if isinstance(declared, kind.declared))


def remember(line: Line, declared: Sequence[StoreDestination | DatabaseDestination]) -> list[str]:
    """Remember the destinations that a spec names, and no other.

    Returns:
        What is to be said of those that it names no more.
    """
    with hold_lock(line.private / ".delivering"):
        before = read_destinations(line.private)
        known = tuple(_known(one, before) for one in declared)
        if known == before.destinations:
            return []
        write_destinations(line.private, KnownDestinations(destinations=known))
    kept = {(one.kind, one.place) for one in known}
    gone = [one.place for one in before.destinations if (one.kind, one.place) not in kept]
    return [
        f"{place} is no destination any more: what is there stays, withdrawn or not"
        for place in gone
    ]


def deliver(line: Line, environ: Mapping[str, str], secrets: Secrets) -> list[Delivered]:
    """Bring all destinations that a line remembers up to the line, once it has a version.

    Args:
        line: the line, whose locks need not be held.
        environ: what `${NAME}` in addresses stands for, and keys of stores.
        secrets: has variables whose blocks the environment names.

    Raises:
        PromiseError: where it cannot be read what the line remembers.
    """
    with hold_lock(line.private / ".delivering"):
        known = read_destinations(line.private).destinations
        if not read_record(line.public).versions:
            return []
        return [_deliver(line, one, environ, secrets) for one in known]


def _deliver(
    line: Line, known: KnownDestination, environ: Mapping[str, str], secrets: Secrets
) -> Delivered:
    """Bring one destination up to the line, or say why not; other destinations are not held up."""
    _note(line, known, behind=known.behind or _BEGUN)
    found = Delivered(known.place)
    try:
        with sanitise_errors("deliver"):
            former = read_state(line.private).former_mark
            whole = snapshot(line.public, former)
            found = _bring(whole, known, environ, secrets)
            delivered = whole.sha256
    except SfumatoError as error:
        reason = str(error).removeprefix(f"{known.place}: ")
        _note(line, known, behind=reason)
        return Delivered(known.place, behind=reason)
    _note(line, known, delivered=delivered)
    return found


def _bring(
    line: LineSnapshot, known: KnownDestination, environ: Mapping[str, str], secrets: Secrets
) -> Delivered:
    declared, kind = _declared(known), DESTINATIONS[known.kind]
    with (
        secrets(declared.variables),
        kind.opened(declared, line, with_secrets(environ)) as there,
    ):
        for version in line.withdrawn:
            there.withdraw(version)
        copied = tuple(version.number for version in line.live if there.put(version))
        there.tell(line)
    return Delivered(known.place, copied, notices=tuple(there.notices))


def _declared(known: KnownDestination) -> Any:
    try:
        return DESTINATIONS[known.kind].declared.model_validate(known.declared)
    except (KeyError, ValidationError):
        raise PromiseError(
            f"{known.place}: cannot be read as a destination: release once more"
        ) from None


def _known(
    declared: StoreDestination | DatabaseDestination, before: KnownDestinations
) -> KnownDestination:
    """What is known of a destination that a spec names: it is behind until it is delivered to."""
    kind = kind_of(declared)
    document = declared.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    found = before.find(kind, declared.uri)
    if found is None:
        reason = "nothing was delivered there yet"
        return KnownDestination(kind=kind, declared=document, time=_now(), behind=reason)
    return found.model_copy(update={"declared": document})


def _note(
    line: Line, known: KnownDestination, behind: str | None = None, delivered: str | None = None
) -> None:
    told = {"time": _now(), "behind": behind, "delivered": delivered or known.delivered}
    notes = read_destinations(line.private)
    write_destinations(line.private, notes.with_one(known.model_copy(update=told)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
