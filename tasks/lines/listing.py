"""Lines and the states of their versions, as their steward lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.tasks.lines.known_destinations import knows_destinations, read_destinations
from sfumato.tasks.lines.public_record import read_line_entry
from sfumato.tasks.lines.snapshot import snapshot
from sfumato.tasks.private.state import read_state
from sfumato.tasks.report.line_entries import VersionEntry
from sfumato.tasks.terms.tombstone import has_replaced

STATES: Mapping[str, str] = {
    "current": "the one to use",
    "superseded": "a later version is current",
    "pending": (
        "becomes current once its accuracy is measured: release again, or run sfumato evaluate"
    ),
    "withdrawn": "taken back; a notice (tombstone) is in its place",
    "withdrawn, in place": (
        "the record lists it as withdrawn, but its files are still there: withdraw it again"
    ),
    "gone": "recorded, but its directory is missing: restore it",
    "unfinished": "a run was interrupted; the next run finishes or discards it",
    "unknown": "its public directory is not known here: release once, or name the directory",
}
"""The states of versions, and what each means to a steward."""


@dataclass(frozen=True)
class ListedVersion:
    """A version and its state, one of `STATES`."""

    number: str
    state: str
    digest: str
    entry: VersionEntry | None = None

    def document(self) -> dict[str, Any]:
        """Return the version for machines; unknown values are null."""
        entry = self.entry
        tombstone = None if entry is None else entry.tombstone
        as_of = None if entry is None or entry.as_of is None else entry.as_of.isoformat()
        return {
            "version": self.number,
            "state": self.state,
            "digest": self.digest,
            "published": None if entry is None else entry.time,
            "as_of": as_of,
            "withdrawn": None if tombstone is None else tombstone.time,
            "reason": None if tombstone is None else tombstone.reason,
        }


@dataclass(frozen=True)
class ListedDestination:
    """A place to which a line is copied, and why it is behind, None if it is not."""

    place: str
    behind: str | None
    time: str

    def document(self) -> dict[str, Any]:
        """Return the destination for machines."""
        state = "complete" if self.behind is None else "behind"
        return {"place": self.place, "state": state, "reason": self.behind, "tried": self.time}


@dataclass(frozen=True)
class ListedLine:
    """A line with its title, its public place, its destinations, and its versions in order."""

    name: str
    title: str | None
    place: Path | None
    versions: tuple[ListedVersion, ...]
    destinations: tuple[ListedDestination, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the line for machines."""
        current = [version.number for version in self.versions if version.state == "current"]
        return {
            "line": self.name,
            "title": self.title,
            "directory": None if self.place is None else str(self.place),
            "current": current[0] if current else None,
            "versions": [version.document() for version in self.versions],
            "destinations": [destination.document() for destination in self.destinations],
        }


def listed_line(name: str, public: Path | None, private: Path | None) -> ListedLine:
    """Return a line by its public record, and by its private state if that is at hand.

    Args:
        name: of the line.
        public: its directory, None if it is not known.
        private: its private directory, None if the reader has none.

    Raises:
        InputError: where newer software wrote either.
        PromiseError: where either cannot be read.
    """
    entry = None if public is None else read_line_entry(public)
    versions = {}
    if entry is not None and public is not None:
        versions = {version.number: _public(public, version) for version in entry.versions}
    if private is not None:
        versions = {**_private(private), **versions}
    ordered = tuple(versions[number] for number in sorted(versions))
    title = None if entry is None else entry.title
    return ListedLine(name, title, public, ordered, _destinations(public, private))


def _destinations(public: Path | None, private: Path | None) -> tuple[ListedDestination, ...]:
    """Return the places to which the line is copied, by its private state only."""
    if public is None or private is None or not knows_destinations(private):
        return ()
    destinations, now = read_destinations(private).destinations, snapshot(public).sha256
    return tuple(
        ListedDestination(destination.place, destination.why_behind(now), destination.time)
        for destination in destinations
    )


def _public(line: Path, entry: VersionEntry) -> ListedVersion:
    place, state = line / entry.number, entry.state
    if state == "withdrawn" and place.exists() and not has_replaced(place):
        state = "withdrawn, in place"
    elif state != "withdrawn" and not place.is_dir():
        state = "gone"
    return ListedVersion(entry.number, state, entry.digest, entry)


def _private(line: Path) -> dict[str, ListedVersion]:
    """Return the versions that only the private state knows, by number."""
    state = read_state(line)
    versions = {
        n: ListedVersion(n, "unknown", version.digest) for n, version in state.versions.items()
    }
    if state.pending is not None:
        number, pending = state.pending
        versions[number] = ListedVersion(number, "unfinished", pending.digest)
    return versions
