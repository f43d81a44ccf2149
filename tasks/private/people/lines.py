"""The lines of a work directory: the people that each is about, and the roles of its columns.

    <work>/people/lines/<line>   a line's statement about itself at its last publication (0600)
    <work>/people/.comparing     the lock under which lines are compared, taken before any line's

The names of sets of people are private: no release contains them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.expectations.models.promises import Promise
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import count_common, distinct
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.private.durable import hold_lock, write_atomically
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.identity import read_units, unit_hashes
from sfumato.tasks.private.people.keys import NAME, people_directory
from sfumato.tasks.private.people.slots import SlotMap
from sfumato.tasks.private.people.spelled import half_of, read_spelled
from sfumato.tasks.private.people.store import read_map, since_composed
from sfumato.tasks.private.state import STATE, LineState, read_state
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_json

_LINES, _COMPARING = "lines", ".comparing"


class KnownLine(BaseModel):
    """A line's statement about itself.

    Attributes:
        people: the name of the set of people that it is about, None for none.
        roles: the roles of its published columns.
        open: columns whose values everyone can read in it: quasi-identifiers, insensitive ones,
            those of strata, and sensitive ones without a promise.
        hides_presence: whether its form hides who is in it.
        groups: the line whose groups it shows, None if they are its own.
        same_as: the names of its columns in another line of the same people.
        pinned: the SHA-256 of the one file whose row numbers are its units, None for none.
        declares: whether its form shows distributions in place of values.
        promises: its promises about sensitive columns.
        coded: the codings of its sensitive columns, if there are any.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1] = 1
    people: str | None
    roles: Mapping[str, str]
    open: tuple[str, ...]
    hides_presence: bool
    groups: str | None = None
    same_as: Mapping[str, str] = {}
    pinned: str | None = None
    declares: bool = False
    promises: tuple[Promise, ...] = ()
    coded: Annotated[Mapping[str, str], Field(exclude_if=lambda codings: not codings)] = {}

    def names_of(self, name: str) -> frozenset[str]:
        """Return the names of a column here, and in the line that it is said to belong to."""
        return frozenset({name, self.same_as.get(name, name)})

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns."""
        return [name for name, role in self.roles.items() if role == "sensitive"]

    @property
    def protected_columns(self) -> list[str]:
        """The sensitive columns that a promise protects."""
        return [name for name in self.sensitive if name not in self.open]


@contextmanager
def lock_of_lines(work: Path) -> Iterator[None]:
    """Hold the lock under which lines of a work directory are compared."""
    with hold_lock(people_directory(work) / _COMPARING):
        yield


def write_line(work: Path, name: str, line: KnownLine) -> None:
    """Keep a line's statement about itself."""
    place = private_directory(people_directory(work) / _LINES) / name
    write_atomically(place, line.model_dump_json().encode())


def forget_line(work: Path, name: str) -> None:
    """Delete a line's statement about itself, if no version has appeared."""
    (people_directory(work) / _LINES / name).unlink(missing_ok=True)


def read_line(work: Path, name: str) -> KnownLine | None:
    """Return a line's statement about itself, or None if it has made none.

    Raises:
        PromiseError: where it cannot be read.
    """
    place = people_directory(work) / _LINES / name
    try:
        return KnownLine.model_validate(read_json(place))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError, ValueError):
        raise PromiseError(
            f"{place}: cannot be read as the description of a line. Restore it from a "
            "backup: sfumato line restore SPEC FILE"
        ) from None


def line_of_groups(work: Path, name: str, groups: str | None) -> str:
    """Return the line that made the groups of a line: itself, or the last one in its chain."""
    met = {name}
    while groups is not None and groups not in met:
        met.add(name := groups)
        line = read_line(work, name)
        groups = None if line is None else line.groups
    return name


def state_of(line: Path) -> LineState:
    """Return a line's state, with the version that may have appeared when a run was killed."""
    state = read_state(line)
    versions = {**state.versions, **dict([state.pending] if state.pending else [])}
    return state.model_copy(update={"versions": versions})


def other_lines(work: Path, name: str) -> list[Path]:
    """Return the private directories of all other lines of a work directory that have a version.

    Raises:
        PromiseError: where a line has made a statement about itself, and its state is gone.
    """
    states = (path.parent for path in work.glob(f"*/{STATE}"))
    lines = sorted(line for line in states if line.name != name and state_of(line).versions)
    described = {path.name for path in (people_directory(work) / _LINES).glob("[!.]*")}
    if gone := sorted(described - {name, *(line.name for line in lines)}):
        raise PromiseError(
            f"line {gone[0]} of this work directory has published, but its state is "
            "missing. Without it people who are in both lines cannot be found. Restore "
            "it from a backup: sfumato line restore SPEC FILE"
        )
    return lines


def maps_of(line: Path) -> list[SlotMap]:
    """Return the maps that contain all slots of a line.

    A composed version's map contains the slots of all versions before it, whose maps are left out.
    """
    return [
        read_map(line, version, published.map)
        for version, published in since_composed(state_of(line))
        if published.map is not None
    ]


def rows_as_written(work: Path, name: str) -> bool:
    """Decide whether other lines have versions whose rows are known only as they were written."""
    return any(
        not (published.units or published.rows_normal)
        for other in other_lines(work, name)
        for published in state_of(other).versions.values()
    )


def units_met(work: Path, name: str, unit: Column, names: np.ndarray) -> dict[str, int]:
    """Return how many of a table's people other lines know, by the lines' names.

    Versions without a map know units by hashes under the key of their own line.

    Args:
        work: the work directory.
        name: the line that reads the table.
        unit: the unit of each row.
        names: the name of each row's person (S16).
    """
    counts, others = {}, other_lines(work, name)
    met = distinct(names) if others else names
    for other in others:
        people = max(count_common(met, people_of(other)), spelled_alike(met, other))
        versions = [
            n
            for n, published in state_of(other).versions.items()
            if published.units and not published.map
        ]
        if versions:
            hashes = unit_hashes(unit, line_key(other))
            people = max(people, int(np.isin(hashes, read_units(other, versions)).sum()))
        if people:
            counts[other.name] = people
    return counts


def spelled_alike(names: np.ndarray, line: Path) -> int:
    """Return how many of some people a version of a line has by the same names, at most.

    Args:
        names: the names of the people (S16, sorted).
        line: the line's private directory, all of whose versions are looked at.
    """
    versions = (v for v, published in state_of(line).versions.items() if published.units_normal)
    halves = half_of(names)
    return max(
        (int(np.isin(halves, read_spelled(line, v)["name"]).sum()) for v in versions), default=0
    )


def people_of(line: Path) -> np.ndarray:
    """Return the names of everyone who has, or had, a slot in a line (S16, sorted, each once)."""
    names = [np.array([], dtype=NAME), *(slots.names for slots in maps_of(line))]
    return distinct(np.concatenate(names))
